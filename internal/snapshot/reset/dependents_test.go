package reset_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestDependentsRunAgainAndTheNodesThemselvesStay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		keys []string
		want string
	}{
		{"no node", nil, "check0* check1* check2* draft0* draft1* draft2* log0* plan0* ship0* tally0* review=2,true"},
		{"a node that a loop needs", []string{"plan::0"}, "(check0) (draft0) log0* plan0* (ship0) (tally0) review=0,false"},
		{"a node that nothing needs", []string{"ship::0"}, "check0* check1* check2* draft0* draft1* draft2* log0* plan0* ship0* tally0* review=2,true"},
		{"the last iteration: the loop decides again whether it ends", []string{"check::2"}, "check0* check1* check2* draft0* draft1* draft2* log0* plan0* (ship0) (tally0) review=2,false"},
		{"an earlier iteration: the later ones are removed", []string{"draft::1"}, "check0* (check1) draft0* draft1* log0* plan0* (ship0) (tally0) review=1,false"},
		{"of two, one that needs the other stays, too", []string{"draft::1", "check::1"}, "check0* check1* draft0* draft1* log0* plan0* (ship0) (tally0) review=1,false"},
		{"of two iterations, the later one is removed", []string{"check::1", "check::2"}, "check0* check1* draft0* draft1* log0* plan0* (ship0) (tally0) review=1,false"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := new(objstoretest.Memory)
			before := review(t, w)
			changes, err := reset.Dependents(before, tc.keys)
			require.NoError(t, err)
			after, err := before.Edit(w, changes)
			require.NoError(t, err)
			assert.Equal(t, tc.want, outline(t, after))
		})
	}
	_, err := reset.Dependents(review(t, new(objstoretest.Memory)), []string{"plan"})
	require.ErrorIs(t, err, snapshot.ErrInvalid)
}

func TestDependentsInNestedLoopsRunAgainFromTheirRoundOn(t *testing.T) {
	t.Parallel()
	m := new(objstoretest.Memory)
	before := nestedRounds(t, m)
	changes, err := reset.Dependents(before, []string{"try@@outer=0::1"})
	require.NoError(t, err)
	after, err := before.Edit(m, changes)
	require.NoError(t, err)
	assert.Equal(t, "(end0) prep0 (sum0) try@@outer=00 try@@outer=01 inner@@outer=0=1,false outer=0,false", outline(t, after))
}
