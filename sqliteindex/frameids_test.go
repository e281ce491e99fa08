package sqliteindex_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// idDraft is a frame with ids that goes on from the frame based; nil: from the one before it.
func idDraft(based *int64, ids ...string) snapshot.Draft {
	return snapshot.Draft{Frame: &snapshot.FrameDraft{Based: based, IDs: ids, Silent: true}}
}

func TestTheIndexHasTheIDsOfFrames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.index(t)
	tip := w.start(t, "a", 1)
	synced(t, x)
	odd := []string{"@", "a,b", "nul\x00", "é:1"}
	tip = w.extend(t, tip, idDraft(nil, odd...))
	got := synced(t, x)
	assert.Nil(t, got.Frames["a"][0].IDs)
	assert.Equal(t, odd, got.Frames["a"][1].IDs)
	assert.Equal(t, w.truth(t), got, "and so a rebuild says")

	w.fork(t, "child", snapshot.Parent{RunID: "a", Frame: 1}, tip, false)
	w.fork(t, "changed", snapshot.Parent{RunID: "a", Frame: 1}, tip, true)
	got = synced(t, x)
	assert.Equal(t, odd, got.Frames["child"][0].IDs, "frame 0 is the parent's frame itself")
	assert.Nil(t, got.Frames["changed"][0].IDs)

	require.NoError(t, x.SyncDetails(t.Context()))
	answer, err := x.Query(t.Context(), "SELECT frame_no, id FROM _smithers_frame_ids WHERE run_id = 'child' ORDER BY id LIMIT 2")
	require.NoError(t, err)
	assert.Equal(t, [][]any{{int64(0), "@"}, {int64(0), "a,b"}}, answer.Rows, "so have the details")

	w.dropTip(t, "child")
	require.NoError(t, x.SyncDetails(t.Context()))
	answer, err = x.Query(t.Context(), "SELECT DISTINCT run_id FROM _smithers_frame_ids")
	require.NoError(t, err)
	assert.Equal(t, [][]any{{"a"}}, answer.Rows, "rows of a run that is gone are gone")
}

// TestTheIndexFindsTheNewestFrameThatCounts compares with the rule itself: from a frame to the one it is based on, and so
// on.
func TestTheIndexFindsTheNewestFrameThatCounts(t *testing.T) {
	t.Parallel()
	repotest.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.quick = true
		x := w.index(t)
		tip := w.start(t, "a", 1)
		based, ids := []int64{snapshot.NoFrame}, [][]string{nil}
		for i := range int64(rapid.IntRange(1, 12).Draw(rt, "frames")) {
			to := rapid.Int64Range(snapshot.NoFrame, i).Draw(rt, "based")
			if rapid.Bool().Draw(rt, "goes on") {
				to = i
			}
			has := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 2, rapid.ID[string]).Draw(rt, "ids")
			based, ids = append(based, to), append(ids, has)
			tip = w.extend(t, tip, idDraft(&to, has...))
		}
		require.NoError(t, x.Sync(t.Context()))
		for from := range int64(len(based)) {
			for _, id := range []string{"x", "y", "z"} {
				counts := map[int64]bool{}
				want, dropped := snapshot.NoFrame, snapshot.NoFrame
				for no := from; no != snapshot.NoFrame; no = based[no] {
					counts[no] = true
					if slices.Contains(ids[no], id) {
						want = max(want, no)
					}
				}
				for no := range from {
					if slices.Contains(ids[no], id) && !counts[no] && no > want {
						dropped = no
					}
				}
				frame, over, err := x.FrameWithID(t.Context(), "a", id, from)
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(want, dropped), fmt.Sprint(frame, over), "%s from %d: based on %v, ids %v", id, from, based, ids)
			}
		}
	})
}
