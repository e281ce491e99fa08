package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

func newEntriesAreSound(t *testing.T, s *timeline.Store, head *timeline.Head, until objstore.ID) {
	t.Helper()
	found, err := verify.Entries(t.Context(), s, head.Row().ID, head.Entry().ID, until, nil)
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestNewEntriesAreCheckedFromAnyEntryOfTheRunOn(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	head := triage(t, s, "one")
	old := head.Entry().ID
	op := snapshot.Op{Number: 1, Kind: snapshot.OpTravel, AtMs: 1, Before: old, NodeID: "a", Attempt: 1, Frame: new(int64(3)), To: new(int64(1))}
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{}))
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Journal: []snapshot.Change{opRow(op)}}))
	newEntriesAreSound(t, s, head, objstore.ID{})
	for entry, err := range s.Chain(head.Entry()) {
		require.NoError(t, err)
		newEntriesAreSound(t, s, head, entry.ID)
	}
	fork, err := s.Fork(t.Context(), timeline.ForkRequest{From: "one:2", RunID: "child"})
	require.NoError(t, err)
	newEntriesAreSound(t, s, fork, objstore.ID{})
	reset, err := s.Fork(t.Context(), timeline.ForkRequest{From: "one:4", RunID: "reset", Nodes: []string{"a"}})
	require.NoError(t, err)
	newEntriesAreSound(t, s, reset, objstore.ID{})
	ofFork, err := s.Fork(t.Context(), timeline.ForkRequest{From: "child:0", RunID: "grandchild"})
	require.NoError(t, err)
	newEntriesAreSound(t, s, ofFork, objstore.ID{})
}

func TestAnOpOfANewEntryIsCheckedAgainstWhatIsKnown(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	foreign := triage(t, s, "other").Entry().ID
	head := triage(t, s, "one")
	known := head.Entry().ID
	op := snapshot.Op{Number: 1, Kind: snapshot.OpTravel, AtMs: 1, Before: foreign, NodeID: "a", Attempt: 1, Frame: new(int64(3)), To: new(int64(1))}
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Journal: []snapshot.Change{opRow(op)}}))
	repo.Damaged()
	found, err := verify.Entries(t.Context(), s, "one", head.Entry().ID, known, nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].What, "which is not an earlier entry")
}

func TestNewEntriesThatDoNotGoOnFromWhatIsKnown(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t))
	elsewhere := triage(t, s, "other").Entry().ID
	head := triage(t, s, "one")
	found, err := verify.Entries(t.Context(), s, "one", head.Entry().ID, elsewhere, nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].What, "does not continue")
	found, err = verify.Entries(t.Context(), s, "other", head.Entry().ID, objstore.ID{}, nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].What, `belongs to run "one"`)
}
