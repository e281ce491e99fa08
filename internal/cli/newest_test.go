package cli_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// aPrompt is what a coding agent hands to its hook when a session begins.
const aPrompt = `{"session_id":"s1","transcript_path":"none","hook_event_name":"UserPromptSubmit","prompt":"begin"}`

// promptBefore makes the session claude-s1 get a prompt some time before the time of all other commands.
func promptBefore(t *testing.T, d *desk, ago time.Duration) {
	t.Helper()
	c := d.invoke(t, func(s *cli.Streams) {
		at := s.Now().Add(-ago)
		s.In, s.Now = strings.NewReader(aPrompt), func() time.Time { return at }
	}, "session", "hook", "claude", "UserPromptSubmit")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
}

// takesARun matches the usage of a command that takes a run, an address or a session.
var takesARun = regexp.MustCompile(`<(run|session)>`)

// Commands of all kinds are those of changing and reading, in which a run is called by its id; here it is called @. What is not in these
// lists and takes a run has a line of its own.
func TestEveryCommandThatTakesARunTakesTheNewestOne(t *testing.T) {
	t.Parallel()
	called := make(map[string]bool)
	elsewhere := t.TempDir()
	lines := [][]string{
		{"tui", "@"},
		{"traces", "@"}, // tui needs a terminal
		{"fetch", "origin", "@"},
		{"unbundle", filepath.Join(elsewhere, "runs.bundle"), "@"},
		{"session checkpoint", "@"},
		{"session what-if", "@", "--dry-run"},
		{"session replay", "@", "--dry-run"},
		{"session export", "@", "--format", "messages"},
		{"session tags", "@"},
		{"cancel-request", "@"},
		{"sql", "SELECT 1", "--with-state", "@"},
	}
	for _, list := range []map[string][]string{changing(), reading(elsewhere)} {
		for command, args := range list {
			line := []string{command}
			for _, arg := range args {
				line = append(line, strings.Replace(arg, "triage-1", "@", 1))
			}
			lines = append(lines, line)
		}
	}
	for i, line := range lines {
		called[line[0]] = true
		t.Run(fmt.Sprint(line[0], " ", i), func(t *testing.T) {
			t.Parallel()
			d := oneRun(t)
			if strings.HasPrefix(line[0], "session ") {
				promptBefore(t, d, 0)
			}
			c := d.invoke(t, nil, append(strings.Fields(line[0]), line[1:]...)...)
			said := c.out.String() + c.err.String()
			assert.NotEqual(t, fault.ExitBug, c.exit, said)
			assert.NotRegexp(t, `"@[^"]*"|no (run|session|remote) is called`, c.err.String(), "the name reached the command")
			if _, changes := changing()[line[0]]; changes && !slices.Contains(line, "--list") && !slices.Contains(line, "--pr") && !slices.Contains(line, "--to") {
				named := "@ is run triage-10 of flow, last changed just now\n"
				if strings.HasPrefix(line[0], "session ") {
					named = "@session is session claude-s1, last changed just now\n"
				}
				assert.Contains(t, c.err.String(), named)
			}
		})
	}
	for _, path := range cli.CommandPaths() {
		help := invoke(t, nil, append(strings.Fields(path), "--help")...).out.String()
		usage, _, _ := strings.Cut(help, "\n\nDESCRIPTION")
		if takesARun.MatchString(usage) && path != "signals" && path != "unseal" {
			assert.True(t, called[path], "whoever adds a command that takes a run calls it here: %s", path)
		}
	}
}

func TestWithoutARunAPersonGetsTheNewestOne(t *testing.T) {
	t.Parallel()
	d := oneRun(t)
	for _, line := range []string{"timeline", "show", "logs", "events", "calls", "ops", "branches", "fork", "report"} {
		script := d.invoke(t, nil, line)
		assert.Equal(t, fault.ExitUsage, script.exit, line)
		assert.Contains(t, script.err.String(), line+" needs a run, such as @ for the newest one\n")
	}
	c := d.invoke(t, atTerminal(), "timeline")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Contains(t, c.out.String(), "triage-10")
	assert.Contains(t, c.err.String(), "@ is run triage-10 of flow, last changed just now\n")

	// A dry run changes nothing, and asks nothing.
	c = d.invoke(t, func(s *cli.Streams) { s.In = strings.NewReader("n\n"); atTerminal()(s) }, "resume", "--dry-run")
	assert.NotContains(t, c.err.String(), "Go on with")

	// A command that changes the run asks first, and a script is never asked.
	before := d.repo.Git("for-each-ref")
	for _, answer := range []string{"n\n", ""} {
		c = d.invoke(t, func(s *cli.Streams) { s.In = strings.NewReader(answer); atTerminal()(s) }, "cancel")
		assert.Equal(t, fault.ExitUsage, c.exit)
		assert.Contains(t, c.err.String(), "Go on with triage-10? [y/N] ")
		assert.Contains(t, c.err.String(), `cancel changed nothing: nobody has agreed to take run "triage-10"`)
	}
	assert.Equal(t, fault.ExitUsage, d.invoke(t, nil, "cancel").exit)
	assert.Equal(t, before, d.repo.Git("for-each-ref"))
	c = d.invoke(t, func(s *cli.Streams) { s.In = strings.NewReader("y\n"); atTerminal()(s) }, "cancel")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.NotEqual(t, before, d.repo.Git("for-each-ref"))
}

// The run is of now. A session of the last hour makes @ ambiguous, and an older one does not.
func TestAPersonIsAskedIfTheNewestRunCanBeOfTwoKinds(t *testing.T) {
	t.Parallel()
	answers := func(text string) func(*cli.Streams) {
		return func(s *cli.Streams) { s.In = strings.NewReader(text); atTerminal()(s) }
	}
	for name, one := range map[string]struct {
		ago   time.Duration
		edit  func(*cli.Streams)
		args  []string
		asked bool
		exit  int
	}{
		"both are new, and the answer is no":     {30 * time.Minute, answers("n\n"), []string{"cancel", "@"}, true, fault.ExitUsage},
		"both are new, and the answer is yes":    {30 * time.Minute, answers("y\n"), []string{"cancel", "@"}, true, fault.ExitOK},
		"the session is two hours old":           {2 * time.Hour, answers("n\n"), []string{"cancel", "@"}, false, fault.ExitOK},
		"the kind is named":                      {30 * time.Minute, answers("n\n"), []string{"cancel", "@run"}, false, fault.ExitOK},
		"the id is named":                        {30 * time.Minute, answers("n\n"), []string{"cancel", "triage-10"}, false, fault.ExitOK},
		"a script is not asked":                  {30 * time.Minute, nil, []string{"cancel", "@"}, false, fault.ExitOK},
		"a command that reads does not ask":      {30 * time.Minute, answers("n\n"), []string{"timeline", "@"}, false, fault.ExitOK},
		"--json is for scripts, at any terminal": {30 * time.Minute, answers("n\n"), []string{"cancel", "@", "--json"}, false, fault.ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := oneRun(t)
			promptBefore(t, d, one.ago)
			c := d.invoke(t, one.edit, one.args...)
			assert.Equal(t, one.exit, c.exit, c.err.String())
			assert.Equal(t, one.asked, strings.Contains(c.err.String(), "@ could also be session claude-s1, last changed 30 minutes ago\nGo on with triage-10? [y/N] "), c.err.String())
		})
	}
}
