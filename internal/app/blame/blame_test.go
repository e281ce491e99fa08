package blame_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/blame"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Anybody can write the message of a commit: git blame would walk in such a circle for ever.
func TestAFrameThatDescendsFromTheCommitThatClaimsToLandItHasNotWrittenItsLines(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := newWorld(t, 7)
	claim := "Smithers-Frame: run-0:1\nSmithers-Frame: run-1:1"
	w.commit(claim, append(w.lines(2), w.main.lines...))
	first := w.main
	w.commit(claim, append(w.lines(2), w.main.lines...))
	for range 2 { // each frame descends from both commits
		w.begin()
		c := w.runs[len(w.runs)-1]
		w.append(c, w.edit(c.first), w.main, nil)
	}
	for _, one := range []*version{first, w.main} {
		file, err := blame.NewReader(w.s).File(ctx, blame.Query{Path: path, Revision: one.commit, Lines: []string{"1,2"}})
		require.NoError(t, err)
		require.Len(t, file.Ranges, 1)
		assert.Equal(t, one.commit, file.Ranges[0].Writer.Commit)
	}
	file, err := blame.NewReader(w.s).File(ctx, blame.Query{Path: path, Revision: "run-1"})
	require.NoError(t, err)
	assert.NotEmpty(t, file.Ranges)
}

func TestALineOfALateCaptureMayBeOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.begin()
	c := w.runs[0]
	ended := func(node string) snapshot.Change {
		return snapshot.SetRow(snapshot.CollectionAttempts, snapshot.EncodeAttempt(snapshot.Attempt{NodeID: node, Attempt: 1, State: snapshot.AttemptFinished, StartedAtMs: 1, FinishedAtMs: &w.now}))
	}
	require.NoError(t, c.head.Append(t.Context(), snapshot.Draft{
		Frame: new(snapshot.FrameDraft), Subject: "early finished", Journal: []snapshot.Change{ended("early")},
	}))
	draft := w.draft(append(w.lines(1), c.first...), w.main)
	draft.Journal = []snapshot.Change{ended("late")}
	require.NoError(t, c.head.Append(t.Context(), draft))

	file, err := blame.NewReader(w.s).File(t.Context(), blame.Query{Path: path, Revision: "run-0", Lines: []string{"1,1"}})
	require.NoError(t, err)
	require.Len(t, file.Ranges, 1)
	by := file.Ranges[0].Writer
	assert.Equal(t, "run-0:2", by.Address().String())
	require.NotNil(t, by.Since)
	assert.Zero(t, *by.Since, "early had ended at frame 1, which has the files of frame 0")
	assert.Equal(t, []blame.Attempt{{NodeID: "early", Attempt: 1}, {NodeID: "late", Attempt: 1}}, by.Attempts)
}
