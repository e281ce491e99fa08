package export

import (
	"fmt"
	"maps"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// NoTree is the text of the rendered tree of a frame without a tree.
const NoTree = "null"

// writeSnapshots writes the snapshots of the frames from the run's first frame to its newest frame. It skips
// frames that were dropped, and frames that Smithers never had. It returns the run's rows of _smithers_frames,
// which the caller writes. It adds to x.facts.Frames and x.heads, and reports progress.
func (x *runExport) writeSnapshots() (rendered []source.Row, err error) {
	frames, err := stored.FramesOf(x.store, x.Entry)
	if err != nil {
		return nil, err
	}
	peers, err := x.signalSeqs()
	if err != nil {
		return nil, err
	}
	w := &frameWriter{runExport: x, peers: peers, snapshots: x.ownTable(tables.Snapshots), frames: x.ownTable(tables.Frames)}
	line := stored.LineTo(frames, int64(len(frames)-1))
	for i, f := range line {
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
		if x.peerNo(f.Number) != tables.NoNumber {
			if err := w.write(f); err != nil {
				return nil, fmt.Errorf("frame %d: %w", f.Number, err)
			}
		}
		if x.req.Progress != nil {
			x.req.Progress(x.Row.ID, i+1, len(line))
		}
	}
	return w.rendered, nil
}

// ownTable returns the table of Smithers with the given name, as it was in the database from which the run came.
// If the run has no such table, ownTable returns the table of Smithers 0.32.0, or else a table without columns.
func (x *runExport) ownTable(name string) source.Table {
	if table, ok := x.schema[name]; ok {
		return table
	}
	for _, table := range x.own {
		if table.Name == name {
			return table
		}
	}
	return source.Table{Name: name}
}

// signalSeqs returns Smithers' numbers of the run's signals, by digest. It cannot use git-smithers' numbers:
// the numbers of signals that were sent in this repository change when Smithers receives other signals.
func (x *runExport) signalSeqs() (map[string]int64, error) {
	rows, err := x.rows(x.ownTable(tables.Signals))
	if err != nil {
		return nil, err
	}
	peers := make(map[string]int64)
	for _, row := range rows {
		s, ok := tables.ReadSignal(row)
		if _, known := peers[s.Digest()]; ok && !known {
			peers[s.Digest()] = row["seq"].Int
		}
	}
	return peers, nil
}

// peerNo returns Smithers' number of a frame, or tables.NoNumber if Smithers never had the frame. If the run
// was never imported, peerNo returns frame: the data in ext/smithers of such a fork is about the frames of its
// parent.
func (x *runExport) peerNo(frame int64) int64 {
	if x.Imported {
		return x.Peer.PeerNo(frame)
	}
	return frame
}

// frameWriter writes the frames of a run, in order.
type frameWriter struct {
	*runExport

	peers             map[string]int64 // Smithers' numbers of signals, by digest
	snapshots, frames source.Table
	rendered          []source.Row // the collected rows of _smithers_frames

	snapshot, frame source.Row // the rows of the frame before; nil before the first frame
	tree            string     // the rendered tree of the frame before
}

// write writes the snapshot of the frame f, and collects the frame's row of _smithers_frames in w.rendered. It
// adds the frame to w.facts.Frames.
func (w *frameWriter) write(f stored.Frame) error {
	var about stored.FrameRow // the frame's row in ext/smithers/frames; empty if the run was never imported
	if w.Imported {
		about = w.Peer.Frames[f.Number]
	}
	texts, err := w.texts(f, about)
	if err != nil {
		return err
	}
	tree, err := w.store.Rendered(f.Entry)
	if err != nil {
		return err
	}
	known := tables.FrameFacts{
		Frame: f.Number, PeerNo: w.peerNo(f.Number), AtMs: f.Entry.AtMs, ContentHash: source.ContentHash(texts),
	}
	if string(tree) != NoTree {
		known.Tree, known.XMLHash = string(tree), source.XMLHash(string(tree))
	}
	w.facts.Frames = append(w.facts.Frames, known)
	if err := w.writeSnapshot(known, about, texts); err != nil {
		return err
	}
	return w.writeFrame(known, about)
}

// lonelyFrames returns the rows of _smithers_frames that have no snapshot. If the run has changed since its
// import, it returns nil, because Smithers continues such a run from its newest snapshot.
func (x *runExport) lonelyFrames() ([]source.Row, error) {
	over := x.Peer.Tables[tables.Frames]
	if !x.Exact || len(over) == 0 {
		return nil, nil
	}
	return dbrow.Restore(x.ownTable(tables.Frames), nil, over, x.Row.ID, dbrow.Root(x.req.Root))
}

// texts returns the texts of the snapshot of f in Smithers' form. about is the frame's row in
// ext/smithers/frames, with the differences from the predicted texts. texts ignores signals to which Smithers
// gave no number.
func (w *frameWriter) texts(f stored.Frame, about stored.FrameRow) (source.Contents, error) {
	state, err := f.Entry.State()
	if err != nil {
		return source.Contents{}, err
	}
	whole, err := contents.WholeOf(state)
	if err != nil {
		return source.Contents{}, err
	}
	var signals []contents.SignalSeq
	for _, s := range whole.Signals {
		if peer, known := w.peers[s.Digest()]; known {
			signals = append(signals, contents.SignalSeq{Seq: s.Seq, Peer: peer})
		}
	}
	var differs contents.Shape
	if about.Shape != nil {
		differs = *about.Shape
	}
	return contents.Write(w.Row.ID, whole, signals, w.Peer.Layout, differs)
}

// writeSnapshot writes the row of a frame's snapshot, and the snapshot's texts. known has the facts of the
// frame, and about is the frame's row in ext/smithers/frames. If Smithers had no row for the snapshot,
// writeSnapshot writes nothing.
//
// The database usually stores each text once, by its hash, and all runs share the text. In three cases the
// texts are in the row itself:
//
//   - The run was never imported.
//   - Smithers' row had the texts.
//   - The database has other texts under the same hash. An imported hash need not match its texts.
func (w *frameWriter) writeSnapshot(known tables.FrameFacts, about stored.FrameRow, texts source.Contents) error {
	predicted := tables.PredictSnapshot(known, w.snapshot)
	// The prediction copies the pointer from the previous row, but there is no row before the first.
	if !w.Imported && w.snapshot == nil {
		predicted["vcs_pointer"] = dbrow.OptionalText(w.facts.Run.VCSRevision)
	}
	row, err := dbrow.RestoreOne(tables.WithoutContents(w.snapshots), predicted, about.Snapshot, w.Row.ID, dbrow.Root(w.req.Root))
	if err != nil || row == nil {
		return err
	}
	w.snapshot = row
	w.heads = append(w.heads, source.Head{
		Frame: row["frame_no"].Int, AtMs: dbrow.OurTime(row["created_at_ms"].Int), ContentHash: row["content_hash"].Bytes,
	})
	inRow := texts
	compact := about.Layout != source.Inline && w.Imported
	if compact {
		if compact, err = w.tx.PutContents(row["content_hash"], texts); err != nil {
			return err
		}
	}
	if compact {
		inRow = source.Contents{}
	}
	full := maps.Clone(row)
	full["nodes_json"], full["outputs_json"] = dbrow.Text(inRow.Nodes), dbrow.Text(inRow.Outputs)
	full["ralph_json"], full["input_json"] = dbrow.Text(inRow.Ralph), dbrow.Text(inRow.Input)
	if err := w.tx.Insert(tables.Snapshots, full); err != nil || !compact {
		return err
	}
	return w.tx.Insert("_smithers_snapshot_payload_refs", source.Row{
		"run_id": row["run_id"], "frame_no": row["frame_no"], "content_hash": row["content_hash"],
	})
}

// writeFrame collects a frame's row of _smithers_frames in w.rendered. The caller writes the row after the row
// of _smithers_runs. known has the facts of the frame, and about is the frame's row in ext/smithers/frames.
//
// writeFrame collects no row if Smithers had no row for the frame. It also collects no row for the first frame
// of a fork if the run was never imported, or if the frame has no tree. Every other frame gets a row, even
// without a tree, so that Smithers continues with the next number.
func (w *frameWriter) writeFrame(known tables.FrameFacts, about stored.FrameRow) error {
	if !w.Imported || about.Frame == nil && known.XMLHash == "" {
		if known.PeerNo == 0 && w.Row.Parent != nil {
			return nil
		}
		if known.Tree == "" {
			known.Tree, known.XMLHash = NoTree, source.XMLHash(NoTree)
		}
	}
	predicted := tables.PredictFrame(known, w.frame, w.tree)
	if about.Frame == nil && predicted["xml_json"].Kind == source.Null {
		predicted["encoding"], predicted["xml_json"] = dbrow.Text(source.KeyFrame), dbrow.Text(known.Tree)
	}
	row, err := dbrow.RestoreOne(w.frames, predicted, about.Frame, w.Row.ID, dbrow.Root(w.req.Root))
	if err != nil || row == nil {
		return err
	}
	w.rendered = append(w.rendered, row)
	w.frame, w.tree = row, known.Tree
	return nil
}
