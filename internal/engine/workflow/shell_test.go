package workflow_test

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
)

// lines is a command whose first line fails.
const lines = "name: w\ntasks:\n  - id: t\n    run: |\n      false\n      echo on\n"

func TestACommandEndsAtItsFirstFailingLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task string
		ok   bool
		out  string
	}{
		"lines":                       {"run: \"false\\necho on\"", false, ""},
		"on one line":                 {`run: "false; echo on"`, false, ""},
		"with a line that may fail":   {`run: "false || true; echo on"`, true, "on\n"},
		"that says so":                {`run: "set +e; false; echo on"`, true, "on\n"},
		"a comment first":             {"run: \"# why\\nfalse\\necho on\"", false, ""},
		"sh by name":                  {`{shell: sh, run: "false; echo on"}`, false, ""},
		"bash":                        {`{shell: bash, run: "false | true; echo 'on'"}`, false, ""},
		"bash, in which arrays work":  {`{shell: bash, run: "a=(o n); echo \"${a[0]}${a[1]}\""}`, true, "on\n"},
		"a file of another program":   {`{shell: "awk -f {0}", run: "BEGIN { print \"it's on\" }"}`, true, "it's on\n"},
		"a file, with options behind": {`{shell: "sh {0} on", run: "false; echo $1"}`, true, "on\n"},
		"a file that fails":           {`{shell: "sh {0}", run: "exit 3"}`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := c.task
			if task[0] != '{' {
				task = "{" + task + "}"
			}
			wf, err := workflow.Parse("w.yaml", []byte("name: w\ntasks:\n  - {id: t, "+task[1:]+"\n"))
			require.NoError(t, err)
			out, err := exec.CommandContext(t.Context(), "sh", "-c", wf.Tasks[0].ShellLine()).Output() //nolint:gosec // the test's own words
			assert.Equal(t, c.ok, err == nil, "%v", err)
			assert.Equal(t, c.out, string(out))
		})
	}
}

func TestAStoredDefinitionKeepsItsRule(t *testing.T) {
	t.Parallel()
	before, err := workflow.Stored("w.yaml", []byte(lines))
	require.NoError(t, err)
	assert.Equal(t, "false\necho on\n", before.Tasks[0].ShellLine())

	now, err := workflow.Parse("w.yaml", []byte(lines))
	require.NoError(t, err)
	assert.Equal(t, "set -e; false\necho on\n", now.Tasks[0].ShellLine())
	assert.NotEqual(t, before.Snapshot().Hash(), now.Snapshot().Hash())
	again, err := workflow.Stored("w.yaml", now.Snapshot().Definition)
	require.NoError(t, err)
	assert.Equal(t, now.Tasks[0].ShellLine(), again.Tasks[0].ShellLine())
	assert.Equal(t, now.Snapshot().Hash(), again.Snapshot().Hash())

	assert.Equal(t, before.Tasks[0].ShellLine(), now.AsStored(before.Snapshot().Hash()).Tasks[0].ShellLine(), "the file has not changed")
	assert.Same(t, now, now.AsStored(now.Snapshot().Hash()))
	other, err := workflow.Stored("w.yaml", []byte(lines+"      echo more\n"))
	require.NoError(t, err)
	assert.Same(t, now, now.AsStored(other.Snapshot().Hash()), "another file has the rule of today")
}

func TestADefinitionThatTheRuleDoesNotChangeIsTheFileAlone(t *testing.T) {
	t.Parallel()
	for _, task := range []string{"run: make", `run: "a && b || c | d"`, `{shell: bash, run: "a; b"}`, "run: \"make\\n\""} {
		if task[0] != '{' {
			task = "{" + task + "}"
		}
		text := "name: w\ntasks:\n  - {id: t, " + task[1:] + "\n"
		wf, err := workflow.Parse("w.yaml", []byte(text))
		require.NoError(t, err)
		assert.Equal(t, text, string(wf.Snapshot().Definition))
		assert.Empty(t, wf.Stricter())
	}
}

func TestTheRuleHoldsForCalledFilesAndScorers(t *testing.T) {
	t.Parallel()
	text := "name: w\nscorers: [{name: s, run: \"false; echo 1\"}]\ntasks:\n  - {id: c, workflow: called.yaml}\n"
	read := func(string) ([]byte, error) { return []byte(lines), nil }
	wf, err := workflow.Load("w.yaml", []byte(text), read)
	require.NoError(t, err)
	stored, err := workflow.Stored("w.yaml", wf.Snapshot().Definition)
	require.NoError(t, err)
	for _, wf := range []*workflow.Workflow{wf, stored} {
		called := wf.Tasks[0].Call.Workflow
		assert.Equal(t, "set -e; false\necho on\n", called.Tasks[0].ShellLine())
		assert.Equal(t, "set -e; false; echo 1", wf.Scorers[0].ShellLine())
		again, err := workflow.Stored("called.yaml", called.Snapshot().Definition) // as the called run stores it
		require.NoError(t, err)
		assert.Equal(t, "set -e; false\necho on\n", again.Tasks[0].ShellLine())
	}
}

func TestAStrangeShellIsRefused(t *testing.T) {
	t.Parallel()
	_, err := workflow.Parse("w.yaml", []byte("name: w\ntasks:\n  - {id: t, shell: fish, run: a}\n"))
	require.ErrorContains(t, err, `"fish" is not a shell`)
}

func TestTheFileSaysWhatAllCommandsHave(t *testing.T) {
	t.Parallel()
	wf, err := workflow.Parse("w.yaml", []byte(`
name: w
env: {A: all, B: all}
defaults: {shell: bash, cwd: ./packages/api/, timeout: 2m, retries: 1}
tasks:
  - {id: plain, run: make}
  - {id: own, run: make, shell: sh, cwd: ., timeout: 1m, retries: 0, env: {B: own, C: own}}
  - {id: cells, run: make, matrix: {os: [linux]}, env: {A: mine}}
  - {id: ask, approval: "Go on?"}
`))
	require.NoError(t, err)
	plain, own, cell, ask := wf.Tasks[0], wf.Tasks[1], wf.Tasks[2], wf.Tasks[3]
	assert.Equal(t, []string{"A=all", "B=all"}, plain.Env)
	assert.Equal(t, []any{"bash", "packages/api", 2 * time.Minute, 1}, []any{plain.Shell.Name, plain.Cwd, plain.Timeout, plain.Retries})
	assert.Equal(t, "cd -- './packages/api' || exit; exec bash -eo pipefail -c 'make'", plain.ShellLine())
	assert.Equal(t, []string{"A=all", "B=own", "C=own"}, own.Env)
	assert.Equal(t, []any{"sh", "", time.Minute, 0}, []any{own.Shell.Name, own.Cwd, own.Timeout, own.Retries})
	assert.Equal(t, []string{"A=mine", "B=all", "MATRIX_OS=linux"}, cell.Env)
	assert.Equal(t, []any{"", "", 0}, []any{ask.Shell.Name, ask.Cwd, ask.Retries})
	assert.Nil(t, ask.Env)
}

func TestACommandRunsInTheWorkingCopy(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"/tmp", "..", "../x", "a/../../x"} {
		_, err := workflow.Parse("w.yaml", []byte("name: w\ntasks:\n  - {id: t, cwd: "+dir+", run: a}\n"))
		require.ErrorContains(t, err, "is not a folder in the working copy")
	}
}
