package cli_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// captureInto captures what another engine would send.
func (d *desk) captureInto(t *testing.T, run, capture string) {
	t.Helper()
	c := d.invoke(t, func(s *cli.Streams) { s.In = strings.NewReader(capture) }, "capture", run)
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
}

// waiting makes the run triage wait for an approval of the task ship and for an answer
// to the task grade, both since five minutes.
func (d *desk) waiting(t *testing.T) {
	t.Helper()
	d.captureInto(t, "triage", `{"run":{"workflowName":"release","status":"waiting-approval"},"changes":[
		{"op":"set","collection":"nodes","key":"ship::0","value":{"state":"waiting-approval","label":"Ship the release"}},
		{"op":"set","collection":"nodes","key":"grade::1","value":{"state":"waiting-human"}},
		{"op":"set","collection":"approvals","key":"ship::0","value":{"attempt":1,"status":"requested","title":"Ship it?",
			"requestedAtMs":1795196564501}},
		{"op":"set","collection":"human-requests","key":"grade::1","value":{"attempt":1,"kind":"json","status":"pending",
			"prompt":"How was it?\nBe honest.","form":{"type":"object","required":["stars"],"properties":{
				"stars":{"type":"integer"},"again":{"type":"boolean"}}},"requestedAtMs":1795196564501}}]}`)
}

func TestTheInboxSaysHowToAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.waiting(t)
	c := d.invoke(t, atTerminal("NO_COLOR=1", "COLUMNS=130"), "inbox")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Equal(t, ``+
		"SINCE          RUN     WORKFLOW  RUN IS            TASK                     KIND      STATUS     PROMPT\n"+
		"5 minutes ago  triage  release   waiting-approval  grade, iteration 1       json      pending    How was it?\\nBe honest.\n"+
		"5 minutes ago  triage  release   waiting-approval  ship (Ship the release)  approval  requested  Ship it?\n", c.out.String())
	assert.Equal(t, "  git smithers answer triage grade\n  git smithers approve triage ship, or deny\n", c.err.String())

	c = d.invoke(t, nil, "inbox", "--json")
	assert.Empty(t, c.err.String(), "nobody reads it")
}

func TestOneResumeIsNamedOnceForARun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.repo.Write("two.yaml", "name: two\ntasks: [{id: a, approval: A?}, {id: b, approval: B?}]\n")
	require.Equal(t, fault.ExitWaiting, d.invoke(t, nil, "run", "two.yaml", "--run-id", "w").exit)
	for _, task := range []string{"a", "b"} {
		require.Equal(t, fault.ExitOK, d.invoke(t, nil, "approve", "w", task).exit)
	}
	c := d.invoke(t, atTerminal("NO_COLOR=1"), "inbox", "w")
	assert.Equal(t, 1, strings.Count(c.err.String(), "git smithers resume w"), c.err.String())
	c = d.invoke(t, atTerminal("NO_COLOR=1"), "status")
	assert.Equal(t, 2, strings.Count(c.out.String(), "git smithers resume w"), "under the first task, and as what to type next: %s", c.out.String())
}

// A hook calls do when it is written to for the first time.
type hook struct{ do func() }

func (h *hook) Write(p []byte) (int, error) {
	do := h.do
	h.do = func() {}
	do()
	return len(p), nil
}

func TestTheInboxSaysThatARunHasFailedOfTheEntryThatItHasListed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.NoError(t, os.WriteFile(filepath.Join(d.repo.Dir, "flow.yaml"), []byte("name: flow\ntasks:\n  - {id: one, run: test -e ok}\n"), 0o600))
	require.Equal(t, fault.ExitFailed, d.invoke(t, nil, "run", "flow.yaml", "--run-id", "r").exit)
	require.NoError(t, os.WriteFile(filepath.Join(d.repo.Dir, "ok"), nil, 0o600))

	var said strings.Builder
	meanwhile := &hook{func() { require.Equal(t, fault.ExitOK, d.invoke(t, nil, "resume", "r").exit) }}
	c := d.invoke(t, func(s *cli.Streams) { s.Err = io.MultiWriter(&said, meanwhile) }, "inbox", "r")
	require.Equal(t, fault.ExitOK, c.exit, said.String())
	assert.Contains(t, said.String(), "nothing is waiting\nrun r has failed: ")
}

func TestAPersonAtATerminalIsAsked(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.waiting(t)
	typing := func(lines string) func(*cli.Streams) {
		return func(s *cli.Streams) {
			s.In = io.Reader(strings.NewReader(lines))
			atTerminal("NO_COLOR=1")(s)
		}
	}
	c := d.invoke(t, typing("five\n"), "answer", "triage")
	assert.Equal(t, fault.ExitUsage, c.exit, "the input ends")
	assert.Contains(t, c.err.String(), "How was it?\nBe honest.\nstars (whole number)> type a number\n")

	c = d.invoke(t, typing("5\ny\n"), "answer", "triage", "--by", "Ada", "--json")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Contains(t, c.out.String(), `"response":{"stars":5,"again":true}`)
	assert.Contains(t, c.out.String(), `"answeredBy":"Ada"`)
}

func TestWhoActsIsGitsUserNameUnlessSomebodyIsNamed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.waiting(t)
	c := d.invoke(t, nil, "approve", "triage", "--json")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Contains(t, c.out.String(), `"decidedBy":null`, "git knows of nobody")

	d.repo.Git("config", "user.name", "Ada L\xc3")
	c = d.invoke(t, nil, "signal", "triage", "ping", "--json")
	assert.Contains(t, c.out.String(), "\"receivedBy\":\"Ada L\ufffd\"", "what is no text becomes one")
	c = d.invoke(t, nil, "signal", "triage", "ping", "--by", "bob", "--json")
	assert.Contains(t, c.out.String(), `"receivedBy":"bob"`)
	c = d.invoke(t, nil, "signal", "triage", "ping", "--by", "", "--json")
	assert.Contains(t, c.out.String(), `"receivedBy":null`)
	c = d.invoke(t, nil, "signal", "triage", "ping", "--by", "\xff")
	assert.Equal(t, fault.ExitUsage, c.exit)
}

func TestEventsInATableAndAsTheyCome(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.captureInto(t, "triage", `{"run":{"status":"finished"},"events":[
		{"type":"NodeFinished","timestampMs":1795196564501,"payload":{"nodeId":"ship","iteration":2,"attempt":1}},
		{"type":"RunFinished","timestampMs":1795196564501}]}`)
	c := d.invoke(t, atTerminal("NO_COLOR=1"), "events", "triage", "-t", "NodeFinished", "-t", "RunFinished")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	lines := strings.Split(c.out.String(), "\n")
	assert.Regexp(t, `^SEQ  TIME {18}EVENT {9}TASK {15}WHAT$`, lines[0])
	assert.Regexp(t, `^\d+ +2026-11-20 17:42:44Z  NodeFinished  ship, iteration 2  attempt=1$`, lines[1])
	assert.Regexp(t, `^\d+ +2026-11-20 17:42:44Z  RunFinished$`, lines[2])

	c = d.invoke(t, atTerminal("NO_COLOR=1"), "events", "triage", "-t", "NodeFinished", "-t", "RunFinished", "--follow")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Equal(t, strings.TrimSuffix(c.out.String(), "\n"), strings.Join(squeezed(lines[1:3]), "\n"))
}

// squeezed are lines without the padding that a table's header makes.
func squeezed(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		seq, rest, _ := strings.Cut(line, " ")
		out[i] = seq + "  " + strings.TrimLeft(rest, " ")
	}
	return out
}

// What waits may come from somebody else.
func TestWhatWaitsCannotDriveATerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const evil = `"\u009b2J\u202e\u001b[5m"`
	d.captureInto(t, "evil\x1b[5m", `{"events":[{"type":`+evil+`,"payload":{`+evil+`:`+evil+`}}],"changes":[
		{"op":"set","collection":"approvals","key":"n\u001b[5m::0","value":{"attempt":1,"status":"requested",
			"title":`+evil+`,"summary":`+evil+`,"requestedAtMs":1}},
		{"op":"set","collection":"human-requests","key":"n\u001b[5m::0","value":{"attempt":1,"kind":"ask",
			"status":"pending","prompt":`+evil+`,"requestedAtMs":1}},
		{"op":"set","collection":"signals","value":{"seq":0,"name":`+evil+`,"correlationId":`+evil+`,"payload":`+evil+`,
			"receivedAtMs":1,"receivedBy":`+evil+`}},
		{"op":"set","collection":"attempts","key":"n\u001b[5m::0::1","value":{"state":"failed","startedAtMs":1,
			"finishedAtMs":2,"error":`+evil+`}},
		{"op":"set","collection":"tool-calls","key":"n\u001b[5m::0::1::1","value":{"toolName":`+evil+`,"status":"failed","startedAtMs":1,"input":{"command":`+evil+`},"error":`+evil+`}},
		{"op":"set","collection":"scores","key":"n\u001b[5m::0::1::live::judge\u001b[5m","value":{"scorerName":`+evil+`,"score":1,"reason":`+evil+`,"scoredAtMs":1}},
		{"op":"set","collection":"logs","key":"n\u001b[5m::0::1","value":`+evil+`}]}`)
	for _, args := range [][]string{
		{"inbox"},
		{"events", "evil"},
		{"events", "evil", "--follow", "--limit", "1"},
		{"signals", "evil"},
		{"logs", "evil"},
		{"logs", "evil", "--follow"},
		{"logs", "evil", "nope"},
		{"calls", "evil"},
		{"calls", "evil", "--failed"},
		{"scores", "evil"},
		{"show", "evil:0"},
		{"sql", "SELECT title FROM _smithers_approvals"},
		{"sql", "SELECT 1 AS \"\x1b[5m\""},
		{"sql", "SELECT r.\"\x1b[5m\" FROM _smithers_runs AS r"},
		{"approve", "evil", "nope"},
		{"answer", "evil"},
		{"cancel-request", "evil"},
		{"approve", "evil"},
		{"approve", "evil", "n\x1b[5m"},
	} {
		c := d.invoke(t, atTerminal("NO_COLOR=1"), args...)
		said := c.out.String() + c.err.String()
		escaped := `\x1b[5m`
		if args[0] == "logs" && args[len(args)-1] != "nope" {
			escaped = `\u009b2J` // where colours are off, those of a log are left out
		}
		assert.Contains(t, said, escaped, args)
		for _, bad := range []string{"\x1b", "\u009b", "\u202e"} {
			assert.NotContains(t, said, bad, args)
		}
	}
}
