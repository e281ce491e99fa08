package reset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// done is a finished node with its output.
func done(id string, iteration int, ralph string, needs ...string) []snapshot.Change {
	n := snapshot.Node{NodeID: id, Iteration: iteration, State: snapshot.NodeFinished, LastAttempt: new(1), OutputTable: "t", Needs: needs}
	if ralph != "" {
		n.RalphID = &ralph
	}
	return []snapshot.Change{snapshot.SetNode(n), output("t", id, iteration, `1`)}
}

// review is plan -> a loop of draft -> check -> ship, and log, which needs nothing;
// the loop ran three times.
func review(t testing.TB, w objstore.Writer) *snapshot.State {
	t.Helper()
	changes := slices.Concat(done("plan", 0, ""), done("ship", 0, "", "check"), done("log", 0, ""), done("tally", 0, "", "draft"))
	for i := range 3 {
		changes = slices.Concat(changes, done("draft", i, "review", "plan"), done("check", i, "review", "draft"))
	}
	return stateWith(t, w, append(changes, snapshot.SetRow(snapshot.CollectionLoops, snapshot.EncodeLoop(snapshot.Loop{RalphID: "review", Iteration: 2, Done: true})))...)
}

// outline tells in a line which nodes there are, pending ones in parentheses, those
// with an output marked by a star, and then the loops.
func outline(t require.TestingT, s *snapshot.State) string {
	var out []string
	for row, err := range s.Nodes().Rows() {
		require.NoError(t, err)
		n, err := snapshot.DecodeNode(row)
		require.NoError(t, err)
		word := fmt.Sprintf("%s%d", n.NodeID, n.Iteration)
		if _, found, err := s.Outputs("t").Get(row.Key); found {
			require.NoError(t, err)
			word += "*"
		}
		if n.State == snapshot.NodePending {
			require.Nil(t, n.LastAttempt)
			word = "(" + word + ")"
		}
		out = append(out, word)
	}
	for row, err := range s.Loops().Rows() {
		require.NoError(t, err)
		l, err := snapshot.DecodeLoop(row)
		require.NoError(t, err)
		out = append(out, fmt.Sprintf("%s=%d,%v", l.RalphID, l.Iteration, l.Done))
	}
	return strings.Join(out, " ")
}

func TestReset(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		nodes  []string
		noDeps bool
		want   string
	}{
		{"nothing", nil, false, "check0* check1* check2* draft0* draft1* draft2* log0* plan0* ship0* tally0* review=2,true"},
		{"a node takes what needs it along", []string{"plan"}, false, "(check0) (draft0) log0* (plan0) (ship0) (tally0) review=0,false"},
		{"a node alone", []string{"plan"}, true, "check0* check1* check2* draft0* draft1* draft2* log0* (plan0) ship0* tally0* review=2,true"},
		{"a node that nothing needs", []string{"ship"}, false, "check0* check1* check2* draft0* draft1* draft2* log0* plan0* (ship0) tally0* review=2,true"},
		{"a node in a loop sends the loop back to its start", []string{"check"}, false, "(check0) draft0* log0* plan0* (ship0) (tally0) review=0,false"},
		{"an iteration sends the loop back to itself", []string{"check::1"}, false, "check0* (check1) draft0* draft1* log0* plan0* (ship0) (tally0) review=1,false"},
		{"what needs the iteration within the loop goes along from there", []string{"draft::1"}, false, "check0* (check1) draft0* (draft1) log0* plan0* (ship0) (tally0) review=1,false"},
		{"the earliest of several counts", []string{"check::2", "draft::1", "log"}, false, "check0* (check1) draft0* (draft1) (log0) plan0* (ship0) (tally0) review=1,false"},
		{"a node in a loop alone", []string{"check"}, true, "(check0) draft0* draft1* draft2* log0* plan0* ship0* tally0* review=0,false"},
		{"an iteration alone", []string{"check::1"}, true, "check0* (check1) check2* draft0* draft1* draft2* log0* plan0* ship0* tally0* review=1,false"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := new(objstoretest.Memory)
			before := review(t, w)
			changes, err := reset.Nodes(before, tc.nodes, tc.noDeps)
			require.NoError(t, err)
			after, err := before.Edit(w, changes)
			require.NoError(t, err)
			assert.Equal(t, tc.want, outline(t, after))
		})
	}
}

func TestWhatIsResetNeedsNoReset(t *testing.T) {
	t.Parallel()
	w := new(objstoretest.Memory)
	s := review(t, w)
	changes, err := reset.Nodes(s, []string{"check::1", "log"}, false)
	require.NoError(t, err)
	s, err = s.Edit(w, changes)
	require.NoError(t, err)
	again, err := reset.Nodes(s, []string{"check::1", "log"}, false)
	require.NoError(t, err)
	assert.Empty(t, again)
}

func TestResetOfAnUnknownNode(t *testing.T) {
	t.Parallel()
	s := review(t, new(objstoretest.Memory))
	for _, name := range []string{"", "chekc", "check::3", "check::x", "plan::1"} {
		_, err := reset.Nodes(s, []string{"plan", name}, false)
		assert.ErrorIs(t, err, reset.ErrUnknownNode, "%q", name)
	}
}

func TestResetFindsANodeIDThatLooksLikeAnIteration(t *testing.T) {
	t.Parallel()
	w := new(objstoretest.Memory)
	s := stateWith(t, w, slices.Concat(done("a", 1, ""), done("a::1", 0, ""))...)
	changes, err := reset.Nodes(s, []string{"a::1"}, false)
	require.NoError(t, err)
	after, err := s.Edit(w, changes)
	require.NoError(t, err)
	assert.Equal(t, "a1* (a::10)", outline(t, after))
}

func TestResetTakesWhatWasAskedAlong(t *testing.T) {
	t.Parallel()
	w := new(objstoretest.Memory)
	s, err := review(t, w).Edit(w, slices.Concat(mail("plan", 0), mail("check", 0), mail("check", 2), mail("log", 0), []snapshot.Change{
		signal(0, "go"),
		snapshot.SetNode(snapshot.Node{NodeID: "ship", State: snapshot.NodeWaitingApproval, LastAttempt: new(1), Needs: []string{"check"}}),
	}))
	require.NoError(t, err)
	changes, err := reset.Nodes(s, []string{"check"}, false)
	require.NoError(t, err)
	s, err = s.Edit(w, changes)
	require.NoError(t, err)
	assert.Equal(t, "(check0) draft0* log0* plan0* (ship0) (tally0) review=0,false", outline(t, s))
	for name, rows := range map[string]*page.Collection{"approvals": s.Approvals(), "human requests": s.HumanRequests(), "waits": s.Waits()} {
		var keys []string
		for row, err := range rows.Rows() {
			require.NoError(t, err)
			keys = append(keys, row.Key)
		}
		assert.Equal(t, []string{"log::0", "plan::0"}, keys, name)
	}
	assert.Equal(t, 1, s.Signals().Len(), "what was received stays")
}

func TestResetAllBeginsAnew(t *testing.T) {
	t.Parallel()
	w := new(objstoretest.Memory)
	s, err := review(t, w).Edit(w, slices.Concat(mail("check", 2), []snapshot.Change{
		signal(0, "go"), {Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: []byte(`{"x":1}`)}, output("other", "gone", 3, `1`),
	}))
	require.NoError(t, err)
	changes, err := reset.All(s)
	require.NoError(t, err)
	s, err = s.Edit(w, changes)
	require.NoError(t, err)
	assert.Equal(t, "(check0) (draft0) (log0) (plan0) (ship0) (tally0) review=0,false", outline(t, s))
	assert.Empty(t, s.Tables())
	assert.Zero(t, s.Approvals().Len()+s.HumanRequests().Len()+s.Signals().Len()+s.Waits().Len())
	kept, err := s.Input()
	require.NoError(t, err)
	assert.Equal(t, `{"x":1}`, string(kept))

	again, err := reset.All(s)
	require.NoError(t, err)
	assert.Empty(t, again)
}

func TestResetReachesExactlyWhatNeedsIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		const n = 8
		w := new(objstoretest.Memory)
		var needs [n][]int
		var changes []snapshot.Change
		for i := range n {
			var names []string
			for j := range n { // cycles too: a reset must end
				if j != i && rapid.IntRange(0, 5).Draw(rt, "needs") == 0 {
					needs[i] = append(needs[i], j)
					names = append(names, fmt.Sprint("n", j))
				}
			}
			changes = append(changes, done(fmt.Sprint("n", i), 0, "", names...)...)
		}
		s := stateWith(rt, w, changes...)
		reached := make([]bool, n)
		var names []string
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, 3, rapid.ID).Draw(rt, "reset") {
			reached[i] = true
			names = append(names, fmt.Sprint("n", i))
		}
		for range n {
			for i := range n {
				reached[i] = reached[i] || slices.ContainsFunc(needs[i], func(j int) bool { return reached[j] })
			}
		}
		resets, err := reset.Nodes(s, names, false)
		require.NoError(rt, err)
		after, err := s.Edit(w, resets)
		require.NoError(rt, err)
		for i := range n {
			value, found, err := after.Nodes().Get(fmt.Sprintf("n%d::0", i))
			require.NoError(rt, err)
			require.True(rt, found)
			row, err := snapshot.DecodeNode(page.Row{Key: fmt.Sprintf("n%d::0", i), Value: value})
			require.NoError(rt, err)
			require.Equal(rt, reached[i], row.State == snapshot.NodePending)
			_, found, err = after.Outputs("t").Get(fmt.Sprintf("n%d::0", i))
			require.NoError(rt, err)
			require.Equal(rt, !reached[i], found)
		}
	})
}
