package reset_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestResetNamedIsTheResetOfSmithers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		nodes []string
		want  string
	}{
		{"nothing", nil, "check0* check1* check2* draft0* draft1* draft2* log0* plan0* ship0* tally0* review=2,true"},
		{"a node keeps its output, and what needs it stays", []string{"plan"}, "check0* check1* check2* draft0* draft1* draft2* log0* (plan0*) ship0* tally0* review=2,true"},
		{"all iterations of a node, and its loop stays", []string{"draft"}, "check0* check1* check2* (draft0*) (draft1*) (draft2*) log0* plan0* ship0* tally0* review=2,true"},
		{"one iteration", []string{"draft::1"}, "check0* check1* check2* draft0* (draft1*) draft2* log0* plan0* ship0* tally0* review=2,true"},
		{"several", []string{"log", "check::2", "log"}, "check0* check1* (check2*) draft0* draft1* draft2* (log0*) plan0* ship0* tally0* review=2,true"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := new(objstoretest.Memory)
			before := review(t, m)
			changes, err := reset.Named(before, tc.nodes)
			require.NoError(t, err)
			after, err := before.Edit(m, changes)
			require.NoError(t, err)
			assert.Equal(t, tc.want, outline(t, after))
		})
	}
}

func TestResetNamedLeavesTheMailboxAlone(t *testing.T) {
	t.Parallel()
	m := new(objstoretest.Memory)
	before := stateWith(t, m,
		snapshot.SetNode(snapshot.Node{NodeID: "gate", State: snapshot.NodeFinished, LastAttempt: new(1)}),
		snapshot.SetRow(snapshot.CollectionApprovals, snapshot.EncodeApproval(snapshot.Approval{
			NodeID: "gate", Attempt: 1, Status: snapshot.ApprovalApproved, Title: "Go on?", RequestedAtMs: 1, DecidedAtMs: new(int64(2)),
		})))
	changes, err := reset.Named(before, []string{"gate"})
	require.NoError(t, err)
	after, err := before.Edit(m, changes)
	require.NoError(t, err)
	assert.Equal(t, before.Approvals().ID(), after.Approvals().ID())
	assert.NotEqual(t, before.Nodes().ID(), after.Nodes().ID())
}

func TestForSmithersAnIDEndsAtItsFirstColons(t *testing.T) {
	t.Parallel()
	m := new(objstoretest.Memory)
	before := stateWith(t, m, done("a::b", 0, "")...)
	for _, name := range []string{"a", "a::b", "a::b::0"} {
		changes, err := reset.Named(before, []string{name})
		require.NoError(t, err)
		assert.Len(t, changes, 1, name)
	}
}

func TestANodeThatIsNamedExactlyGivesWayToOneOfThatID(t *testing.T) {
	t.Parallel()
	m := new(objstoretest.Memory)
	before := stateWith(t, m, append(done("a::1", 0, ""), done("a", 1, "")...)...)
	changes, err := reset.Named(before, []string{"a::1"})
	require.NoError(t, err)
	require.Len(t, changes, 1)
	assert.Equal(t, "a::1::0", changes[0].Key)
}

func TestResetNamedRefusesNodesThatAreNotThere(t *testing.T) {
	t.Parallel()
	m := new(objstoretest.Memory)
	for _, name := range []string{"nope", "draft::3", "", "review"} {
		_, err := reset.Named(review(t, m), []string{"plan", name})
		assert.ErrorIs(t, err, reset.ErrUnknownNode, "%q", name)
	}
}
