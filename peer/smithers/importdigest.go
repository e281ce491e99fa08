package smithers

import (
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
)

// rowsDigest is the digest of the rows that the database has of the run.
func (p *peerRun) rowsDigest() string { return p.allRows().digest() }

// movableDigest is the digest of those rows with a mark in place of the root's path, so that an export to any folder can
// be checked against it; "" if no row has the root's path.
func (p *peerRun) movableDigest() string {
	all, moved := p.allRows(), false
	for _, table := range all.tables {
		if rows, found := p.at.Movable(table, all.rows[table.Name]); found {
			all.rows[table.Name], moved = rows, true
		}
	}
	if !moved {
		return ""
	}
	return all.digest()
}

// allRows are the rows that the database has of the run and of no run at all.
func (p *peerRun) allRows() runRows {
	all := runRows{schema: p.schema(p.uses), heads: p.heads, tables: p.tx.Tables(), rows: maps.Clone(p.rows)}
	for _, one := range p.left {
		all.rows[one.table.Name] = one.rows
	}
	if table := p.tx.Table(tables.Frames); table != nil {
		all.framesTable = *table
		for _, no := range slices.Sorted(maps.Keys(p.frameRows)) {
			all.frames = append(all.frames, p.frameRows[no])
		}
	}
	return all
}

// runRows is everything that a database has of a run, except the contents of snapshots and what belongs to processes.
type runRows struct {
	schema      []schemaLine
	heads       []source.Head
	tables      []source.Table          // sorted by name
	rows        map[string][]source.Row // by table; those of _smithers_frames are in frames
	framesTable source.Table
	frames      []source.Row // sorted by frame_no
}

// digest names the rows. Snapshots count with their hashes. A table of outputs without rows of the run does not count, and
// neither does an output column without a value: another workflow may have added it to a table that both have.
func (all runRows) digest() string {
	h := dbrow.NewDigester()
	for _, line := range all.schema {
		rows := all.rows[line.Table]
		for _, c := range line.Columns {
			if slices.ContainsFunc(rows, func(row source.Row) bool { return row[c[0]].Kind != source.Null }) {
				h.Text(line.Table)
				h.Text(c[0])
				h.Text(c[1])
			}
		}
	}
	for _, head := range all.heads {
		h.Number(head.Frame)
		h.Number(head.AtMs)
		h.Text(head.ContentHash)
	}
	for _, table := range all.tables {
		h.Rows(table, all.rows[table.Name])
	}
	for _, row := range all.frames {
		h.Rows(all.framesTable, []source.Row{row})
	}
	return h.Sum()
}
