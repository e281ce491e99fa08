package export

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// NoTree is the text of the rendered tree of a frame without a tree.
const NoTree = "null"

// writeSnapshots writes the snapshots of the frames from the run's first frame to its newest frame. It skips
// frames that were dropped, and frames that Smithers never had. It adds to x.facts.Frames, and reports progress.
func (x *runExport) writeSnapshots() error {
	frames, err := stored.FramesOf(x.store, x.Entry)
	if err != nil {
		return err
	}
	peers, err := x.signalSeqs()
	if err != nil {
		return err
	}
	w := &frameWriter{runExport: x, peers: peers, snapshots: tables.WithoutContents(x.ownTable(tables.Snapshots))}
	line := stored.LineTo(frames, int64(len(frames)-1))
	for i, f := range line {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		if x.peerNo(f.Number) != tables.NoNumber {
			if err := w.write(f); err != nil {
				return fmt.Errorf("frame %d: %w", f.Number, err)
			}
		}
		if x.req.Progress != nil {
			x.req.Progress(x.Row.ID, i+1, len(line))
		}
	}
	return nil
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

// frameWriter writes the snapshots of a run, in order.
type frameWriter struct {
	*runExport

	peers     map[string]int64 // Smithers' numbers of signals, by digest
	snapshots source.Table     // without the four texts
	pointer   source.Value     // the vcs_pointer of the snapshot before
}

// write writes the snapshot of the frame f, and adds the frame to w.facts.Frames.
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
	return w.writeSnapshot(known, about, texts)
}

// frameRows returns the rows of _smithers_frames for a run that has changed since its import. The first frame of a fork
// gets no row if it has no tree. Every other frame gets a row, even without a tree, so that Smithers continues with the
// next number.
func (x *runExport) frameRows() (rows []source.Row) {
	var before *tables.FrameFacts
	for _, f := range x.facts.Frames {
		if f.PeerNo == 0 && x.Row.Parent != nil && (f.Tree == "" || !x.Imported) {
			continue
		}
		if f.Tree == "" {
			f.Tree, f.XMLHash = NoTree, source.XMLHash(NoTree)
		}
		rows = append(rows, tables.FrameRow(f, before))
		before = &f
	}
	return rows
}

// texts returns the texts of the snapshot of f in Smithers' form. about is the frame's row in
// ext/smithers/frames. texts ignores signals to which Smithers
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
// frame, and about is the frame's row in ext/smithers/frames.
//
// The database usually stores each text once, by its hash, and all runs share the text. In three cases the
// texts are in the row itself:
//
//   - The run was never imported.
//   - Smithers' row had the texts.
//   - The database has other texts under the same hash. An imported hash need not match its texts.
func (w *frameWriter) writeSnapshot(known tables.FrameFacts, about stored.FrameRow, texts source.Contents) error {
	row, err := w.snapshotRow(known)
	if err != nil {
		return err
	}
	if w.Exact && row["content_hash"].Bytes != known.ContentHash && !w.isMarked(known.Frame) {
		return errOtherTexts
	}
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

// errOtherTexts means that the texts of a snapshot, made of the run's state, are not the imported texts.
var errOtherTexts = errors.New("the texts of a snapshot differ from the imported texts")

// isMarked reports whether the imported hash of a frame's snapshot was wrong already.
func (w *frameWriter) isMarked(frame int64) bool {
	return slices.ContainsFunc(w.Peer.Marks, func(m stored.Mark) bool { return m.Frame == frame && m.What == "content_hash" })
}

// snapshotRow returns the row of a frame's snapshot without the texts: the imported row, or a new row if no import has
// described the frame.
func (w *frameWriter) snapshotRow(known tables.FrameFacts) (source.Row, error) {
	if w.Imported {
		kept, err := stored.SnapshotRow(w.Entry, known.Frame)
		if err != nil {
			return nil, err
		}
		if kept != nil {
			row, err := dbrow.RestoreOne(w.snapshots, kept, w.Row.ID, dbrow.Root(w.req.Root))
			w.pointer = row["vcs_pointer"]
			return row, err
		}
	}
	if !w.Imported && len(w.facts.Frames) == 1 {
		w.pointer = dbrow.OptionalText(w.facts.Run.VCSRevision)
	}
	return dbrow.Complete(w.snapshots, []source.Row{tables.SnapshotRow(known, w.pointer)}, w.Row.ID)[0], nil
}
