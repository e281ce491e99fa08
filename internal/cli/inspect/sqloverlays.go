package inspect

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// stateTable is the table to which --with-state adds stateColumns.
const stateTable = "_smithers_snapshots"

func stateColumns() []string {
	return []string{"nodes_json", "outputs_json", "ralph_json", "input_json"}
}

// sqlOverlays returns what a query finds beyond the index: heartbeats; rendered trees, if it asks for them or opts name a run; and the states
// of that run.
func sqlOverlays(ctx context.Context, store *timeline.Store, index *sqliteindex.Index, opts sqlOptions) (overlays []sqliteindex.Overlay, err error) {
	var runs, trees []sqliteindex.RunRow // trees are the runs whose trees the query finds
	asksTrees := sqliteindex.Names(opts.query, "xml_json")
	if asksTrees || sqliteindex.Names(opts.query, "_smithers_runs") { // other queries do not pay for it
		if runs, err = index.Runs(ctx); err != nil {
			return nil, err
		}
	}
	if asksTrees {
		trees = runs
	}
	if opts.stateOf != "" {
		run, err := store.ResolveRun(ctx, opts.stateOf)
		if err != nil {
			return nil, err
		}
		of := []sqliteindex.RunRow{{RunID: run}}
		overlay, err := frameOverlay(ctx, store, index, of, stateTable, stateColumns(), stateTexts)
		if err != nil {
			return nil, err
		}
		if overlays = append(overlays, overlay); trees == nil {
			trees = of
		}
	}
	overlay, err := frameOverlay(ctx, store, index, trees, "_smithers_frames", []string{"xml_json"}, func(_ string, e *snapshot.Entry) ([]any, error) {
		tree, err := store.Rendered(e)
		return []any{string(tree)}, err // "null" without one, as in Smithers
	})
	var beats [][]any
	for _, run := range runs {
		if at := store.Owner(snapshot.Run{ID: run.RunID, Owner: run.Owner}).BeatAt; !at.IsZero() {
			beats = append(beats, []any{run.RunID, at.UnixMilli()})
		}
	}
	return append(overlays, overlay, sqliteindex.Overlay{
		Table: "_smithers_runs", Key: []string{"run_id"}, Columns: []string{"heartbeat_at_ms"}, Count: len(beats),
		Row: func(i int) ([]any, error) { return beats[i], nil },
	}), err
}

// frameOverlay returns an overlay of a table of frames: for each frame of runs, what values returns of its run and entry.
func frameOverlay(ctx context.Context, store *timeline.Store, index *sqliteindex.Index, runs []sqliteindex.RunRow, table string, columns []string,
	values func(run string, e *snapshot.Entry) ([]any, error),
) (sqliteindex.Overlay, error) {
	var frames []sqliteindex.FrameRow
	for _, run := range runs {
		of, err := index.Frames(ctx, run.RunID)
		if err != nil {
			return sqliteindex.Overlay{}, err
		}
		frames = append(frames, of...)
	}
	row := func(i int) (got []any, err error) {
		entry, err := snapshot.ReadEntry(store.Objects(), frames[i].Commit)
		if err == nil {
			got, err = values(frames[i].RunID, entry)
		}
		return slices.Concat([]any{frames[i].RunID, frames[i].FrameNo}, got), timeline.Explain(err)
	}
	return sqliteindex.Overlay{Table: table, Key: []string{"run_id", "frame_no"}, Columns: columns, Count: len(frames), Row: row}, nil
}

// stateTexts returns the state of a frame in Smithers' form.
func stateTexts(run string, e *snapshot.Entry) ([]any, error) {
	state, err := e.State()
	if err != nil {
		return nil, err
	}
	whole, err := contents.WholeOf(state)
	if err != nil {
		return nil, err
	}
	texts, err := contents.Write(run, whole, nil, contents.Layout{}, contents.Shape{})
	return []any{texts.Nodes, texts.Outputs, texts.Ralph, texts.Input}, err
}
