package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// ends appends a frame in which an attempt ends, without its files.
func ends(t *testing.T, head *timeline.Head, node string) {
	t.Helper()
	row := snapshot.EncodeAttempt(snapshot.Attempt{
		NodeID: node, Attempt: 1, State: snapshot.AttemptFinished, StartedAtMs: 1, FinishedAtMs: new(int64(2)),
	})
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{
		Frame: &snapshot.FrameDraft{}, Subject: node + " finished",
		Journal: []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value}},
	}))
}

func behind(t *testing.T, s *timeline.Store, address string) *files.Behind {
	t.Helper()
	at, err := s.Load(t.Context(), address)
	require.NoError(t, err)
	b, err := files.BehindState(t.Context(), s, at, "")
	require.NoError(t, err)
	return b
}

func TestFilesAreOlderThanTheStateFromWhenAnAttemptEndsUncapturedToTheNextCapture(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startRun(t, s, "run")
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Subject: "a started"}))
	repo.Write("one.txt", "1\n")
	ends(t, head, "a")
	repo.Write("two.txt", "2\n")
	ends(t, head, "b")
	repo.Write("three.txt", "3\n")
	shoot(t, s, head, "captured")

	assert.Nil(t, behind(t, s, "run:0"))
	assert.Nil(t, behind(t, s, "run:1"), "nothing has ended")
	assert.Equal(t, &files.Behind{Frame: 0, Attempts: []string{"a::0::1"}}, behind(t, s, "run:2"))
	assert.Equal(t, &files.Behind{Frame: 0, Attempts: []string{"a::0::1", "b::0::1"}}, behind(t, s, "run:3"))
	assert.Nil(t, behind(t, s, "run:4"), "it has what was there")

	found, err := list.FramesOf(t.Context(), s, list.FrameQuery{Path: "one.txt", Run: "run"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.EqualValues(t, 4, found[0].FrameNo)
	require.NotNil(t, found[0].Since, "the file may be of frame 2")
	assert.EqualValues(t, 0, *found[0].Since)
}
