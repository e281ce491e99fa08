package workflow_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestParseReadsWorktrees(t *testing.T) {
	t.Parallel()
	wf := parse(t, `
name: w
worktree: {path: ../run, branch: "w-{run}", base: develop}
tasks:
  - {id: a, run: x}
  - {id: b, run: x, worktree: true}
  - loop: l
    until: 'true'
    max: 2
    tasks:
      - {id: c, run: x, worktree: {branch: "{task}/{run}", setup: npm ci}}
`)
	assert.Equal(t, &workflow.Worktree{Path: "../run", Branch: "w-{run}", Base: "develop"}, wf.Worktree)
	assert.Nil(t, wf.Tasks[0].Worktree)
	assert.Equal(t, &workflow.Worktree{}, wf.Tasks[1].Worktree)
	assert.Equal(t, &workflow.Worktree{Branch: "{task}/{run}", Setup: "npm ci"}, wf.Tasks[2].Worktree)
}

func TestParseNamesWhatIsWrongWithWorktrees(t *testing.T) {
	t.Parallel()
	file := func(worktree string) string {
		return "name: w\ntasks:\n  - {id: a, run: x}\n  - {id: b, run: x, worktree: " + worktree + "}\n"
	}
	const form = `for example worktree: true, or worktree: {branch: "fix-{run}"}`
	const git = "`git help check-ref-format` lists the rules"
	for name, c := range map[string]struct{ file, message, hint string }{
		"false": {file("false"), `wf.yaml:4: worktree must be true or a mapping with path, branch, base, setup, not "false"`, form},
		"text":  {file("../b"), `wf.yaml:4: worktree must be true or a mapping with path, branch, base, setup, not "../b"`, form},
		"none":  {file(""), "wf.yaml:4: worktree must be true or a mapping with path, branch, base, setup, not nothing", form},
		"list":  {file("[b]"), "wf.yaml:4: worktree must be a mapping, not a list", ""},

		"unknown key": {file("{brnch: b}"), `wf.yaml:4: worktree has no key "brnch"`, `did you mean "branch"?`},
		"empty path":  {file(`{path: ""}`), "wf.yaml:4: path is empty", ""},
		"control":     {file(`{path: "a\tb"}`), "wf.yaml:4: path has a control character", ""},
		"placeholder": {file(`{path: "{iteration}"}`), "wf.yaml:4: path has the unknown placeholder {iteration}", "use one of: {run}, {task}"},
		"near one":    {file(`{branch: "{tsk}"}`), "wf.yaml:4: branch has the unknown placeholder {tsk}", `did you mean "{task}"?`},
		"option":      {file("{branch: -b}"), `wf.yaml:4: branch "-b" cannot be the name of a branch`, git},
		"space":       {file("{branch: my b}"), `wf.yaml:4: branch "my b" cannot be the name of a branch`, git},
		"lock":        {file("{branch: b.lock/c}"), `wf.yaml:4: branch "b.lock/c" cannot be the name of a branch`, git},
		"base option": {file("{base: --all}"), `wf.yaml:4: base "--all" is not a revision`, "name a branch, a tag or a commit, for example main"},
		"base of run": {file(`{base: "w-{run}"}`), `wf.yaml:4: base "w-{run}" is not a revision`, "remove the placeholder: only path and branch can have placeholders"},
		"of a branch": {file(`{base: "{task}@{1}"}`), `wf.yaml:4: base "{task}@{1}" is not a revision`, "remove the placeholder: only path and branch can have placeholders"},
		"task of all": {"name: w\nworktree: {branch: \"{task}\"}\n", "wf.yaml:2: branch has the unknown placeholder {task}", "use one of: {run}"},

		"branch twice": {
			"name: w\nworktree: {branch: b}\ntasks: [{id: a, run: x, worktree: {branch: b}}]\n",
			`wf.yaml:3: the worktree of line 2 already has the branch "b"`, "add {task}, which is replaced by the task's id",
		},
		"path twice": {
			"name: w\ntasks:\n  - {id: a, run: x, worktree: {path: p-a}}\n  - {id: b, run: x, worktree: {path: p-a}}\n",
			`wf.yaml:4: the worktree of line 3 already has the path "p-a"`, "add {task}, which is replaced by the task's id",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Parse("wf.yaml", []byte(c.file))
			require.Equal(t, fault.InvalidWorkflow, fault.CodeOf(err), "%v", err)
			assert.Equal(t, c.message, err.Error())
			var f *fault.Error
			require.ErrorAs(t, err, &f)
			assert.Equal(t, c.hint, strings.Join(f.Hints, ";"))
		})
	}
}
