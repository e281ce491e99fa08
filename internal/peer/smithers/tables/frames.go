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

// SnapshotRow returns the row of _smithers_snapshots, without the texts, for a frame that Smithers never had. pointer is
// the revision at which the run was, or NULL.
func SnapshotRow(f FrameFacts, pointer source.Value) source.Row {
	return source.Row{
		"frame_no": dbrow.Int(f.PeerNo), "created_at_ms": dbrow.Int(f.AtMs), "content_hash": dbrow.Text(f.ContentHash), "vcs_pointer": pointer,
	}
}

// FrameRow returns the row of _smithers_frames for a frame of a run that has changed since its import. before is the
// frame before, or nil for the first frame. The first frame, a frame whose number is a multiple of treeEvery, and a
// frame whose tree has changed have the whole tree.
func FrameRow(f FrameFacts, before *FrameFacts) source.Row {
	row := source.Row{
		"frame_no": dbrow.Int(f.PeerNo), "created_at_ms": dbrow.Int(f.AtMs), "xml_hash": dbrow.OptionalText(f.XMLHash),
		"encoding": dbrow.Text(source.KeyFrame), "xml_json": dbrow.Text(f.Tree),
	}
	if before != nil && f.PeerNo%treeEvery != 0 && f.Tree == before.Tree {
		row["encoding"], row["xml_json"] = dbrow.Text(source.DeltaFrame), dbrow.Text(sameTree)
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
