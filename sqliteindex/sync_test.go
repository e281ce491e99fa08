package sqliteindex_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

func TestSyncReadsRunsAndFrames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frame0 := w.write(t, nil, w.first("triage-1"))
	frame1 := w.write(t, frame0, frameDraft())
	tip := w.write(t, frame1, eventDraft(snapshot.RunFinished))
	w.setTip(t, "triage-1", tip.ID)
	x := w.index(t)

	got := synced(t, x)

	row, ok, err := x.Run(t.Context(), "triage-1")
	require.NoError(t, err)
	require.True(t, ok)
	assert.Equal(t, sqliteindex.RunRow{
		RunID: "triage-1", WorkflowName: "triage", Status: "finished", LatestFrame: 1,
		CreatedAtMs: 1_700_000_000_000, UpdatedAtMs: tip.AtMs, Tip: tip.ID,
	}, row)
	assert.Equal(t, []sqliteindex.RunRow{row}, got.Runs)
	assert.Equal(t, []sqliteindex.FrameRow{
		{
			RunID: "triage-1", FrameNo: 0, Commit: frame0.ID, ContentHash: hash(frame0),
			CreatedAtMs: frame0.AtMs, Subject: "run started",
		},
		{
			RunID: "triage-1", FrameNo: 1, Commit: frame1.ID, ContentHash: hash(frame1),
			CreatedAtMs: frame1.AtMs, Subject: "a frame", VCS: "git:0123456789012345678901234567890123456789",
		},
	}, got.Frames["triage-1"])
	assert.Equal(t, sqliteindex.Counts{Runs: 1, Frames: 2}, got.Counts)
	assert.Empty(t, x.Problems())
	assert.NoError(t, x.Degraded())
}

func TestSyncReadsForks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frame0 := w.write(t, nil, w.first("parent"))
	frame1 := w.write(t, frame0, frameDraft())
	frame2 := w.write(t, frame1, frameDraft())
	w.setTip(t, "parent", frame2.ID)
	plain := w.fork(t, "plain", snapshot.Parent{RunID: "parent", Frame: 1, Label: "try", Description: "again"}, frame1, false)
	changed := w.fork(t, "changed", snapshot.Parent{RunID: "parent", Frame: 1}, frame1, true)
	grandchild := w.fork(t, "grandchild", snapshot.Parent{RunID: "plain", Frame: 0}, frame1, false)
	x := w.index(t)

	got := synced(t, x)

	t.Run("frame 0 of a plain fork is the commit of the parent's frame", func(t *testing.T) {
		t.Parallel()
		require.Len(t, got.Frames["plain"], 1)
		assert.Equal(t, frame1.ID, got.Frames["plain"][0].Commit)
		assert.Equal(t, int64(0), got.Frames["plain"][0].FrameNo)
		assert.Equal(t, frame1.ID, got.Frames["grandchild"][0].Commit)
	})
	t.Run("frame 0 of a fork with other state is its own first entry", func(t *testing.T) {
		t.Parallel()
		require.Len(t, got.Frames["changed"], 1)
		assert.Equal(t, changed.ID, got.Frames["changed"][0].Commit)
	})
	t.Run("children are listed with their branch records in the order of forking", func(t *testing.T) {
		t.Parallel()
		children := got.Children["parent"]
		require.Len(t, children, 2)
		assert.Equal(t, plain.ID, children[0].Tip)
		assert.Equal(t, "parent", *children[0].ParentRunID)
		assert.Equal(t, int64(1), *children[0].ParentFrameNo)
		assert.Equal(t, "try", *children[0].BranchLabel)
		assert.Equal(t, "again", *children[0].ForkDescription)
		assert.Less(t, frame2.AtMs, *children[1].ForkedAtMs+1)
		assert.Equal(t, changed.ID, children[1].Tip)
		assert.Nil(t, children[1].BranchLabel)
		require.Len(t, got.Children["plain"], 1)
		assert.Equal(t, grandchild.ID, got.Children["plain"][0].Tip)
	})
	t.Run("the parent's later frames are not the child's", func(t *testing.T) {
		t.Parallel()
		assert.Len(t, got.Frames["parent"], 3)
		assert.Equal(t, sqliteindex.Counts{Runs: 4, Branches: 3, Frames: 6}, got.Counts)
	})
}

func TestSyncNoticesWhatPlainGitDid(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w *world, tip *snapshot.Entry)
		runs int
	}{
		{"nothing", func(*testing.T, *world, *snapshot.Entry) {}, 2},
		{"a tip moved forward", func(t *testing.T, w *world, tip *snapshot.Entry) {
			t.Helper()
			w.setTip(t, "a", w.write(t, tip, frameDraft(), eventDraft(snapshot.RunFailed), frameDraft()).ID)
		}, 2},
		{"a tip moved back", func(t *testing.T, w *world, tip *snapshot.Entry) {
			t.Helper()
			w.setTip(t, "a", tip.Parent)
		}, 2},
		{"a tip moved to another continuation", func(t *testing.T, w *world, tip *snapshot.Entry) {
			t.Helper()
			back, err := snapshot.ReadEntry(w.objects, tip.Parent)
			require.NoError(t, err)
			w.setTip(t, "a", w.write(t, back, frameDraft(), frameDraft()).ID)
		}, 2},
		{"a tip moved to a history of its own", func(t *testing.T, w *world, _ *snapshot.Entry) {
			t.Helper()
			w.setTip(t, "a", w.write(t, nil, w.first("a"), frameDraft()).ID)
		}, 2},
		{"a run deleted", func(t *testing.T, w *world, _ *snapshot.Entry) {
			t.Helper()
			w.dropTip(t, "a")
		}, 1},
		{"a run deleted and another made", func(t *testing.T, w *world, _ *snapshot.Entry) {
			t.Helper()
			w.dropTip(t, "a")
			w.start(t, "c", 2)
		}, 2},
		{"a run fetched from another repository", func(t *testing.T, w *world, _ *snapshot.Entry) {
			t.Helper()
			other := newWorld(t)
			other.clock += 1_000_000
			other.start(t, "fetched", 3)
			w.git(t, "fetch", "--quiet", other.GitDir, "refs/smithers/_tip/*:refs/smithers/_tip/*")
		}, 3},
		{"refs packed", func(t *testing.T, w *world, _ *snapshot.Entry) {
			t.Helper()
			w.git(t, "pack-refs", "--all")
		}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tip := w.start(t, "a", 3)
			w.start(t, "b", 2)
			x := w.index(t)
			synced(t, x)

			tc.do(t, w, tip)

			got := synced(t, x)
			assert.Equal(t, w.truth(t), got)
			assert.Len(t, got.Runs, tc.runs)
			assert.Empty(t, x.Problems())
		})
	}
}

func TestSyncRunReadsThatRunAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(t, "a", 2)
	w.start(t, "b", 2)
	x := w.index(t)

	require.NoError(t, x.SyncRun(t.Context(), "a"))
	got, err := dump(t.Context(), x)
	require.NoError(t, err)
	assert.Equal(t, sqliteindex.Counts{Runs: 1, Frames: 2}, got.Counts)

	assert.Equal(t, w.truth(t), synced(t, x), "a full sync adds the rest")

	w.dropTip(t, "a")
	require.NoError(t, x.SyncRun(t.Context(), "a"))
	require.NoError(t, x.SyncRun(t.Context(), "unknown"))
	_, ok, err := x.Run(t.Context(), "a")
	require.NoError(t, err)
	assert.False(t, ok, "a run without a tip is dropped")
	assert.Equal(t, w.truth(t), synced(t, x))
}
