package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

func TestAFrameThatWasSteppedOverSaysByWhichFrame(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	head := triage(t, s, "one")
	over := func() map[int64]int64 {
		out := make(map[int64]int64)
		for frame := range head.Row().Frame + 1 {
			by, err := timeline.FindSteppedOver(t.Context(), s, timeline.Address{Run: "one", Frame: frame})
			require.NoError(t, err)
			if by != nil {
				out[frame] = by.Frame
			}
		}
		return out
	}
	assert.Empty(t, over())

	back := func(number int, based int64) {
		before := head.Entry().ID
		op := snapshot.Op{Number: number, Kind: snapshot.OpTravel, AtMs: 1, Before: before, NodeID: "a", Attempt: 1}
		require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{Based: &based}, Journal: []snapshot.Change{opRow(op)}}))
	}
	back(1, 1)
	assert.Equal(t, map[int64]int64{2: 5, 3: 5, 4: 5}, over())
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
	assert.Equal(t, map[int64]int64{2: 5, 3: 5, 4: 5}, over())

	// Going on from one of them makes them part of the timeline again.
	back(2, 4)
	assert.Equal(t, map[int64]int64{5: 7, 6: 7}, over())
	back(3, snapshot.NoFrame)
	assert.Equal(t, map[int64]int64{0: 8, 1: 8, 2: 8, 3: 8, 4: 8, 5: 8, 6: 8, 7: 8}, over())
}

// Frame 0 of a fork that changed nothing is its parent's.
func TestFrameZeroOfAForkMayBeSteppedOver(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	triage(t, s, "one")
	head, err := s.Fork(t.Context(), timeline.ForkRequest{From: "one:2", RunID: "child"})
	require.NoError(t, err)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
	by, err := timeline.FindSteppedOver(t.Context(), s, timeline.Address{Run: "child", Frame: 0})
	require.NoError(t, err)
	assert.Nil(t, by)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{Based: new(snapshot.NoFrame)}}))
	by, err = timeline.FindSteppedOver(t.Context(), s, timeline.Address{Run: "child", Frame: 0})
	require.NoError(t, err)
	assert.Equal(t, &timeline.SteppedOver{Frame: 2, Subject: "(no subject)"}, by)
}
