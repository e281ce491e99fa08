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

// The newest frames of a long run are read alone: what the list says of them is the same.
func TestTheNewestFramesOfALongRunAreThoseOfTheWholeTimeline(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Env = append(repo.Env, "GIT_SMITHERS_FSYNC=0")
	s := open(t, repo)
	head := running(t, s, "long")
	for no := range int64(1050) {
		draft := snapshot.Draft{Frame: new(snapshot.FrameDraft), AtMs: 1_700_000_000_000 + no*1000}
		if no%300 == 0 || no == 1040 {
			row := snapshot.EncodeAttempt(snapshot.Attempt{
				NodeID: "a", Attempt: int(no) + 1, State: snapshot.AttemptFailed, StartedAtMs: draft.AtMs - 500, FinishedAtMs: new(draft.AtMs - 1),
			})
			draft.Journal = []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value}}
		}
		require.NoError(t, head.Append(t.Context(), draft))
	}
	for _, frame := range []string{"5", "1000", "1047"} {
		_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "long:" + frame, RunID: "of-" + frame})
		require.NoError(t, err)
	}
	for _, limit := range []int{1, 10, 51, 5000} {
		newest, err := list.Timeline(t.Context(), s, "long", list.TreeOptions{Limit: limit})
		require.NoError(t, err)
		whole, err := list.Timeline(t.Context(), s, "long", list.TreeOptions{Limit: limit, SinceMs: 1}) // reads all frames
		require.NoError(t, err)
		assert.Equal(t, whole.Timeline.Frames, newest.Timeline.Frames)
		assert.Equal(t, whole.Timeline.LeftOut, newest.Timeline.LeftOut)
		older := func(run *list.RunTimeline) (forks []list.ForkInfo) {
			for _, f := range run.Older() {
				forks = append(forks, f.Forks...)
			}
			return forks
		}
		assert.Equal(t, older(&whole.Timeline), older(&newest.Timeline))
		want, err := list.Effects(t.Context(), &whole.Timeline)
		require.NoError(t, err)
		got, err := list.Effects(t.Context(), &newest.Timeline)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}
