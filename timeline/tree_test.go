package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// steppedOver makes a run whose frame 5 goes on from frame 1, with forks of frames 1, 3 and 5.
func steppedOver(t *testing.T) *timeline.Store {
	t.Helper()
	s := open(t, repotest.New(t, repotest.Commit))
	head := triage(t, s, "a")
	based := int64(1)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{Based: &based}, Subject: "travelled"}))
	for _, frame := range []string{"1", "3", "5"} {
		_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "a:" + frame, RunID: "of-" + frame})
		require.NoError(t, err)
	}
	return s
}

// forksOf are the forks at each frame of a timeline, by its number.
func forksOf(tree *list.Tree) (frames []int64, forks map[int64][]string) {
	forks = make(map[int64][]string)
	for _, f := range tree.Timeline.Frames {
		frames = append(frames, f.FrameNo)
		for _, fork := range f.Forks {
			forks[f.FrameNo] = append(forks[f.FrameNo], fork.RunID)
		}
	}
	return frames, forks
}

func TestATimelineLeavesOutFramesThatWereSteppedOver(t *testing.T) {
	t.Parallel()
	s := steppedOver(t)
	for _, tree := range []bool{false, true} {
		got, err := list.Timeline(t.Context(), s, "a", list.TreeOptions{Tree: tree})
		require.NoError(t, err)
		frames, forks := forksOf(got)
		assert.Equal(t, []int64{0, 1, 5}, frames)
		assert.Equal(t, map[int64][]string{1: {"of-1", "of-3"}, 5: {"of-5"}}, forks, "a fork of a dropped frame stands before what stepped over it")
		assert.EqualValues(t, 3, got.Timeline.Frames[1].Forks[1].ParentFrameNo)
		if tree {
			assert.Len(t, got.Children, 3)
		}
	}
}

func TestATimelineOfAllHasEveryFrameAndSaysWhichAreDropped(t *testing.T) {
	t.Parallel()
	s := steppedOver(t)
	got, err := list.Timeline(t.Context(), s, "a", list.TreeOptions{All: true})
	require.NoError(t, err)
	_, forks := forksOf(got)
	assert.Equal(t, map[int64][]string{1: {"of-1"}, 3: {"of-3"}, 5: {"of-5"}}, forks)
	var dropped []bool
	var based []int64
	for _, f := range got.Timeline.Frames {
		dropped = append(dropped, f.Dropped)
		if f.BasedOn == nil {
			based = append(based, snapshot.NoFrame)
			continue
		}
		based = append(based, *f.BasedOn)
	}
	assert.Equal(t, []bool{false, false, true, true, true, false}, dropped)
	assert.Equal(t, []int64{snapshot.NoFrame, 0, 1, 2, 3, 1}, based)
}

func TestATimelineKeepsForksOfWhatAllOfItsFramesCameAfter(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	head := triage(t, s, "a")
	none := snapshot.NoFrame
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{Based: &none}, Subject: "travelled"}))
	_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "a:0", RunID: "child"})
	require.NoError(t, err)

	got, err := list.Timeline(t.Context(), s, "a", list.TreeOptions{})

	require.NoError(t, err)
	frames, forks := forksOf(got)
	assert.Equal(t, []int64{5}, frames)
	assert.Nil(t, got.Timeline.Frames[0].BasedOn)
	assert.Equal(t, map[int64][]string{5: {"child"}}, forks)
}
