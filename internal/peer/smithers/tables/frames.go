package tables

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// sameTree is the xml_json of a frame with the same tree as the frame before. A frame whose number is a multiple of
// treeEvery has the whole tree.
const (
	sameTree  = `{"version":1,"ops":[]}`
	treeEvery = 50
)

// PredictSnapshot returns the predicted row of a frame in _smithers_snapshots, without the texts of the snapshot.
// before is the row of the previous frame, or nil for the first frame. The predicted vcs_pointer is that of before, or
// NULL if before is nil.
func PredictSnapshot(f FrameFacts, before source.Row) source.Row {
	return source.Row{
		"frame_no": dbrow.Int(f.PeerNo), "created_at_ms": dbrow.Int(f.AtMs), "content_hash": dbrow.Text(f.ContentHash),
		"vcs_pointer": before["vcs_pointer"],
	}
}

// PredictFrame returns the predicted row of a frame in _smithers_frames. before is the row of the previous frame,
// or nil for the first frame. treeBefore is the rendered tree of the previous frame, or "". The columns about
// tasks and the note are those of the previous frame. The column xml_json depends on the frame:
//
//   - The first frame, and a frame whose number is a multiple of treeEvery, has the whole tree.
//   - Any other frame has sameTree if its tree equals treeBefore.
//   - Otherwise the row has no xml_json, because the change cannot be predicted.
func PredictFrame(f FrameFacts, before source.Row, treeBefore string) source.Row {
	row := source.Row{
		"frame_no": dbrow.Int(f.PeerNo), "created_at_ms": dbrow.Int(f.AtMs), "xml_hash": dbrow.OptionalText(f.XMLHash),
		"mounted_task_ids_json": before["mounted_task_ids_json"], "task_index_json": before["task_index_json"], "note": before["note"],
		"encoding": dbrow.Text(source.DeltaFrame),
	}
	switch {
	case before == nil || f.PeerNo%treeEvery == 0:
		row["encoding"], row["xml_json"] = dbrow.Text(source.KeyFrame), dbrow.Text(f.Tree)
	case f.Tree == treeBefore:
		row["xml_json"] = dbrow.Text(sameTree)
	}
	return row
}

// contentColumn reports whether a column of _smithers_snapshots has one of the four texts of the snapshot.
func contentColumn(name string) bool {
	switch name {
	case "nodes_json", "outputs_json", "ralph_json", "input_json":
		return true
	}
	return false
}

// WithoutContents returns a copy of t, the table of snapshots, without the columns of the four texts.
func WithoutContents(t source.Table) source.Table {
	var columns []source.Column
	for _, c := range t.Columns {
		if !contentColumn(c.Name) {
			columns = append(columns, c)
		}
	}
	t.Columns = columns
	return t
}
