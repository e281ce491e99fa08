package cli_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A jsonLine is a command line, without --json, and what it reads.
type jsonLine struct{ command, args, stdin string }

// jsonLines call every command that prints JSON, each in what those before it have made. $DIR is a folder of their own.
func jsonLines() []jsonLine {
	return []jsonLine{
		{"run", "flow.yaml --run-id a", ""},
		{"run", "ask.yaml --run-id asks", ""},
		{"run", "wait.yaml --run-id waits", ""},
		{"run", "flow.yaml --run-id denied", ""},
		{"sweep", "flow.yaml --times 1 --in-place --group many", ""},
		{"show", "many", ""},
		{"check", "flow.yaml", ""},
		{"status", "", ""},
		{"runs", "", ""},
		{"timeline", "a", ""},
		{"show", "a --attempts", ""},
		{"show", "-p a:2", ""},
		{"logs", "a plan", ""},
		{"calls", "a", ""},
		{"score", "a --name one --with printf${IFS}1", ""},
		{"scores", "a", ""},
		{"bisect", "a --when frame>0", ""},
		{"cache list", "", ""},
		{"cron add", "@daily flow.yaml --name daily", ""},
		{"cron check", "@daily", ""},
		{"cron list", "", ""},
		{"cron disable", "daily", ""},
		{"cron enable", "daily", ""},
		{"cron run-now", "daily", ""},
		{"cron backfill", "daily --from 1d --dry-run", ""},
		{"cron remove", "daily", ""},
		{"cache show", "0", ""},
		{"cache why", "a plan", ""},
		{"cache trust", "a", ""},
		{"cache prune", "--all", ""},
		{"logs", "a plan --follow", ""},
		{"events", "a", ""},
		{"events", "a --follow --limit 3", ""},
		{"events", "a --count", ""},
		{"diff", "a:1", ""},
		{"diff", "--code a:1 a:2", ""},
		{"report", "a -o $DIR/a.html", ""},
		{"frames", "--path file", ""},
		{"blame", "flow.yaml", ""},
		{"blame", "a nodes.plan.state", ""},
		{"metrics", "", ""},
		{"search", "plan", ""},
		{"sql", "", ""},
		{"sql", "-", "SELECT run_id, status FROM _smithers_runs"},
		{"inbox", "", ""},
		{"fork", "a:1 --run-id b", ""},
		{"branches", "a", ""},
		{"compare", "a b", ""},
		{"diff", "--align a b", ""},
		{"ops", "b", ""},
		{"cancel", "b", ""},
		{"supervise", "a --once", ""},
		{"approve", "a", ""},
		{"deny", "denied ship", ""},
		{"cancel-request", "asks", ""},
		{"resume", "asks", ""},
		{"travel", "asks --node ask", ""},
		{"resume", "asks", ""},
		{"answer", "asks --text because", ""},
		{"signal", "waits go", ""},
		{"signal", "waits --batch", "{\"name\":\"go\"}\n{}\n"},
		{"signal", "waits --list", ""},
		{"signals", "waits", ""},
		{"travel", "a:1", ""},
		{"travel", "a --node gone", ""},
		{"undo", "a", ""},
		{"reset", "a", ""},
		{"undo", "", ""},
		{"ops", "a", ""},
		{"revert", "a --node plan --dry-run", ""},
		{"revert", "a:1 --dry-run", ""},
		{"land", "a:1", ""},
		{"land", "a:1 --pr", ""},
		{"restore", "a:1 --dry-run", ""},
		{"restore", "a:1 --to $DIR/before", ""},
		{"worktrees", "", ""},
		{"worktrees prune", "", ""},
		{"resume", "a", ""},
		{"replay", "flow.yaml a:1", ""},
		{"push", "origin a --yes", ""},
		{"fetch", "origin", ""},
		{"remote", "", ""},
		{"session enable", "", ""},
		{"session status", "", ""},
		{"session disable", "", ""},
		{"session what-if", "@", ""},
		{"session replay", "@", ""},
		{"session continue", "@session", ""},
		{"session revert", "@:turn:1", ""},
		{"session checkpoint", "@", ""},
		{"session tags", "@ --make", ""},
		{"session import", "claude said.jsonl", ""},
		{"secret list", "", ""},
		{"secret add", "NAME", "a-long-value-7"},
		{"secret remove", "NAME", ""},
		{"scan", "", ""},
		{"scan", "--allow 0123456789abcdef --reason x", ""},
		{"scan", "--allowed", ""},
		{"bundle", "a -o $DIR/a.bundle", ""},
		{"unbundle", "$DIR/a.bundle", ""},
		{"export", "a --to $DIR/smithers.db", ""},
		{"import", "$DIR/smithers.db", ""},
		{"verify", "", ""},
		{"doctor", "", ""},
		{"doctor", "--rebuild-index", ""},
		{"index rebuild", "", ""},
		{"seal", "a", ""},
		{"seal", "--undo a", ""},
		{"unseal", "a", ""},
		{"prune", "b", ""},
		{"du", "", ""},
		{"du", "a", ""},
		{"init", "", ""},
		{"capture", "x", "{}"},
		{"capture", "x --batch", "{}\n{\"nonsense\":1}\n"},
		{"version", "", ""},
	}
}

func TestEveryLineOfJSONHasAKind(t *testing.T) {
	t.Parallel()
	d := oneRun(t)
	d.repo.Write("ask.yaml", "name: ask\ntasks:\n  - {id: ask, human: Why?}\n")
	d.repo.Write("wait.yaml", "name: wait\ntasks:\n  - {id: built, wait_for: {signal: build}}\n")
	d.repo.Write("said.jsonl", `{"type":"user","message":{"content":"begin"}}`+"\n")
	dir := t.TempDir()
	// These show a view, or print a script or words for one, or nothing, or lines in a form of others, or speak a protocol, and watch goes on
	// until it is stopped; its documents are those of import.
	called := []string{"tui", "mcp", "completion", "__complete", "__notify", "man", "serve", "session hook", "session export", "trace", "traces", "watch"}
	printed := 0
	for _, line := range jsonLines() {
		called = append(called, line.command)
		args := strings.Fields(line.command + " " + strings.ReplaceAll(line.args, "$DIR", filepath.ToSlash(dir)) + " --json")
		c := d.invoke(t, func(s *cli.Streams) { s.In = strings.NewReader(line.stdin) }, args...)
		require.NotContains(t, []int{fault.ExitUsage, fault.ExitBug}, c.exit, "%q: %s", args, c.err.String())
		for text := range strings.Lines(c.out.String() + c.err.String()) {
			var doc struct{ Kind string }
			require.NoError(t, json.Unmarshal([]byte(text), &doc), "%q prints %s", args, text)
			assert.NotEmpty(t, doc.Kind, "%q prints %s", args, text)
			printed++
		}
	}
	assert.Greater(t, printed, len(jsonLines()))
	slices.Sort(called)
	all := cli.CommandPaths()
	slices.Sort(all)
	assert.Equal(t, all, slices.Compact(called), "whoever adds a command calls it here")
}

// An event of another engine, and a column, may be called kind: there is one member of that name, and it is theirs.
func TestAKindOfAnEventOrARowStays(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := d.invoke(t, func(s *cli.Streams) {
		s.In = strings.NewReader(`{"events":[{"type":"ToolCalled","payload":{"kind":"shell"}},{"type":"Said","payload":{"text":"kind"}}]}`)
	}, "capture", "triage")
	require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	c = d.invoke(t, nil, "events", "triage", "--json", "-t", "ToolCalled", "-t", "Said")
	lines := strings.Split(strings.TrimSpace(c.out.String()), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, 1, strings.Count(lines[0], `"kind":`))
	assert.Contains(t, lines[0], `"kind":"shell"`)
	assert.Contains(t, lines[1], `{"kind":"event","seq":`)
	c = d.invoke(t, nil, "sql", "SELECT 'mine' AS kind, 1 AS n", "--json")
	assert.JSONEq(t, `{"kind":"mine","n":1}`, c.out.String())
	c = d.invoke(t, nil, "sql", "SELECT 1 AS n", "--json")
	assert.JSONEq(t, `{"kind":"row","n":1}`, c.out.String())
}
