package smithers_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/timeline"
)

// peerTimeline is what Smithers' own library says about the timelines of a run and its forks.
type peerTimeline struct {
	RunID  string
	Branch *struct {
		RunID, ParentRunID           string
		ParentFrameNo                int64
		BranchLabel, ForkDescription *string
		CreatedAtMs                  int64
	}
	Frames []struct {
		FrameNo, CreatedAtMs int64
		ContentHash          string
		Forks                []struct {
			RunID                        string
			BranchLabel, ForkDescription *string
		}
	}
	Children []peerTimeline
}

// assertSame compares a timeline of ours with that of Smithers. Ours says more: a run has a frame 0,
// before Smithers' first; and where a fork changes nothing, its frame 0 is the very frame that it was
// forked from, with the time of that.
func assertSame(t *testing.T, want peerTimeline, got list.RunTimeline) {
	t.Helper()
	assert.Equal(t, want.RunID, got.RunID)
	if want.Branch != nil {
		b := want.Branch
		assert.EqualExportedValues(t, list.Branch{
			RunID: b.RunID, ParentRunID: b.ParentRunID, ParentFrameNo: b.ParentFrameNo,
			BranchLabel: b.BranchLabel, ForkDescription: b.ForkDescription, CreatedAtMs: b.CreatedAtMs,
		}, *got.Branch)
	}
	frames := got.Frames
	if want.Frames[0].FrameNo == 1 {
		require.Zero(t, frames[0].FrameNo)
		assert.Empty(t, frames[0].Forks)
		frames = frames[1:]
	}
	require.Len(t, frames, len(want.Frames))
	hashes := make(map[string]string)
	for i, w := range want.Frames {
		g := frames[i]
		assert.Equal(t, w.FrameNo, g.FrameNo)
		if w.FrameNo > 0 {
			assert.Equal(t, w.CreatedAtMs, g.CreatedAtMs)
		}
		if before, known := hashes[w.ContentHash]; known {
			assert.Equal(t, before, g.ContentHash, "frame %d is as an earlier one", w.FrameNo)
		}
		hashes[w.ContentHash] = g.ContentHash
		require.Len(t, g.Forks, len(w.Forks))
		for j, f := range w.Forks {
			assert.Equal(t, list.ForkInfo{
				RunID: f.RunID, BranchLabel: f.BranchLabel, ForkDescription: f.ForkDescription, ParentFrameNo: w.FrameNo,
			}, g.Forks[j])
		}
	}
}

// assertSameTree compares the forks of forks, too. Smithers lists them by the frames that they begin at, and we
// by their age.
func assertSameTree(t *testing.T, want peerTimeline, got list.Tree) {
	t.Helper()
	assertSame(t, want, got.Timeline)
	require.Len(t, got.Children, len(want.Children))
	for _, child := range want.Children {
		at := slices.IndexFunc(got.Children, func(c list.Tree) bool { return c.Timeline.RunID == child.RunID })
		require.GreaterOrEqual(t, at, 0, child.RunID)
		assertSameTree(t, child, got.Children[at])
	}
}

func testTimelines(t *testing.T, h *home) {
	t.Helper()
	for _, name := range []string{"run-a", "run-j"} {
		var want peerTimeline
		golden(t, name+"-timeline.json", &want)
		tree, err := list.Timeline(t.Context(), h.Store, name, list.TreeOptions{})
		require.NoError(t, err)
		for i := range tree.Timeline.Frames {
			if len(want.Frames) == 31 && i > 0 && len(want.Frames[i-1].Forks) == 0 {
				tree.Timeline.Frames[i].Forks = nil // the golden was made before the forks
			}
		}
		assertSame(t, want, tree.Timeline)
	}
	tree, err := list.Timeline(t.Context(), h.Store, "run-a", list.TreeOptions{Tree: true})
	require.NoError(t, err)
	var shown struct{ Timeline peerTimeline }
	golden(t, "git-timeline-tree.json", &shown)
	assertSameTree(t, shown.Timeline, *tree)
	var library peerTimeline
	golden(t, "fork-tree.json", &library)
	assertSameTree(t, library, *tree)
}

func testTrees(t *testing.T, h *home) {
	t.Helper()
	for _, name := range []string{"run-a", "run-j"} {
		var want []struct {
			FrameNo int64
			XMLJSON string
		}
		golden(t, name+"-frames-inflated.json", &want)
		require.Len(t, want, 31)
		for _, w := range want {
			tree, err := h.Rendered(h.entry(timeline.Address{Run: name, Frame: w.FrameNo}.String()))
			require.NoError(t, err)
			assert.Equal(t, w.XMLJSON, string(tree), "%s:%d", name, w.FrameNo)
		}
	}
}
