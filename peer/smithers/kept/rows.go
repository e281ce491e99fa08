package kept

import (
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
)

// Rows are all rows that a database has of a run, except the contents of snapshots and columns of processes.
type Rows struct {
	Schema      []SchemaLine
	Heads       []source.Head
	Tables      []source.Table          // sorted by name
	Rows        map[string][]source.Row // by table; those of _smithers_frames are in frames
	FramesTable source.Table
	Frames      []source.Row // sorted by frame_no
}

// Digest names the rows. Snapshots count with their hashes. A table of outputs without rows of the run does not count, and
// neither does an output column without a value: another workflow may have added it to a table that both have.
func (all Rows) Digest() string {
	h := dbrow.NewDigester()
	for _, line := range all.Schema {
		rows := all.Rows[line.Table]
		for _, c := range line.Columns {
			if slices.ContainsFunc(rows, func(row source.Row) bool { return row[c[0]].Kind != source.Null }) {
				h.Text(line.Table)
				h.Text(c[0])
				h.Text(c[1])
			}
		}
	}
	for _, head := range all.Heads {
		h.Number(head.Frame)
		h.Number(head.AtMs)
		h.Text(head.ContentHash)
	}
	for _, table := range all.Tables {
		h.Rows(table, all.Rows[table.Name])
	}
	for _, row := range all.Frames {
		h.Rows(all.FramesTable, []source.Row{row})
	}
	return h.Sum()
}

// Has reports whether a digest is that of the rows. A run from a database without _smithers_frames is exported with rows of
// that table, which Smithers needs, and was digested without them.
func (all Rows) Has(digest string) bool {
	if all.Digest() == digest {
		return true
	}
	all.Frames = nil
	return all.Digest() == digest
}
