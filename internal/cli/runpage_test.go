package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A pageDesk is a repository in which runs are made by captures, at the moments that a test sets.
type pageDesk struct {
	t    *testing.T
	repo *repotest.Repo
	now  time.Time
}

var pageBegin = time.Date(2026, 1, 2, 13, 7, 0, 0, time.UTC)

func newPageDesk(t *testing.T) *pageDesk {
	t.Helper()
	d := &pageDesk{t, repotest.New(t, repotest.Commit), pageBegin}
	d.repo.OnCleanup(func(t testing.TB) {
		t.Helper()
		var out strings.Builder
		exit := cli.Main(context.Background(), cli.Streams{
			In: strings.NewReader(""), Out: &out, Err: &out, Dir: d.repo.Dir, Env: d.repo.Env, Now: time.Now,
		}, []string{"verify"})
		assert.Equal(t, fault.ExitOK, exit, out.String())
	})
	return d
}

// call runs a command.
func (d *pageDesk) call(stdin string, edit func(*cli.Streams), args ...string) *call {
	d.t.Helper()
	return invoke(d.t, func(s *cli.Streams) {
		s.In, s.Dir, s.Now = strings.NewReader(stdin), d.repo.Dir, func() time.Time { return d.now }
		s.Env = append(slices.Clone(d.repo.Env), "GIT_PAGER=cat", "GIT_SMITHERS_FSYNC=0", "GIT_SMITHERS_WORKTREE=all", "TERM=xterm")
		if edit != nil {
			edit(s)
		}
	}, args...)
}

// do runs a command that must succeed, and returns its output.
func (d *pageDesk) do(stdin string, args ...string) string {
	d.t.Helper()
	c := d.call(stdin, nil, args...)
	require.Equal(d.t, fault.ExitOK, c.exit, "%v: %s", args, c.err.String())
	return c.out.String()
}

// at puts the clock on a number of milliseconds after the beginning.
func (d *pageDesk) at(ms int) { d.now = pageBegin.Add(time.Duration(ms) * time.Millisecond) }

// set returns a change of a row, for a capture.
func set(collection, key string, value any) map[string]any {
	return map[string]any{"op": "set", "collection": collection, "key": key, "value": value}
}

// object is a JSON object.
type object = map[string]any

// capture appends a frame to the run fix-212, or to another one.
func (d *pageDesk) capture(run string, row object, changes ...map[string]any) {
	d.t.Helper()
	doc := object{"changes": changes, "worktree": true}
	if row != nil {
		doc["run"] = row
	}
	text, err := json.Marshal(doc)
	require.NoError(d.t, err)
	d.do(string(text), "capture", run)
}

// page returns the page of a run at a terminal of the given width.
func (d *pageDesk) page(columns int, run string, env ...string) string {
	d.t.Helper()
	c := d.call("", atTerminal(append([]string{fmt.Sprintf("COLUMNS=%d", columns), "LC_ALL=C.UTF-8"}, env...)...), "show", run)
	require.Equal(d.t, fault.ExitOK, c.exit, c.err.String())
	return c.out.String()
}

// node returns changes that set a node and its newest attempt, which ends with the next frame.
func (d *pageDesk) step(frame int, key, state string, startMs, endMs int, more object) []map[string]any {
	node := object{"state": state, "lastAttempt": 1, "needs": []string{}}
	attempt := object{
		"state": state, "startedAtMs": pageBegin.UnixMilli() + int64(startMs), "finishedAtMs": pageBegin.UnixMilli() + int64(endMs), "frame": frame,
	}
	for name, value := range more {
		if name == "error" || name == "attempt" {
			attempt[name] = value
		} else {
			node[name] = value
		}
	}
	if state == "pending" {
		delete(node, "lastAttempt")
		return []map[string]any{set("nodes", key, node)}
	}
	number := 1
	if n, ok := more["attempt"].(int); ok {
		number = n
	}
	node["lastAttempt"] = number
	return []map[string]any{set("nodes", key, node), set("attempts", fmt.Sprintf("%s::%d", key, number), attempt)}
}

// failedWorld makes the run fix-212: a loop whose second iteration failed, with three forks.
func failedWorld(t *testing.T) *pageDesk {
	t.Helper()
	d := newPageDesk(t)
	work := func(needs ...string) object { return object{"ralphId": "work", "needs": needs} }
	pending := func(key string, more object) []map[string]any { return d.step(0, key, "pending", 0, 0, more) }
	d.capture("fix-212", object{"workflowName": "fix-issue", "status": "running"}, slices.Concat(
		[]map[string]any{
			{"op": "set", "collection": "input", "value": object{"issue": "#212 doubled dashes", "style": "strict", "model": "opus-5"}},
			set("loops", "work", object{"iteration": 0, "done": false}),
		},
		pending("ship::0", object{"needs": []string{"work"}}), pending("publish::0", object{"needs": []string{"ship"}}),
	)...)
	d.at(962)
	d.capture("fix-212", nil, d.step(1, "reproduce::0", "finished", 0, 962, nil)...)
	d.at(2400)
	d.capture("fix-212", nil, slices.Concat(
		d.step(2, "history::0", "finished", 962, 1575, object{"needs": []string{"reproduce"}}),
		d.step(2, "locate::0", "finished", 962, 2400, object{"needs": []string{"reproduce"}}))...)
	d.at(3000)
	d.capture("fix-212", nil, d.step(3, "patch::0", "failed", 2400, 3000, object{"ralphId": "work", "error": "exit_status: exit status 3"})...)
	d.at(4700)
	d.repo.Write("src/slug.js", "one\n")
	d.capture("fix-212", nil, d.step(4, "patch::0", "finished", 3000, 4700, object{"ralphId": "work", "attempt": 2})...)
	d.at(5800)
	d.capture("fix-212", nil, d.step(5, "unit::0", "finished", 4700, 5800, work("patch"))...)
	d.at(7200)
	d.capture("fix-212", nil, append(d.step(6, "review::0", "finished", 5800, 7200, work("unit")), set("loops", "work", object{"iteration": 1, "done": false}))...)
	d.at(9200)
	d.repo.Write("src/slug.js", "two\nthree\n")
	d.repo.Write("CHANGES.md", "fixed\n")
	d.capture("fix-212", nil, d.step(7, "patch::1", "finished", 7200, 9200, work("locate", "history"))...)
	d.at(11500)
	log := "one\ntwo\nthree\nfour\nfive\n\x1b[31mnot ok\x1b[0m 4 - \"  trim me  \"\n\texpected: \"trim-me\"\n\tactual:   \"trim-me-\"\nok 6\n# tests 6, pass 4, fail 2\nError: 2 of 6 failed\n"
	d.capture("fix-212", object{"status": "failed", "error": "unit::1: exit status 1"}, slices.Concat(
		d.step(8, "unit::1", "failed", 9200, 10300, work("patch")),
		d.step(8, "unit::1", "failed", 10400, 11500, object{"ralphId": "work", "needs": []string{"patch"}, "attempt": 2, "error": "exit_status: exit status 1"}),
		[]map[string]any{set("logs", "unit::1::2", log)},
		pending("review::1", work("unit")))...)
	for i, fork := range []struct{ label, input, status, unit string }{
		{"relaxed", `{"style":"relaxed"}`, "finished", "finished"},
		{"strict-again", `{}`, "failed", "failed"},
		{"sonnet-relaxed-with-a-long-name", `{"style":"relaxed","model":"sonnet-5"}`, "running", "in-progress"},
	} {
		d.at(20_000 + 1000*i)
		id := fmt.Sprintf("fork%d", i)
		d.do("", "fork", "fix-212:6", "--label", fork.label, "--input", fork.input, "--run-id", id)
		d.capture(id, object{"status": fork.status}, d.step(1, "unit::1", fork.unit, 20_000, 21_000, work("patch"))...)
	}
	d.at(60_000)
	return d
}

func TestThePageOfAFailedRun(t *testing.T) {
	t.Parallel()
	repotest.NeedsSHA1(t)
	d := failedWorld(t)
	for _, columns := range []int{60, 80, 120} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			t.Parallel()
			page := d.page(columns, "fix-212", "NO_COLOR=1")
			golden(t, filepath.Join("testdata", "page", fmt.Sprintf("failed-%d.txt", columns)), page)
			for line := range strings.Lines(page) {
				if !strings.HasPrefix(line, "  git smithers ") {
					assert.LessOrEqual(t, utf8.RuneCountInString(line)-1, columns, line)
				}
			}
		})
	}
	t.Run("ascii", func(t *testing.T) {
		t.Parallel()
		for _, env := range [][]string{{"GIT_SMITHERS_ASCII=1"}, {"TERM=dumb"}, {"LC_ALL=C"}, {"LC_ALL=de_DE.ISO-8859-1"}, {"LC_ALL=ja_JP.UTF-8"}} {
			page := d.page(80, "fix-212", append(env, "NO_COLOR=1")...)
			golden(t, filepath.Join("testdata", "page", "failed-ascii.txt"), page)
			assert.Equal(t, len(page), utf8.RuneCountInString(page), env)
		}
	})
	t.Run("colours", func(t *testing.T) {
		t.Parallel()
		page := d.page(80, "fix-212")
		assert.Contains(t, page, "\x1b[31m✗\x1b[m \x1b[1mfix-212\x1b[m")
		assert.Contains(t, page, "\x1b[90m│\x1b[m \x1b[31mnot ok 4")
		assert.Contains(t, page, "\x1b[32m+3\x1b[m \x1b[31m−1\x1b[m")
		without := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(page, "")
		assert.Equal(t, d.page(80, "fix-212", "NO_COLOR=1"), without, "colour is all that differs")
	})
	t.Run("the state is there with --state, and where nobody reads", func(t *testing.T) {
		t.Parallel()
		piped := d.do("", "show", "fix-212")
		assert.Contains(t, piped, "NODE       ITERATION  STATE")
		at := d.call("", atTerminal("NO_COLOR=1"), "show", "fix-212", "--state")
		assert.Equal(t, piped, at.out.String())
		frame := d.call("", atTerminal("NO_COLOR=1"), "show", "fix-212:3")
		assert.Contains(t, frame.out.String(), "NODE       ITERATION  STATE")
	})
	t.Run("json", func(t *testing.T) {
		t.Parallel()
		var doc struct{ Summary json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(d.do("", "show", "fix-212", "--json")), &doc))
		var pretty strings.Builder
		encoder := json.NewEncoder(&pretty)
		encoder.SetIndent("", " ")
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(doc.Summary))
		golden(t, filepath.Join("testdata", "page", "failed.json"), pretty.String())
		assert.NotContains(t, d.do("", "show", "fix-212:3", "--json"), `"summary":{"reason"`)
	})
}

func TestThePageOfAWaitingRunSaysHowToAnswer(t *testing.T) {
	t.Parallel()
	repotest.NeedsSHA1(t)
	d := newPageDesk(t)
	d.repo.Write("flow.yaml", `name: release
tasks:
  - {id: notes, run: "true"}
  - id: where
    needs: [notes]
    human:
      prompt: Where does 1.4.1 go first?
      timeout: 24h
      form: {type: object, required: [ring], properties: {ring: {enum: [canary, eu-west, everyone]},
        percent: {type: integer, minimum: 1, maximum: 100, default: 5}, announce: {type: boolean, default: true}, note: {type: string, maxLength: 200}}}
  - {id: gate, approval: {title: Ship it?, summary: All tests pass}}
  - {id: ping, wait_for: {signal: ping, correlation: T-1, timeout: 1h}}
  - {id: nap, timer: 26h}
  - {id: build, needs: [where], run: "true"}
`)
	c := d.call("", nil, "run", "flow.yaml", "--run-id", "release-1.4.1")
	require.Equal(t, fault.ExitWaiting, c.exit, c.err.String())
	d.at(240_000)
	golden(t, filepath.Join("testdata", "page", "waiting-80.txt"), d.page(80, "release-1.4.1", "NO_COLOR=1"))
	golden(t, filepath.Join("testdata", "page", "waiting-60.txt"), d.page(60, "release-1.4.1", "NO_COLOR=1"))

	// Each command of the page is one that works.
	page := d.page(200, "release-1.4.1", "NO_COLOR=1")
	for _, want := range []string{
		"  git smithers answer release-1.4.1 where --value '{\"ring\":\"canary\"}'\n",
		"  git smithers approve release-1.4.1 gate\n",
		"  git smithers signal release-1.4.1 ping --correlation T-1\n",
	} {
		assert.Contains(t, page, want)
		args := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(want), "git smithers "), "'", ""))
		d.do("", args...)
	}
	page = d.page(80, "release-1.4.1", "NO_COLOR=1")
	assert.Regexp(t, `(?m)^◆ where .* asked 4 min ago, answered$`, page)
	assert.Regexp(t, `(?m)^  git smithers resume release-1.4.1  goes on$`, page)
	assert.Contains(t, page, "◷ release-1.4.1  waits until 3 Jan 15:07")
	d.at(27 * 3600 * 1000)
	page = d.page(80, "release-1.4.1", "NO_COLOR=1")
	assert.Regexp(t, `(?m)^◷ nap .* its time is over$`, page)
	assert.Contains(t, page, "◆ release-1.4.1  waits to be resumed")
}

func TestThePageOfARunThatRunsOrHasEnded(t *testing.T) {
	t.Parallel()
	d := newPageDesk(t)
	d.capture("r", object{"workflowName": "flow", "status": "running"}, d.step(0, "one::0", "in-progress", 0, 0, nil)...)
	d.at(1500)
	d.capture("r", nil,
		set("attempts", "one::0::1", object{"state": "in-progress", "startedAtMs": pageBegin.UnixMilli()}))
	d.at(4200)
	page := d.page(80, "r", "NO_COLOR=1")
	assert.Contains(t, page, "● r  running")
	assert.Contains(t, page, "● one  running for 4.2 s")

	d.repo.Write("flow.yaml", "name: flow\noutputs: {verdict: {type: object}}\ntasks:\n"+
		"  - {id: write, run: echo a >new}\n  - {id: judge, needs: [write], output: verdict, run: \"echo '{\\\"score\\\":0.9,\\\"why\\\":\\\"it is good\\\"}'\"}\n")
	d.do("", "run", "flow.yaml", "--run-id", "done")
	page = d.page(100, "done", "NO_COLOR=1")
	assert.Contains(t, page, "\nOutputs\n  judge  score 0.9  why \"it is good\"\n")
	assert.Contains(t, page, "  git smithers land done ")

	tree := d.call("", atTerminal("NO_COLOR=1", "LC_ALL=C.UTF-8"), "show", "--tree", "done:1")
	assert.Equal(t, "workflow  name=flow\n├ task write  ● running\n└ task judge  ○ pending  needs=write  output=verdict\n", tree.out.String())
	assert.Contains(t, d.do("", "show", "--tree", "done:1", "--json"), `{"kind":"tree","runId":"done","frame":1,"tree":{"kind":"element","tag":"smithers:workflow"`)
	d.repo.Write("loop.yaml", "name: l\ntasks:\n  - {loop: again, until: \"true\", max: 2, tasks: [{id: in, run: \"true\"}]}\n")
	d.do("", "run", "loop.yaml", "--run-id", "l")
	tree = d.call("", atTerminal("NO_COLOR=1", "LC_ALL=C"), "show", "--tree", "l")
	assert.Equal(t, "workflow  name=l\n` loop again  maxIterations=2  until=true\n  ` task in  v finished, iteration 0\n", tree.out.String())
	c := d.call("", nil, "show", "--tree", "done", "--patch")
	assert.Equal(t, fault.ExitUsage, c.exit)
}

// More than 40 attempts: iterations that finished are one line, and those that failed are not.
func TestFinishedIterationsFold(t *testing.T) {
	t.Parallel()
	d := newPageDesk(t)
	var changes []map[string]any
	for i := range 60 {
		more := object{"ralphId": "work", "needs": []string{}}
		if i == 20 {
			changes = append(changes, d.step(0, fmt.Sprintf("poll::%d", i), "failed", i*1000, i*1000+500, more)...)
			more = object{"ralphId": "work", "attempt": 2}
		}
		changes = append(changes, d.step(0, fmt.Sprintf("poll::%d", i), "finished", i*1000, i*1000+500, more)...)
	}
	changes = append(changes, set("loops", "work", object{"iteration": 59, "done": false}))
	for i := range 12 {
		changes = append(changes, d.step(0, fmt.Sprintf("t%02d::0", i), "finished", 100_000+i, 100_000+i, nil)...)
	}
	d.at(120_000)
	d.capture("many", object{"status": "finished"}, changes...)
	page := d.page(80, "many", "NO_COLOR=1")
	assert.Contains(t, page, "✓ ├ 0 … 19            finished   20 steps, 10.0 s\n")
	assert.Regexp(t, `(?m)^✓ ├ poll +20  finished .* 2$`, page)
	assert.Contains(t, page, "✓ ├ 21 … 58           finished   38 steps, 19.0 s\n")
	assert.Regexp(t, `(?m)^✓ └ poll +59  finished`, page)
	assert.Contains(t, page, "✓ t00 … t11           finished   12 steps, < 1 ms\n")
}

// A step that the fork has reset runs again: it has a line, and does not count as a step from before the fork.
func TestThePageOfAForkShowsTheStepsThatItHasReset(t *testing.T) {
	t.Parallel()
	d := newPageDesk(t)
	changes := append(d.step(0, "plan::0", "finished", 0, 1000, nil), d.step(0, "build::0", "finished", 1000, 2000, object{"needs": []string{"plan"}})...)
	d.at(3000)
	d.capture("parent", object{"status": "finished"}, changes...)
	d.do("", "fork", "parent", "--node", "build", "--run-id", "child")
	page := d.page(80, "child", "NO_COLOR=1")
	assert.Contains(t, page, "  1 step from before the fork: parent:0\n")
	assert.Regexp(t, `(?m)^○ build +pending`, page)
	assert.NotContains(t, page, "plan ")
}

// hostile is text that tries to control a terminal, to hide, or to be much.
var hostile = []string{
	"\x1b]0;title\x07\x1b[2J\x1b[1;1Hgone", "\x1b[31mred\x1b[0m", "a\rb\bc\x00d", "\u202egnp.exe", "zero\u200bwidth\u2066x", "\u2028line\u2029",
	"<script>alert(1)</script>", "$(reboot) `id` '; rm -rf ~", "\u009b31mC1", strings.Repeat("long ", 2000), strings.Repeat("名", 300), "tab\there\nand\n\nlines",
	"a\u0301\u0301\u0301\u0301\u0301\u0301", "\ufeffbom",
}

// However hostile what is stored is, a page has no character that a terminal obeys, and no line that is too wide.
func TestAHostileRunHasAPageLikeAnyOther(t *testing.T) {
	t.Parallel()
	d := newPageDesk(t)
	for i, text := range hostile {
		run := fmt.Sprintf("run%d", i)
		short := text[:min(len(text), 200)]
		if !utf8.ValidString(short) {
			short = text[:198]
		}
		key := strings.NewReplacer(":", "", "\x00", "").Replace(short)
		d.capture(run, object{"workflowName": "flow", "status": "failed", "error": text}, slices.Concat(
			[]map[string]any{{"op": "set", "collection": "input", "value": object{text: text, "n": 1}}, set("loops", "l", object{"iteration": 1, "done": false})},
			d.step(0, key+"::0", "failed", 0, 10, object{"error": text, "label": text}),
			d.step(0, "in::1", "finished", 0, 10, object{"ralphId": "l"}),
			d.step(0, "last::0", "pending", 0, 0, object{"needs": []string{key, "in"}}),
			[]map[string]any{set("logs", key+"::0::1", strings.Repeat(text+"\n", 30))},
		)...)
		d.do("", "fork", run, "--label", short, "--run-id", "f"+run)
		d.capture("w"+run, object{"workflowName": "flow", "status": "waiting-human"},
			set("nodes", "ask::0", object{"state": "waiting-human", "lastAttempt": 1}),
			set("human-requests", "ask::0", object{
				"attempt": 1, "kind": "json", "status": "pending", "prompt": text, "requestedAtMs": pageBegin.UnixMilli(),
				"form": object{"type": "object", "properties": object{text: object{"type": "string", "pattern": "^a$", "format": text}, "b": object{"enum": []string{text, "x"}}}},
			}),
			set("nodes", "gate::0", object{"state": "waiting-approval", "lastAttempt": 1}),
			set("approvals", "gate::0", object{"attempt": 1, "status": "requested", "title": text, "summary": text, "requestedAtMs": pageBegin.UnixMilli()}))
		for _, columns := range []int{1, 60, 80} {
			for _, name := range []string{run, "f" + run, "w" + run} {
				for _, args := range [][]string{{"show", name}, {"show", "--tree", name}} {
					c := d.call("", atTerminal(fmt.Sprintf("COLUMNS=%d", columns), "LC_ALL=C.UTF-8", "NO_COLOR=1"), args...)
					require.Equal(t, fault.ExitOK, c.exit, c.err.String())
					checkPage(t, c.out.String(), max(columns, 40))
				}
			}
		}
	}
}

// checkPage checks that a page has no characters that a terminal obeys or does not show, is not long, and that only commands are wider
// than the terminal.
func checkPage(t *testing.T, page string, columns int) {
	t.Helper()
	assert.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\x{200b}-\x{200f}\x{2028}-\x{202f}\x{2060}-\x{206f}\x{feff}]`, page)
	assert.Less(t, len(page), 40_000)
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "  git smithers ") && !strings.Contains(line, "=") {
			assert.LessOrEqual(t, term.Width(line), columns, line)
		}
	}
}

// What cannot be read of a run is named where it would stand, and the command ends with 12.
func TestAPageSaysWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	d := failedWorld(t)
	d.repo.Damaged()
	tip := strings.TrimSpace(d.repo.Git("rev-parse", "refs/smithers/_tip/fix-212"))
	garbage := strings.TrimSpace(d.repo.GitInput("no page\n", "hash-object", "-w", "--stdin"))
	journal := strings.ReplaceAll(d.repo.Git("ls-tree", tip+":journal"), "\tattempts", "\t-")
	lines := []string{"100644 blob " + garbage + "\tattempts"}
	for line := range strings.Lines(journal) {
		if !strings.HasSuffix(strings.TrimSpace(line), "\t-") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	made := strings.TrimSpace(d.repo.GitInput(strings.Join(lines, "\n")+"\n", "mktree"))
	var tree strings.Builder
	for line := range strings.Lines(d.repo.Git("ls-tree", tip)) {
		if strings.HasSuffix(strings.TrimSpace(line), "\tjournal") {
			line = "040000 tree " + made + "\tjournal\n"
		}
		tree.WriteString(strings.TrimSpace(line) + "\n")
	}
	id := strings.TrimSpace(d.repo.GitInput(tree.String(), "mktree"))
	_, rest, _ := strings.Cut(d.repo.Git("cat-file", "commit", tip), "\n")
	commit := strings.TrimSpace(d.repo.GitInput("tree "+id+"\n"+rest+"\n", "hash-object", "-t", "commit", "-w", "--stdin"))
	d.repo.Git("update-ref", "refs/smithers/_tip/fix-212", commit)

	c := d.call("", atTerminal("NO_COLOR=1", "LC_ALL=C.UTF-8"), "show", "fix-212")
	assert.Equal(t, fault.ExitCorrupt, c.exit)
	assert.Contains(t, c.out.String(), "\n! not all of the attempts can be read: object ")
	assert.Contains(t, c.out.String(), "✗ └ unit           1  failed")
	assert.Contains(t, c.out.String(), "\nForks\n")
}

// The page of a session has its turns; calls that failed or changed files have lines of their own.
func TestThePageOfASession(t *testing.T) {
	t.Parallel()
	repotest.NeedsSHA1(t)
	d := newPageDesk(t)
	transcript := filepath.Join(d.repo.Dir, ".git", "t")
	var said []string
	say := func(seconds int, role, content string) {
		at := pageBegin.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)
		said = append(said, fmt.Sprintf(`{"type":%q,"timestamp":%q,"message":{"id":"m%d","role":%q,"usage":{"input_tokens":1200,"output_tokens":30},"content":%s}}`, role, at, len(said), role, content))
	}
	called := func(seconds int, id, tool, input string, failed bool) {
		say(seconds, "assistant", fmt.Sprintf(`[{"type":"tool_use","id":%q,"name":%q,"input":%s}]`, id, tool, input))
		say(seconds+1, "user", fmt.Sprintf(`[{"type":"tool_result","tool_use_id":%q,"is_error":%t,"content":"x"}]`, id, failed))
	}
	hook := func(seconds int, event string, rest object) {
		d.at(seconds * 1000)
		d.repo.Write(".git/t", strings.Join(said, "\n")+"\n")
		doc := object{"session_id": "s", "transcript_path": transcript, "hook_event_name": event}
		maps.Copy(doc, rest)
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		d.do(string(text), "session", "hook", "claude", event)
	}
	hook(0, "UserPromptSubmit", object{"prompt": "Fix #212: doubled dashes\nplease"})
	say(0, "user", `"Fix #212: doubled dashes"`)
	for i := range 7 {
		called(1+i, fmt.Sprintf("r%d", i), "Read", `{"file_path":"src/slug.js"}`, false)
	}
	called(10, "e1", "Edit", `{"file_path":"src/slug.js"}`, false)
	d.repo.Write("src/slug.js", "one\ntwo\n")
	hook(11, "PostToolBatch", object{"tool_calls": []object{{"tool_name": "Edit", "tool_use_id": "e1"}}})
	hook(41, "Stop", object{"last_assistant_message": "Done."})
	hook(60, "UserPromptSubmit", object{"prompt": "now make the tests pass, and do not stop before all of them do, whatever it takes"})
	called(61, "b1", "Bash", `{"command":"npm test -- --reporter spec --grep 'an empty title gives an empty string' --bail"}`, true)
	hook(65, "PostToolBatch", object{"tool_calls": []object{{"tool_name": "Bash", "tool_use_id": "b1"}}})
	d.at(70_000)
	for _, columns := range []int{60, 80, 120} {
		golden(t, filepath.Join("testdata", "page", fmt.Sprintf("session-%d.txt", columns)), d.page(columns, "claude-s", "NO_COLOR=1"))
	}
	assert.Contains(t, d.do("", "show", "claude-s", "--json"), `"turns":[{"turn":1,"state":"finished","prompt":"Fix #212: doubled dashes\nplease","calls":8,"failed":0,`)
}
