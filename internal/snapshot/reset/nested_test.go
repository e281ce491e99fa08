package reset_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/snapshot"
)

// nestedRounds is the state after two rounds of outer: prep, twice try in the loop inner, sum, and end after all rounds.
func nestedRounds(t *testing.T, m *objstoretest.Memory) *snapshot.State {
	t.Helper()
	outer := "outer"
	nodes := []snapshot.Node{{NodeID: "end", Needs: []string{"prep", "sum", "try@@outer=0"}}}
	changes := []snapshot.Change{snapshot.SetRow(snapshot.CollectionLoops, snapshot.EncodeLoop(snapshot.Loop{RalphID: outer, Iteration: 1, Done: true}))}
	for round, scope := range []string{"@@outer=0", "@@outer=1"} {
		inner := "inner" + scope
		nodes = append(nodes,
			snapshot.Node{NodeID: "prep", Iteration: round, RalphID: &outer},
			snapshot.Node{NodeID: "try" + scope, RalphID: &inner, Needs: []string{"prep"}},
			snapshot.Node{NodeID: "try" + scope, Iteration: 1, RalphID: &inner, Needs: []string{"prep"}},
			snapshot.Node{NodeID: "sum", Iteration: round, RalphID: &outer, Needs: []string{"try" + scope}},
		)
		changes = append(changes, snapshot.SetRow(snapshot.CollectionLoops, snapshot.EncodeLoop(snapshot.Loop{RalphID: inner, Iteration: 1, Done: true})))
	}
	for _, n := range nodes {
		n.State = snapshot.NodeFinished
		changes = append(changes, snapshot.SetNode(n))
	}
	state, err := snapshot.EmptyState().Edit(m, changes)
	require.NoError(t, err)
	return state
}

func TestAResetGoesBackToARoundOfNestedLoops(t *testing.T) {
	t.Parallel()
	later := []string{"prep::1", "sum::1", "try@@outer=1::0", "try@@outer=1::1"}
	for name, tc := range map[string]struct {
		nodes         []string
		noDeps        bool
		pending, gone []string
		loops         map[string]int
	}{
		"a node of the first round":         {[]string{"try@@outer=0::1"}, false, []string{"try@@outer=0::1", "sum::0", "end::0"}, later, map[string]int{"outer": 0, "inner@@outer=0": 1}},
		"a node of the last round":          {[]string{"try@@outer=1::0"}, false, []string{"try@@outer=1::0", "sum::1", "end::0"}, []string{"try@@outer=1::1"}, map[string]int{"outer": 1, "inner@@outer=0": 1, "inner@@outer=1": 0}},
		"what the inner loop needs":         {[]string{"prep::1"}, false, []string{"prep::1", "try@@outer=1::0", "sum::1", "end::0"}, []string{"try@@outer=1::1"}, map[string]int{"outer": 1, "inner@@outer=0": 1, "inner@@outer=1": 0}},
		"what needs the inner loop":         {[]string{"sum::1"}, false, []string{"sum::1", "end::0"}, nil, map[string]int{"outer": 1, "inner@@outer=0": 1, "inner@@outer=1": 1}},
		"a task by its name, in all rounds": {[]string{"try"}, false, []string{"try@@outer=0::0", "sum::0", "end::0"}, append([]string{"try@@outer=0::1"}, later...), map[string]int{"outer": 0, "inner@@outer=0": 0}},
		"one node alone":                    {[]string{"try@@outer=0::1"}, true, []string{"try@@outer=0::1"}, nil, map[string]int{"outer": 0, "inner@@outer=0": 1, "inner@@outer=1": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := new(objstoretest.Memory)
			before := nestedRounds(t, m)
			changes, err := reset.Nodes(before, tc.nodes, tc.noDeps)
			require.NoError(t, err)
			after, err := before.Edit(m, changes)
			require.NoError(t, err)
			reached, err := reset.Reach(before.AllNodes(), tc.nodes, tc.noDeps)
			require.NoError(t, err)

			left := make(map[string]snapshot.NodeState)
			for n, err := range after.AllNodes() {
				require.NoError(t, err)
				left[snapshot.Key(n.NodeID, n.Iteration)] = n.State
			}
			var pending, gone []string
			for n, err := range before.AllNodes() {
				require.NoError(t, err)
				key := snapshot.Key(n.NodeID, n.Iteration)
				if state, ok := left[key]; !ok {
					gone = append(gone, key)
				} else if state == snapshot.NodePending {
					pending = append(pending, key)
				}
				assert.Equal(t, left[key] != snapshot.NodeFinished, reached(n), key)
			}
			assert.ElementsMatch(t, tc.pending, pending)
			assert.ElementsMatch(t, tc.gone, gone)
			loops := make(map[string]int)
			for l, err := range after.AllLoops() {
				require.NoError(t, err)
				loops[l.RalphID] = l.Iteration
				assert.Equal(t, l.RalphID == "inner@@outer=0" && tc.loops["outer"] == 1 || tc.noDeps && l.RalphID == "inner@@outer=1" || slices.Equal(tc.nodes, []string{"sum::1"}) && l.RalphID != "outer", l.Done, l.RalphID)
			}
			assert.Equal(t, tc.loops, loops)
		})
	}
}

func TestRestartingAllRemovesLaterRounds(t *testing.T) {
	t.Parallel()
	m := new(objstoretest.Memory)
	before := nestedRounds(t, m)
	changes, err := reset.All(before)
	require.NoError(t, err)
	after, err := before.Edit(m, changes)
	require.NoError(t, err)
	var keys []string
	for n, err := range after.AllNodes() {
		require.NoError(t, err)
		assert.Equal(t, snapshot.NodePending, n.State)
		keys = append(keys, snapshot.Key(n.NodeID, n.Iteration))
	}
	for l, err := range after.AllLoops() {
		require.NoError(t, err)
		assert.Equal(t, snapshot.Loop{RalphID: l.RalphID}, l)
		keys = append(keys, l.RalphID)
	}
	assert.Equal(t, []string{"end::0", "prep::0", "sum::0", "try@@outer=0::0", "inner@@outer=0", "outer"}, keys)
}
