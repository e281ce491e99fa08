package stored

import (
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// Rows has all rows of a run in a database. It has the hashes of snapshots instead of their texts.
type Rows struct {
	Schema      []SchemaLine
	Heads       []source.Head
	Tables      []source.Table          // sorted by name
	Rows        map[string][]source.Row // by the table's name; the rows of _smithers_frames are in Frames
	FramesTable source.Table            // _smithers_frames; the zero Table if the database does not have the table
	Frames      []source.Row            // sorted by frame_no
}

// Digest returns the digest of all rows, in hex. For a snapshot, it covers only the number, the time and the content
// hash. It leaves out columns of processes: see dbrow.IsProcessColumn. It also leaves out output tables without rows of
// the run and output columns without a value, because another workflow may have added these tables and columns.
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

// Has reports whether digest is the digest of the rows, with or without the rows of _smithers_frames. An export
// writes rows of _smithers_frames for Smithers, even if the imported database had no such table. So the digest of
// the import may be without these rows.
func (all Rows) Has(digest string) bool {
	if all.Digest() == digest {
		return true
	}
	all.Frames = nil
	return all.Digest() == digest
}
