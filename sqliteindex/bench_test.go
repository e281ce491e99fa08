package sqliteindex_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// populate makes runs by writing their commits alone: what an index reads.
func (w *world) populate(b *testing.B, runs, frames int) {
	b.Helper()
	batch := w.objects.Begin()
	var packed strings.Builder
	packed.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for i := range runs {
		name := fmt.Sprintf("run-%06d", i)
		first, err := snapshot.Append(batch, snapshot.NewFrameCache(1), nil, w.first(name))
		require.NoError(b, err)
		header, id := first.Header, first.ID
		for range frames - 1 {
			header.Parent, header.Frame, header.AtMs = id, header.Frame+1, header.AtMs+1000
			id = batch.Add(objstore.Commit, snapshot.EncodeHeader(header))
		}
		// The first frame's run.json goes with an entry that is not a frame.
		header.Parent, header.Frame = id, snapshot.NoFrame
		id = batch.Add(objstore.Commit, snapshot.EncodeHeader(header))
		component, err := refs.EscapeRun(name)
		require.NoError(b, err)
		fmt.Fprintf(&packed, "%v refs/smithers/_tip/%s\n", id, component)
	}
	require.NoError(b, batch.Commit(context.Background(), func() error { return nil }))
	writeFile(b, filepath.Join(w.GitDir, "packed-refs"), packed.String())
}

// BenchmarkSyncNothingToDo is what every command pays.
func BenchmarkSyncNothingToDo(b *testing.B) {
	w := newWorld(b)
	w.populate(b, 1000, 1)
	x := w.index(b)
	require.NoError(b, x.Sync(b.Context()))
	for b.Loop() {
		require.NoError(b, x.Sync(b.Context()))
	}
}

// BenchmarkTimeline is what a timeline of one run takes of the index, opening
// and closing included.
func BenchmarkTimeline(b *testing.B) {
	w := newWorld(b)
	w.populate(b, 1000, 100)
	x, err := sqliteindex.Open(b.Context(), w.options())
	require.NoError(b, err)
	require.NoError(b, x.Sync(b.Context()))
	require.NoError(b, x.Close())
	for b.Loop() {
		x, err := sqliteindex.Open(b.Context(), w.options())
		require.NoError(b, err)
		require.NoError(b, x.Sync(b.Context()))
		_, ok, err := x.Run(b.Context(), "run-000500")
		require.NoError(b, err)
		require.True(b, ok)
		frames, err := x.Frames(b.Context(), "run-000500")
		require.NoError(b, err)
		require.Len(b, frames, 100)
		_, err = x.Children(b.Context(), "run-000500")
		require.NoError(b, err)
		require.NoError(b, x.Close())
	}
}

// BenchmarkRebuild reads 10,000 frames from their commits.
func BenchmarkRebuild(b *testing.B) {
	w := newWorld(b)
	w.populate(b, 100, 100)
	x := w.index(b)
	frames := 0
	for b.Loop() {
		stats, err := x.Rebuild(b.Context(), nil)
		require.NoError(b, err)
		frames += stats.Frames
	}
	b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "frames/s")
}

// BenchmarkRebuildOfCaptures reads 10,000 frames each of which has an attempt and
// a working copy of its own.
func BenchmarkRebuildOfCaptures(b *testing.B) {
	w := newWorld(b)
	w.quick = true
	for i := range 100 {
		drafts := []snapshot.Draft{w.first(fmt.Sprintf("run-%06d", i))}
		for n := range 99 {
			draft := attemptDraft(snapshot.Attempt{NodeID: fmt.Sprintf("task-%d", n), Attempt: 1, State: snapshot.AttemptFinished})
			draft.VCS = atJJ("kxyzkxyzkxyz", fmt.Sprintf("%02x%02x", i, n)).VCS
			drafts = append(drafts, draft)
		}
		w.setTip(b, fmt.Sprintf("run-%06d", i), w.write(b, nil, drafts...).ID)
	}
	x := w.index(b)
	frames := 0
	for b.Loop() {
		stats, err := x.Rebuild(b.Context(), nil)
		require.NoError(b, err)
		frames += stats.Frames
	}
	b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "frames/s")
}

// thousand is a run of 1,000 frames of fifty nodes, one of which each frame changes, with an
// output and events.
func (w *world) thousand(b *testing.B) *snapshot.Entry {
	b.Helper()
	const frames, nodes = 1000, 50
	first := w.workflowDraft("run", "w", map[string]string{"out": object("text:string", "n:number")})
	for i := range nodes {
		first.Frame.State = append(first.Frame.State, setNode(snapshot.Node{NodeID: fmt.Sprintf("node-%d", i), State: snapshot.NodePending, OutputTable: "out"}))
	}
	drafts := []snapshot.Draft{first}
	for i := range frames - 1 {
		id, iteration := fmt.Sprintf("node-%d", i%nodes), i/nodes
		draft := stateDraft(setNode(snapshot.Node{NodeID: id, Iteration: iteration, State: snapshot.NodeFinished, OutputTable: "out"}),
			setOutput("out", id, iteration, fmt.Sprintf(`{"text":%q,"n":%d}`, strings.Repeat("x", 200), i)))
		draft.Frame.Silent = false
		draft.Events = []snapshot.Event{event("NodeStarted", 1, `{"runId":"run","nodeId":"`+id+`"}`), event("NodeFinished", 2, `{"runId":"run","nodeId":"`+id+`"}`)}
		drafts = append(drafts, draft)
	}
	return w.run(b, "run", drafts...)
}

// BenchmarkSyncDetails reads the details of a run of 1,000 frames for the first time.
func BenchmarkSyncDetails(b *testing.B) {
	w := newWorld(b)
	w.thousand(b)
	for b.Loop() {
		b.StopTimer()
		x, err := sqliteindex.Open(b.Context(), sqliteindex.Options{Path: filepath.Join(b.TempDir(), "index.db"), Refs: w.refs, Objects: w.objects})
		require.NoError(b, err)
		require.NoError(b, x.Sync(b.Context()))
		b.StartTimer()
		require.NoError(b, x.SyncDetails(b.Context(), "run"))
		b.StopTimer()
		require.NoError(b, x.Close())
		b.StartTimer()
	}
}

// BenchmarkSyncDetailsOfOneFrame is what following a run of 1,000 frames costs a frame.
func BenchmarkSyncDetailsOfOneFrame(b *testing.B) {
	w := newWorld(b)
	w.quick = true
	tip := w.thousand(b)
	x := w.index(b)
	require.NoError(b, x.SyncDetails(b.Context(), "run"))
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		tip = w.extend(b, tip, stateDraft(setNode(snapshot.Node{NodeID: "node-1", State: snapshot.NodeFinished, LastAttempt: &n})))
		b.StartTimer()
		require.NoError(b, x.SyncDetails(b.Context(), "run"))
	}
}
