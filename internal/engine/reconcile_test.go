package engine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const loopAndMore = `
name: w
outputs: {t: {type: object, properties: {n: {type: integer}}}, u: {}}
tasks:
  - {id: a, run: 'echo ran >> a; echo "{\"n\":1}"', output: t}
  - {loop: l, until: iteration == 2, max: 5, tasks: [{id: b, needs: [a], run: 'echo $SMITHERS_ITERATION >> b; echo $SMITHERS_ITERATION', output: u}]}
  - {id: c, needs: [l], run: 'echo ran >> c'}
`

// edited reconciles a finished run of loopAndMore with another definition.
func edited(t *testing.T, workflow string, reset ...string) (*scratch, []snapshot.Change, error) {
	t.Helper()
	s := newScratch(t, loopAndMore, "")
	_, err := s.run()
	require.NoError(t, err)
	s.wf = parse(t, workflow)
	state, err := s.tip().State()
	require.NoError(t, err)
	changes, err := engine.Reconcile(state, asStored, engine.ReconcileRequest{Workflow: s.wf, Reset: reset})
	return s, changes, err
}

// forkInto makes changes the run's next frame, as a fork with a new definition does.
func (s *scratch) forkInto(changes []snapshot.Change) {
	s.t.Helper()
	require.NoError(s.t, s.open(s.t).Append(s.t.Context(), snapshot.Draft{
		Frame: &snapshot.FrameDraft{State: changes}, Workflow: s.wf.Snapshot(), Subject: "forked", AtMs: 1,
		Run: func(row *snapshot.Run) { row.Status = snapshot.RunPending },
	}))
}

func TestReconcileChangesNothingForTheSameDefinition(t *testing.T) {
	t.Parallel()
	_, changes, err := edited(t, loopAndMore)
	require.NoError(t, err)
	assert.Empty(t, changes)
}

func TestReconcileDropsWhatVanishedAndAddsWhatIsNew(t *testing.T) {
	t.Parallel()
	s, changes, err := edited(t, `
name: w
outputs: {t: {type: object}}
tasks:
  - {id: a, run: 'echo ran >> a; echo "{\"n\":1}"', output: t, label: The A}
  - {id: c, needs: [a], run: 'echo ran >> c'}
  - {id: d, needs: [c], run: 'echo ran >> d'}
`)
	require.NoError(t, err)
	s.forkInto(changes)
	assert.Equal(t, map[string]snapshot.NodeState{
		"a::0": snapshot.NodeFinished, "c::0": snapshot.NodeFinished, "d::0": snapshot.NodePending,
	}, s.states())
	assert.Equal(t, map[string]string{"a::0": `{"n":1}`}, s.outputs("t"))
	assert.Empty(t, s.outputs("u"), "outputs go with their task")
	assert.Equal(t, "The A", *s.node("a::0").Label)
	assert.Equal(t, []string{"a"}, s.node("c::0").Needs)
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, "ran\n", s.read("a"))
	assert.Equal(t, "ran\n", s.read("c"))
	assert.Equal(t, "ran\n", s.read("d"))
}

func TestReconcileRunsATaskThatIsNewInALoopInItsLastIteration(t *testing.T) {
	t.Parallel()
	s, changes, err := edited(t, `
name: w
outputs: {t: {type: object}, u: {}}
tasks:
  - {id: a, run: 'echo "{\"n\":1}"', output: t}
  - {loop: l, until: iteration == 2, max: 5, tasks: [{id: b, needs: [a], run: 'echo 7', output: u}, {id: e, run: 'echo $SMITHERS_ITERATION >> e'}]}
  - {id: c, needs: [l], run: 'echo ran >> c'}
`)
	require.NoError(t, err)
	s.forkInto(changes)
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, "2\n", s.read("e"))
	assert.Equal(t, "0\n1\n2\n", s.read("b"))
}

func TestReconcileRefusesAnOutputThatNoLongerFits(t *testing.T) {
	t.Parallel()
	stricter := func(schema, output string) string {
		return "name: w\noutputs: {t: " + schema + ", u: {}, v: {}}\ntasks:\n  - {id: a, run: x" + output + "}\n"
	}
	for name, c := range map[string]struct{ workflow, message string }{
		"a field of another type": {
			stricter("{properties: {n: {type: string}}}", ", output: t"),
			`task a is finished, but its output does not fit the new schema: t.n: type: 1 has type "integer", want "string"`,
		},
		"another table": {stricter("{}", ", output: v"), "task a is finished with an output in table t, but the new definition requires an output in table v"},
		"no output":     {stricter("{}", ""), "task a is finished with an output in table t, but the new definition requires no output"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, changes, err := edited(t, c.workflow)
			assert.Equal(t, c.message, fails(t, fault.SchemaConflict, err))
			assert.Empty(t, changes)
			_, _, err = edited(t, c.workflow, "a::0")
			assert.NoError(t, err, "unless the task is reset anyway")
		})
	}
}

func TestALoopGoesBackToTheIterationThatWasReset(t *testing.T) {
	t.Parallel()
	s, _, err := edited(t, loopAndMore)
	require.NoError(t, err)
	state, err := s.tip().State()
	require.NoError(t, err)
	reset, err := reset.Nodes(state, []string{"b::1"}, false)
	require.NoError(t, err)
	s.forkInto(reset)
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, "0\n1\n2\n1\n2\n", s.read("b"))
	assert.Equal(t, "ran\nran\n", s.read("c"), "it needs the loop")
	assert.Equal(t, 2, *s.node("b::1").LastAttempt, "attempt numbers are never used twice")
}

func TestWhatIsFinishedAndNotResetStaysSoWhenItsLoopGoesBack(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - loop: l
    until: iteration == 2
    max: 5
    tasks:
      - {id: a, run: 'echo $SMITHERS_ITERATION >> a'}
      - {id: b, needs: [a], run: 'echo $SMITHERS_ITERATION >> b'}
`, "")
	_, err := s.run()
	require.NoError(t, err)
	state, err := s.tip().State()
	require.NoError(t, err)
	reset, err := reset.Nodes(state, []string{"b::1"}, true)
	require.NoError(t, err)
	s.forkInto(reset)
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, "0\n1\n2\n", s.read("a"))
	assert.Equal(t, "0\n1\n2\n1\n", s.read("b")[:8])
	assert.True(t, s.loop("l").Done)
}

func TestAForkWithAnInputThatDoesNotFitIsNotRun(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, input: {properties: {n: {type: integer}}}, tasks: [{id: a, run: 'touch a'}]}", `{"n":1}`)
	s.forkInto([]snapshot.Change{{Op: snapshot.OpSet, Collection: "input", Value: []byte(`{"n":"x"}`)}})
	_, err := s.run()
	assert.Equal(t, `input.n: type: x has type "string", want "integer"`, fails(t, fault.InvalidInput, err))
	assert.Len(t, s.entries, 2)
}
