package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
)

func TestATaskWaitsForTheWholeOfALoopThatItIsNotIn(t *testing.T) {
	t.Parallel()
	wf, err := workflow.Parse("wf.yaml", []byte(`name: w
tasks:
  - loop: outer
    until: 'true'
    max: 2
    tasks:
      - {id: first, run: x}
      - {loop: inner, until: 'true', max: 2, tasks: [{id: work, run: x, needs: [first]}, {loop: core, until: 'true', max: 2, tasks: [{id: deep, run: x}]}]}
      - {id: beside, run: x, needs: [deep]}
  - {id: end, run: x, needs: [deep]}
`))
	require.NoError(t, err)
	assert.Equal(t, []string{"first"}, wf.Task("work").Waits, "a task of a loop around it, in the same iteration")
	assert.Equal(t, []string{"inner"}, wf.Task("beside").Waits)
	assert.Equal(t, []string{"outer"}, wf.Task("end").Waits)
	assert.Same(t, wf.Task("deep"), wf.Task("deep@@outer=1,inner=0"))

	assert.True(t, wf.Fits(workflow.NodeKey{ID: "deep@@outer=1,inner=0", Iteration: 3}))
	assert.True(t, wf.FitsLoop("core@@outer=1,inner=0"))
	for _, id := range []string{"deep", "deep@@outer=1", "deep@@inner=0,outer=1", "deep@@x=1,inner=0", "first@@outer=0", "end@@outer=0", "deep@@outer=1,inner=", "gone"} {
		assert.False(t, wf.Fits(workflow.NodeKey{ID: id}), id)
	}
	assert.False(t, wf.FitsLoop("inner"))
}

func TestFlawsOfNestedLoopsAreNamed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, want string }{
		"a loop around it is needed": {"name: w\ntasks:\n  - loop: o\n    until: 'true'\n    max: 2\n    tasks:\n      - {loop: i, until: 'true', max: 1, tasks: [{id: x, run: y, needs: [o]}]}\n", "task x needs loop o, which contains the task"},
		"a circle":                   {"name: w\ntasks:\n  - loop: o\n    until: 'true'\n    max: 2\n    tasks:\n      - {loop: i, until: 'true', max: 1, tasks: [{id: x, run: y, needs: [z]}]}\n      - {id: z, run: y, needs: [x]}\n", "the needs form a cycle: x -> z -> i -> x"},
		"an empty loop in a loop":    {"name: w\ntasks:\n  - {loop: o, until: 'true', max: 2, tasks: [{loop: i, until: 'true', max: 1, tasks: []}]}\n", "loop i has no tasks"},
		"an id twice":                {"name: w\ntasks:\n  - {loop: o, until: 'true', max: 2, tasks: [{loop: o, until: 'true', max: 1, tasks: [{id: x, run: y}]}]}\n", `the id "o" is already used`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Parse("wf.yaml", []byte(tc.file))
			require.Error(t, err)
			assert.Contains(t, err.Error(), tc.want)
		})
	}
}

func TestLoopsAreNestedSixteenDeep(t *testing.T) {
	t.Parallel()
	of := func(depth int) string {
		var loops strings.Builder
		for i := range depth {
			fmt.Fprintf(&loops, "{loop: l%d, until: 'true', max: 2, tasks: [", i)
		}
		return "name: w\ntasks:\n  - " + loops.String() + "{id: x, run: y}" + strings.Repeat("]}", depth) + "\n"
	}
	wf, err := workflow.Parse("wf.yaml", []byte(of(16)))
	require.NoError(t, err)
	node := wf.FirstNodes()[0].NodeID
	assert.True(t, strings.HasPrefix(node, "x@@l0=0,l1=0,"), node)
	assert.True(t, wf.Fits(workflow.NodeKey{ID: node}))
	_, err = workflow.Parse("wf.yaml", []byte(of(17)))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "loop l16 is nested deeper than 16 loops")
}
