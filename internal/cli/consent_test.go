package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// foreignRun makes a run of a workflow that this clone has not run: its note is gone, as
// it is where the run was fetched.
func foreignRun(t *testing.T, d *desk) {
	t.Helper()
	const workflow = `name: flow
worktree: {path: "../elsewhere", branch: "fix-{run}"}
scorers: [{name: all, run: "echo 3"}]
tasks:
  - {id: ask, approval: "Go on?"}
  - {id: look, needs: [ask], worktree: {base: HEAD}, run: "true", scorers: [{name: own, run: "echo 4"}]}
  - {id: ship, needs: [ask], env: {MODE: "fast\e[5m"}, run: "echo 1 >>$FILE\necho 2"}
`
	d.repo.Write("flow.yaml", workflow)
	d.repo.Git("add", "flow.yaml")
	d.repo.Git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=flow")
	c := d.invoke(t, nil, "run", "flow.yaml", "--run-id", "flow", "--quiet")
	require.Equal(t, fault.ExitWaiting, c.exit, c.err.String())
	require.Equal(t, fault.ExitOK, d.invoke(t, nil, "approve", "flow").exit)
	require.NoError(t, os.RemoveAll(filepath.Join(d.repo.Dir, ".git", "smithers", "trusted")))
}

func TestAPersonIsShownNewCommandsAndAsked(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	foreignRun(t, d)
	file := filepath.Join(d.repo.Dir, "ran")
	answering := func(typed string) func(*cli.Streams) {
		return func(s *cli.Streams) {
			s.In = strings.NewReader(typed)
			atTerminal("FILE=" + file)(s)
		}
	}
	before := d.repo.Git("for-each-ref", "refs/smithers/_tip")

	const shown = "Workflow flow has never run in this clone. It has these commands:\n" +
		"  a worktree in ../elsewhere on branch fix-{run}\n" +
		"  scorer all: echo 3\n" +
		"  look: a worktree from HEAD\n" +
		"  look: true\n" +
		"  look: scorer own: echo 4\n" +
		"  ship: MODE=fast\\x1b[5m\n" +
		"  ship: echo 1 >>$FILE\n" +
		"  ship: echo 2\n" +
		"Run them in this clone? [y/N] "
	for _, no := range []string{"n\n", "\n", "", "yeah\n"} {
		c := d.invoke(t, answering(no), "resume", "flow")
		assert.Equal(t, fault.ExitUsage, c.exit)
		assert.True(t, strings.HasPrefix(c.err.String(), shown), c.err.String())
		assert.Contains(t, c.err.String(), "you did not confirm the commands")
	}
	assert.NoFileExists(t, file)
	assert.Equal(t, before, d.repo.Git("for-each-ref", "refs/smithers/_tip"))

	c := d.invoke(t, answering("y\n"), "resume", "flow")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.FileExists(t, file)
	c = d.invoke(t, answering(""), "travel", "-r", "flow", "-n", "ship", "--resume", "--no-vcs")
	assert.Equal(t, fault.ExitOK, c.exit, "asked once: "+c.err.String())
}

func TestAPersonIsAskedAboutTheFilesOfAnUnknownRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	foreignRun(t, d)
	notes, err := filepath.Glob(filepath.Join(d.repo.Dir, ".git", "smithers", "recorded-*")) // of this place
	require.NoError(t, err)
	require.Len(t, notes, 1)
	require.NoError(t, os.RemoveAll(notes[0]))
	require.NoError(t, os.RemoveAll(filepath.Join(d.repo.Dir, ".git", "smithers", "claims")))
	before := d.repo.Git("for-each-ref", "refs/smithers/_tip")
	answering := func(typed string) func(*cli.Streams) {
		return func(s *cli.Streams) {
			s.In = iotest.OneByteReader(strings.NewReader(typed)) // a terminal gives a line at a time
			atTerminal("FILE=" + filepath.Join(d.repo.Dir, "ran"))(s)
		}
	}
	c := d.invoke(t, answering("y\nn\n"), "resume", "flow")
	assert.Equal(t, fault.ExitConflict, c.exit)
	assert.Contains(t, c.err.String(), "Run flow was not recorded in this clone. Its files are somebody else's, and the commands run among them.\n")
	assert.Contains(t, c.err.String(), "Run the commands on these files? [y/N] ")
	assert.Contains(t, c.err.String(), "you did not confirm the files of run \"flow\"")
	assert.Equal(t, before, d.repo.Git("for-each-ref", "refs/smithers/_tip"))
	assert.NoDirExists(t, filepath.Join(d.repo.Dir, ".git", "smithers", "trusted"), "a command that is refused leaves no note")

	// A run that would go on in the user's own files is refused without a question about other files.
	d.repo.Write("here.yaml", "name: here\ntasks: [{id: go, run: \"true\"}]\n")
	c = d.invoke(t, answering("y\ny\n"), "replay", "here.yaml", "flow")
	assert.Equal(t, fault.ExitConflict, c.exit)
	assert.Contains(t, c.err.String(), "does not go on in your own files")

	c = d.invoke(t, answering("y\ny\n"), "resume", "flow")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
}

func TestNobodyIsAskedWhereScriptsRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	foreignRun(t, d)
	c := d.invoke(t, func(s *cli.Streams) {
		s.In = strings.NewReader("y\n")
		atTerminal()(s)
	}, "resume", "flow", "--json")
	assert.Equal(t, fault.ExitUsage, c.exit)
	assert.Contains(t, c.err.String(), `"code":"unconfirmed"`)
	assert.Contains(t, c.err.String(), `"commands":[{"nodeId":"","scorer":"all","command":"echo 3"},{"nodeId":"look","command":"true"},{"nodeId":"look","scorer":"own","command":"echo 4"},{"nodeId":"ship","command":"echo 1 >>$FILE\necho 2","env":["MODE=fast\u001b[5m"]}]`)
}

func TestAPersonIsAskedOnceAboutTheirOwnEdit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const before = "name: flow\ntasks:\n  - {id: one, run: \"true\"}\n  - {id: two, run: \"true\"}\n  - {id: three, run: \"true\"}\n" +
		"  - {id: four, run: \"true\"}\n  - {id: ship, needs: [four], run: \"false\"}\n"
	d.repo.Write("flow.yaml", before)
	require.Equal(t, fault.ExitFailed, d.invoke(t, nil, "run", "flow.yaml", "--run-id", "flow", "--quiet").exit)
	d.repo.Write("flow.yaml", strings.Replace(before, `"false"`, `"echo \e[5m"`, 1))
	answering := func(typed string) func(*cli.Streams) {
		return func(s *cli.Streams) {
			s.In = strings.NewReader(typed)
			atTerminal()(s)
		}
	}
	const shown = "The workflow file differs from the definition stored in run flow:\n" +
		"  ...\n" +
		"      - {id: two, run: \"true\"}\n" +
		"      - {id: three, run: \"true\"}\n" +
		"      - {id: four, run: \"true\"}\n" +
		"  -   - {id: ship, needs: [four], run: \"false\"}\n" +
		"  +   - {id: ship, needs: [four], run: \"echo \\e[5m\"}\n" +
		"New is:\n" +
		"  ship: echo \\x1b[5m\n" +
		"Continue with the new definition? [y/N] "
	c := d.invoke(t, answering("n\n"), "resume", "flow")
	assert.Equal(t, fault.ExitUsage, c.exit)
	assert.True(t, strings.HasPrefix(c.err.String(), shown), c.err.String())
	assert.Contains(t, c.err.String(), "`git smithers resume flow.yaml flow --accept-workflow-change` continues with the new definition")

	// With the flag, the difference is accepted, and the new command alone is asked about.
	c = d.invoke(t, answering("n\n"), "resume", "flow", "--accept-workflow-change")
	assert.Equal(t, fault.ExitUsage, c.exit)
	assert.True(t, strings.HasPrefix(c.err.String(), "Workflow flow has changed since it ran in this clone. New is:\n"+
		"  ship: echo \\x1b[5m\nRun them in this clone? [y/N] "), c.err.String())

	c = d.invoke(t, answering("y\n"), "resume", "flow")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Equal(t, 1, strings.Count(c.err.String(), "[y/N]"), c.err.String())

	// Where the run's own commands were not agreed to, the difference does not show all that would run.
	require.NoError(t, os.RemoveAll(filepath.Join(d.repo.Dir, ".git", "smithers", "trusted")))
	d.repo.Write("flow.yaml", before)
	c = d.invoke(t, answering("y\ny\n"), "resume", "flow")
	assert.Equal(t, fault.ExitUsage, c.exit)
	assert.NotContains(t, c.err.String(), "[y/N]")
}

func TestTheQuestionAboutOnesOwnEditShowsWhatTheDifferenceDoesNot(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const before = "name: flow\ntasks:\n  - {id: ask, approval: \"Go?\"}\n  - {id: ship, needs: [ask], run: \"true\\ntrue\"}\n"
	d.repo.Write("flow.yaml", before)
	require.Equal(t, fault.ExitWaiting, d.invoke(t, nil, "run", "flow.yaml", "--run-id", "flow", "--quiet").exit)
	for after, want := range map[string]string{
		// The rule of sh stands behind the definitions of commands of several lines alone.
		"name: flow\ntasks:\n  - {id: ask, approval: \"Go?\"}\n  - {id: ship, run: \"true\"}\n": "" +
			"    name: flow\n    tasks:\n      - {id: ask, approval: \"Go?\"}\n" +
			"  -   - {id: ship, needs: [ask], run: \"true\\ntrue\"}\n" +
			"  +   - {id: ship, run: \"true\"}\n" +
			"New is:\n  ship: true\n  ship: no longer waits for ask (approval)\n",
		// The file does not say where paths lead.
		before + "  - {id: box, sandbox: {write: [none]}, run: \"true\"}\n": "" +
			"  +   - {id: box, sandbox: {write: [none]}, run: \"true\"}\n" +
			"New is:\n  box: in a sandbox: no network, writes none (refused: none does not exist)\n  box: true\n",
		strings.Replace(before, "{id: ship", "{id: ship, model: small", 1): "" +
			"  +   - {id: ship, model: small, needs: [ask], run: \"true\\ntrue\"}\n" +
			"New is:\n  ship: SMITHERS_MODEL=small\n  ship: true\n  ship: true\n",
	} {
		d.repo.Write("flow.yaml", after)
		c := d.invoke(t, func(s *cli.Streams) {
			s.In = strings.NewReader("n\n")
			atTerminal()(s)
		}, "resume", "flow")
		assert.Contains(t, c.err.String(), want+"Continue with the new definition? [y/N] ")
		assert.NotContains(t, c.err.String(), "# workflow")
	}
}
