package workflow_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
)

func TestATaskWithAMatrixIsATaskForEachCell(t *testing.T) {
	t.Parallel()
	wf, err := workflow.Parse("wf.yaml", []byte(`
name: w
sandbox: true
outputs: {t: {}}
tasks:
  - {id: test, output: t, run: go test, env: {Z: last}, matrix: {go: ["1.25", 1.26], os: [linux, "my os"]}, cache: {by: [input.x]}, worktree: {branch: "try-{task}"}, sandbox: false}
  - {id: all, run: x, needs: [test]}
  - {loop: l, until: "true", max: 1, tasks: [{id: in, run: x, needs: [all], matrix: {n: [1, 2]}}]}
`))
	require.NoError(t, err)
	var ids []string
	for _, task := range wf.Tasks {
		ids = append(ids, task.ID)
	}
	assert.Equal(t, []string{"test.1.25.linux", "test.1.25.my-os", "test.1.26.linux", "test.1.26.my-os", "all", "in.1", "in.2"}, ids)
	cell := wf.Task("test.1.26.my-os")
	assert.Equal(t, []string{"MATRIX_GO=1.26", "MATRIX_OS=my os", "Z=last"}, cell.Env)
	assert.Equal(t, "go=1.26 os=my os", cell.Matrix.String())
	assert.Equal(t, "try-{task}", cell.Worktree.Branch)
	assert.Nil(t, cell.Sandbox)
	assert.Equal(t, ids[:4], wf.Needs(wf.Task("all")))
	assert.Len(t, wf.Loop("l").Tasks, 2)
	assert.Nil(t, wf.Task("test"))
	tree, err := wf.Render(func(string) bool { return false })
	require.NoError(t, err)
	assert.Contains(t, string(tree), `"matrix":"go=1.25 os=linux"`)
}

func TestFlawsOfMatricesAreNamed(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("1, ", 40)
	var told []string
	for _, flaw := range flawsOf(t, `name: w
tasks:
  - {id: a, run: a, matrix: {}}
  - {id: b, run: a, matrix: {"a-b": [1]}}
  - {id: c, run: a, matrix: {x: []}}
  - {id: d, run: a, matrix: {x: [`+many+`], y: [`+many+`]}}
  - {id: e, run: a, matrix: {x: [a b, a-b]}}
  - {id: f, run: a, matrix: {x: [1, 2]}, worktree: {path: ../same}}
  - {id: g, run: a, matrix: [1]}
  - {id: h, timer: 1s, matrix: {x: [1]}}
  - {id: e.a-b, run: a}
`) {
		_, what, _ := strings.Cut(flaw.Message, ": ")
		told = append(told, what)
	}
	assert.Equal(t, []string{
		"matrix must have from 1 to 20 axes",
		`"a-b" cannot be the name of an axis`,
		"axis x has no values",
		"matrix has more than 1000 cells",
		`the id "e.a-b" is already used in line 7`,
		"the cells of task f would share a worktree",
		"matrix must be a mapping, not a list",
		"task h has timer, which does not allow matrix",
		`the id "e.a-b" is already used in line 7`,
	}, told)
}

func TestAMatrixHasAThousandCells(t *testing.T) {
	t.Parallel()
	var values []string
	for i := range 1000 {
		values = append(values, strconv.Itoa(i))
	}
	wf, err := workflow.Parse("wf.yaml", []byte("{name: w, tasks: [{id: a, run: x, matrix: {n: ["+strings.Join(values, ", ")+"]}}, {id: b, run: x, needs: [a]}]}"))
	require.NoError(t, err)
	assert.Len(t, wf.Tasks, 1001)
	assert.Len(t, wf.Needs(wf.Task("b")), 1000)
}
