package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// changing are the commands that change or remove a run, or change files of the user, each called with the beginning
// of the only run's id. Three stand among the readers,
// too: restore --to leaves what is there alone, and land --pr and signal --list read.
func changing() map[string][]string {
	return map[string][]string{
		"resume":          {"triage-1"},
		"supervise":       {"triage-1", "--once"},
		"cancel":          {"triage-1"},
		"score":           {"triage-1", "--with", "nproc"},
		"cache trust":     {"triage-1"},
		"approve":         {"triage-1"},
		"deny":            {"triage-1", "ship"},
		"answer":          {"triage-1", "--yes"},
		"cancel-request":  {"triage-1"},
		"signal":          {"triage-1", "go"},
		"travel":          {"triage-1:1"},
		"reset":           {"--run-id=triage-1"},
		"undo":            {"triage-1"},
		"land":            {"triage-1:1"},
		"restore":         {"triage-1:1"},
		"revert":          {"triage-1", "--node", "plan"},
		"session revert":  {"triage-1:turn:1"},
		"worktrees prune": {"triage-1"},
		"seal":            {"triage-1"},
		"unseal":          {"triage-1"},
		"prune":           {"triage-1"},
	}
}

// reading are the commands that only read the run, or make something new of it. A prefix of its id is enough.
func reading(elsewhere string) map[string][]string {
	return map[string][]string{
		"inbox":     {"triage-1"},
		"signals":   {"triage-1"},
		"signal":    {"--list", "triage-1"},
		"timeline":  {"triage-1"},
		"show":      {"triage-1:1"},
		"logs":      {"triage-1", "plan"},
		"events":    {"triage-1"},
		"diff":      {"triage-1:0", "triage-1:1"},
		"report":    {"triage-1", "-o", filepath.Join(elsewhere, "run.html")},
		"blame":     {"triage-1", "nodes.plan.state"},
		"frames":    {"--run", "triage-1", "--path", "file"},
		"branches":  {"triage-1"},
		"calls":     {"triage-1"},
		"bisect":    {"triage-1", "--when", "frame > 0"},
		"scores":    {"triage-1"},
		"cache why": {"triage-1", "plan"},
		"compare":   {"--forks-of", "triage-1"},
		"ops":       {"triage-1"},
		"fork":      {"triage-1", "--run-id", "fork"},
		"replay":    {"flow.yaml", "triage-1:1"},
		"sweep":     {"--from", "triage-1:1", "--times", "1", "--in-place"},
		"land":      {"triage-1:1", "--pr"},
		"restore":   {"triage-1:1", "--to", filepath.Join(elsewhere, "before")},
		"push":      {"origin", "triage-1", "--yes"},
		"scan":      {"triage-1"},
		"search":    {"--run", "triage-1", "plan"},
		"bundle":    {"triage-1", "-o", filepath.Join(elsewhere, "runs.bundle")},
		"export":    {"triage-1", "--to", filepath.Join(elsewhere, "smithers.db")},
		"verify":    {"triage-1"},
		"du":        {"triage-1"},
	}
}

// others take no run of this repository: none at all, the id of a new one, or runs of a remote, bundle or database.
// capture appends to a run with exactly the id, or makes it.
func others() []string {
	return []string{
		"run", "capture", "status", "tui", "mcp", "runs", "sql", "worktrees", "fetch", "remote", "unbundle", "import", "watch", "serve",
		"session enable", "session disable", "session status", "session hook", "session what-if", "session continue", "session checkpoint", "session tags", "session replay", "session export", "session import", "doctor", "init", "index rebuild", "secret add", "secret list", "secret remove", "metrics", "traces", "trace", "cache list", "cache show", "cache prune", "cron add", "cron check", "cron list", "cron enable", "cron disable", "cron remove", "cron run-now", "cron backfill", "__complete", "__notify", "check", "completion", "man", "version",
	}
}

// oneRun makes a repository whose only run is triage-10, which waits for an approval.
func oneRun(t *testing.T) *desk {
	t.Helper()
	d := &desk{repotest.New(t, repotest.Commit)}
	d.repo.Git("remote", "add", "origin", repotest.New(t, repotest.Bare).Dir)
	d.repo.Write("flow.yaml", "name: flow\ntasks:\n  - {id: plan, cache: true, run: echo 1 >file}\n  - {id: ship, needs: [plan], approval: Ship?}\n")
	c := d.invoke(t, nil, "run", "flow.yaml", "--run-id", "triage-10")
	require.Equal(t, fault.ExitWaiting, c.exit, c.err.String())
	d.repo.Write("file", "changed\n")
	return d
}

func TestACommandThatChangesARunTakesItsWholeID(t *testing.T) {
	t.Parallel()
	d := oneRun(t)
	before := d.repo.Git("for-each-ref")
	for command, args := range changing() {
		c := d.invoke(t, nil, append(strings.Fields(command), args...)...)
		assert.Equal(t, fault.ExitNotFound, c.exit, "%s: %s%s", command, c.out.String(), c.err.String())
		whole := make([]string, len(args))
		for i, arg := range args {
			whole[i] = strings.Replace(arg, "triage-1", "triage-10", 1)
		}
		assert.Equal(t, "git-smithers: error: no run is called \"triage-1\"\n"+
			"git-smithers: hint: type the whole id to change a run: did you mean triage-10?\n"+
			"git-smithers: hint: `git smithers "+command+" "+strings.Join(whole, " ")+"`\n", c.err.String(), command)
		assert.Equal(t, before, d.repo.Git("for-each-ref"), command)
	}
	text, err := os.ReadFile(filepath.Join(d.repo.Dir, "file"))
	require.NoError(t, err)
	assert.Equal(t, "changed\n", string(text))
}

func TestTheIDOfARequestHasTheWholeIDOfItsRun(t *testing.T) {
	t.Parallel()
	d := oneRun(t)
	c := d.invoke(t, nil, "answer", "human:triage-1:ship:0", "--yes")
	assert.Equal(t, fault.ExitNotFound, c.exit)
	assert.Contains(t, c.err.String(), "no run is called \"triage-1\"\n"+
		"git-smithers: hint: type the whole id to change a run: did you mean triage-10?\n")
}

func TestAPrefixIsForReading(t *testing.T) {
	t.Parallel()
	d := oneRun(t)
	ours := func() string {
		return d.repo.Git("for-each-ref", "refs/smithers/_tip/triage-10", "refs/smithers/triage-10")
	}
	before := ours()
	for command, args := range reading(t.TempDir()) {
		c := d.invoke(t, nil, append(strings.Fields(command), args...)...)
		assert.Contains(t, []int{fault.ExitOK, fault.ExitWaiting}, c.exit, "%s: %s", command, c.err.String())
		assert.Equal(t, before, ours(), command)
	}
	text, err := os.ReadFile(filepath.Join(d.repo.Dir, "file"))
	require.NoError(t, err)
	assert.Equal(t, "1\n", string(text), "what replay ran has written; nothing was restored")
}

// Whoever adds a command decides here whether it changes a run.
func TestEveryCommandIsKnownToReadOrToChange(t *testing.T) {
	t.Parallel()
	known := others()
	for command := range changing() {
		known = append(known, command)
		help := invoke(t, nil, append(strings.Fields(command), "--help")...)
		assert.Contains(t, help.out.String(), "\n  Type the whole id of the run, or @ for the newest one: a prefix works only for commands that read.\n", command)
	}
	for command := range reading("") {
		if command != "restore" && command != "land" && command != "signal" {
			known = append(known, command)
		}
	}
	slices.Sort(known)
	all := cli.CommandPaths()
	slices.Sort(all)
	assert.Equal(t, all, known)
}

func TestAPrunedRunIsNamedByItsWholeID(t *testing.T) {
	t.Parallel()
	d := oneRun(t)
	require.Equal(t, fault.ExitOK, d.invoke(t, nil, "prune", "triage-10").exit)
	before := d.repo.Git("for-each-ref")
	for _, args := range [][]string{{"--undo", "triage-1"}, {"--remote", "origin", "triage-1"}} {
		c := d.invoke(t, nil, append([]string{"prune"}, args...)...)
		assert.Equal(t, fault.ExitNotFound, c.exit, args)
		args[len(args)-1] = "triage-10"
		assert.Equal(t, "git-smithers: error: no pruned run is called \"triage-1\"\n"+
			"git-smithers: hint: type the whole id to change a run: did you mean triage-10?\n"+
			"git-smithers: hint: `git smithers prune "+strings.Join(args, " ")+"`\n", c.err.String())
		assert.Equal(t, before, d.repo.Git("for-each-ref"))
	}
}

func TestRunsThatBeginWithANameAreListedAndNoneIsTaken(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, id := range []string{"tri.8", "tri-2"} {
		c := d.invoke(t, func(s *cli.Streams) { s.In = strings.NewReader("{}") }, "capture", id)
		require.Equal(t, fault.ExitOK, c.exit, c.err.String())
	}
	c := d.invoke(t, nil, "seal", "tri", "--json")
	assert.Equal(t, fault.ExitNotFound, c.exit)
	assert.JSONEq(t, `{"kind":"error","code":"run_not_found","exit":10,"message":"no run is called \"tri\"",`+
		`"hints":["type the whole id to change a run: did you mean tri-2, tri.8, triage?"],`+
		`"details":{"run":"tri","runs":["tri-2","tri.8","triage"]}}`, c.err.String())
}
