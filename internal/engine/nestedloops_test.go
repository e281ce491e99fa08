package engine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/snapshot"
)

// nested is a loop in a loop: for each round the inner loop tries twice, and after it the outer loop sums up. The outer loop has two rounds.
const nested = `name: nested
outputs: {plan: {}, try: {}, sum: {}}
tasks:
  - loop: outer
    until: output('sum', 'sum').rounds >= 2
    max: 5
    tasks:
      - {id: plan, output: plan, run: 'echo "{\"round\": $SMITHERS_ITERATION}"'}
      - loop: inner
        until: iteration >= 1
        max: 3
        tasks:
          - id: try
            needs: [plan]
            output: try
            run: 'read -r given; echo "$given" >>given; echo "$SMITHERS_NODE_ID" >>nodes; echo "{\"try\": $SMITHERS_ITERATION}"'
      - id: sum
        needs: [try]
        output: sum
        run: 'echo x >>sums; echo "{\"rounds\": $(wc -l <sums)}"'
  - {id: end, needs: [sum], run: 'true'}
`

func TestALoopInALoopBeginsAnewInEachIteration(t *testing.T) {
	t.Parallel()
	s := newScratch(t, nested, "")
	_, err := s.run()
	require.NoError(t, err)

	finished := snapshot.NodeFinished
	assert.Equal(t, map[string]snapshot.NodeState{
		"plan::0": finished, "try@@outer=0::0": finished, "try@@outer=0::1": finished, "sum::0": finished,
		"plan::1": finished, "try@@outer=1::0": finished, "try@@outer=1::1": finished, "sum::1": finished,
		"end::0": finished,
	}, s.states(), "the ids are those that Smithers gives")
	assert.Equal(t, "try@@outer=0\ntry@@outer=0\ntry@@outer=1\ntry@@outer=1\n", s.read("nodes"))
	assert.Equal(t, snapshot.Loop{RalphID: "outer", Iteration: 1, Done: true}, s.loop("outer"))
	assert.Equal(t, snapshot.Loop{RalphID: "inner@@outer=0", Iteration: 1, Done: true}, s.loop("inner@@outer=0"))
	assert.Equal(t, snapshot.Loop{RalphID: "inner@@outer=1", Iteration: 1, Done: true}, s.loop("inner@@outer=1"))
	assert.Equal(t, `{"try": 1}`, s.outputs("try")["try@@outer=1::1"])

	given := s.read("given")
	assert.Contains(t, given, `"needs":{"plan":{"round":1}}`, "what it needs of the outer loop is of the same round")
	assert.Contains(t, given, `"previous":{"try":{"try":0}}`)
	assert.Equal(t, []string{"plan"}, s.node("try@@outer=1::1").Needs)
	assert.Equal(t, []string{"try@@outer=1"}, s.node("sum::1").Needs)
	assert.Equal(t, "inner@@outer=1", *s.node("try@@outer=1::0").RalphID)
}

func TestAnInterruptedLoopInALoopGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `name: nested
tasks:
  - loop: outer
    until: iteration >= 1
    max: 2
    tasks:
      - loop: inner
        until: iteration >= 1
        max: 2
        tasks:
          - {id: work, run: 'echo "$SMITHERS_NODE_ID $SMITHERS_ITERATION" >>done; [ -e go ] || [ "$SMITHERS_NODE_ID $SMITHERS_ITERATION" != "work@@outer=1 0" ]'}
`, "")
	_, err := s.run()
	require.Error(t, err)
	assert.Equal(t, snapshot.NodeFailed, s.states()["work@@outer=1::0"])
	s.file("go", "")
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, "work@@outer=0 0\nwork@@outer=0 1\nwork@@outer=1 0\nwork@@outer=1 0\nwork@@outer=1 1\n", s.read("done"))
}

func TestAChangedDefinitionMayNestALoop(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "name: w\ntasks:\n  - {loop: inner, until: iteration >= 1, max: 2, tasks: [{id: work, run: 'true'}]}\n  - {id: last, run: 'test -e go'}\n", "")
	_, err := s.run()
	require.Error(t, err)
	s.wf = parse(t, `name: w
tasks:
  - {loop: outer, until: 'true', max: 2, tasks: [{loop: inner, until: iteration >= 1, max: 2, tasks: [{id: work, run: 'true'}]}]}
  - {id: last, run: 'true'}
`)
	state, err := s.tip().State()
	require.NoError(t, err)
	changes, err := engine.Reconcile(state, asStored, engine.ReconcileRequest{Workflow: s.wf})
	require.NoError(t, err)
	after, err := state.Edit(&s.objects, changes)
	require.NoError(t, err)
	var nodes, loops []string
	for row, err := range after.Nodes().Rows() {
		require.NoError(t, err)
		nodes = append(nodes, row.Key)
	}
	for row, err := range after.Loops().Rows() {
		require.NoError(t, err)
		loops = append(loops, row.Key)
	}
	assert.Equal(t, []string{"last::0", "work@@outer=0::0"}, nodes, "a task whose loop is now in another one begins anew")
	assert.Equal(t, []string{"inner@@outer=0", "outer"}, loops)
}
