package sqliteindex_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// basedDraft is a frame that goes on from another than the one before it.
func basedDraft(frame int64) snapshot.Draft {
	return snapshot.Draft{Frame: &snapshot.FrameDraft{Based: &frame, Silent: true}, Subject: "travelled"}
}

// live are the numbers of the frames that are not dropped.
func live(tb testing.TB, x *sqliteindex.Index, run string) (numbers []int64) {
	tb.Helper()
	frames, err := x.Frames(tb.Context(), run)
	require.NoError(tb, err)
	for _, f := range frames {
		if !f.Dropped {
			numbers = append(numbers, f.FrameNo)
		}
	}
	return numbers
}

func TestFramesAreDroppedByWhatSteppedOverThem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		then []snapshot.Draft // after frames 0 to 4
		live []int64
	}{
		{"none by frames that go on", []snapshot.Draft{frameDraft(), eventDraft(snapshot.RunRunning)}, []int64{0, 1, 2, 3, 4, 5}},
		{"those between a frame and the one that it is based on", []snapshot.Draft{basedDraft(1)}, []int64{0, 1, 5}},
		{"and what goes on from there drops no more", []snapshot.Draft{basedDraft(1), frameDraft()}, []int64{0, 1, 5, 6}},
		{"a travel within what a travel left", []snapshot.Draft{basedDraft(1), frameDraft(), basedDraft(0)}, []int64{0, 7}},
		{"an undo brings them back", []snapshot.Draft{basedDraft(1), basedDraft(4)}, []int64{0, 1, 2, 3, 4, 6}},
		{"all by a frame that is based on none", []snapshot.Draft{basedDraft(snapshot.NoFrame)}, []int64{5}},
		{"and an undo of that brings back all", []snapshot.Draft{basedDraft(snapshot.NoFrame), basedDraft(4)}, []int64{0, 1, 2, 3, 4, 6}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tip := w.start(t, "a", 5)
			stepwise := w.index(t)
			synced(t, stepwise)
			for _, draft := range tc.then {
				tip = w.extend(t, tip, draft)
				synced(t, stepwise)
			}

			got := synced(t, stepwise)

			assert.Equal(t, tc.live, live(t, stepwise, "a"))
			assert.Equal(t, w.truth(t), got, "and so a rebuild says")
		})
	}
}

func TestAFrameSaysWhatItIsBasedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tip := w.extend(t, w.start(t, "a", 4), basedDraft(1))
	w.fork(t, "child", snapshot.Parent{RunID: "a", Frame: 4}, tip, false)
	x := w.index(t)
	got := synced(t, x)

	assert.Equal(t, new(int64(1)), got.Frames["a"][4].Based)
	assert.Nil(t, got.Frames["a"][3].Based)
	dropped, ok, err := x.Frame(t.Context(), "a", 2)
	require.NoError(t, err)
	require.True(t, ok, "an address still finds a frame that was dropped")
	assert.True(t, dropped.Dropped)
	require.Len(t, got.Frames["child"], 1)
	assert.Nil(t, got.Frames["child"][0].Based, "frame 0 of a fork goes on from none, whatever the parent's frame did")
	assert.False(t, got.Frames["child"][0].Dropped)
}

// TestDroppedFramesFollowFromTheChain compares with the rule itself: live is the newest
// frame, the one it is based on, and so on.
func TestDroppedFramesFollowFromTheChain(t *testing.T) {
	t.Parallel()
	repotest.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.quick = true
		x := w.index(t)
		tip := w.start(t, "a", 1)
		based := []int64{snapshot.NoFrame}
		rt.Repeat(map[string]func(*rapid.T){
			"frame": func(*rapid.T) {
				based = append(based, int64(len(based)-1))
				tip = w.extend(t, tip, frameDraft())
			},
			"travel": func(rt *rapid.T) {
				to := rapid.Int64Range(snapshot.NoFrame, int64(len(based)-1)).Draw(rt, "to")
				based = append(based, to)
				tip = w.extend(t, tip, basedDraft(to))
			},
			"sync": func(*rapid.T) { require.NoError(t, x.Sync(t.Context())) },
		})
		var want []int64
		for no := int64(len(based) - 1); no != snapshot.NoFrame; no = based[no] {
			want = append([]int64{no}, want...)
		}
		require.NoError(t, x.Sync(t.Context()))
		require.Equal(t, want, live(t, x, "a"))
	})
}

func TestAForkThatWasUndoneIsNobodysChild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tip := w.start(t, "a", 2)
	w.fork(t, "kept", snapshot.Parent{RunID: "a", Frame: 1}, tip, false)
	undone := w.fork(t, "undone", snapshot.Parent{RunID: "a", Frame: 1}, tip, false)
	w.extend(t, undone, snapshot.Draft{Subject: "undone", Run: func(r *snapshot.Run) { r.Parent.Undone = true }})
	x := w.index(t)
	got := synced(t, x)

	require.Len(t, got.Children["a"], 1)
	assert.Equal(t, "kept", got.Children["a"][0].RunID)
	all, err := x.AllChildren(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.True(t, all[1].ForkUndone)
	assert.Equal(t, sqliteindex.Counts{Runs: 3, Branches: 1, Frames: 4}, got.Counts)
}
