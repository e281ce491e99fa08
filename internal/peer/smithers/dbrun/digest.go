package dbrun

import (
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// RowsDigest returns the digest, in hex, of all rows that allRows returns: see stored.Rows.Digest.
func (p *Run) RowsDigest() string { return p.allRows().Digest() }

// MovableDigest returns the digest of the rows of allRows with dbrow.RootMark in place of the root's path. Two
// runs that differ only in their root have the same digest. MovableDigest returns "" if no row has the root's
// path.
func (p *Run) MovableDigest() string {
	all, moved := p.allRows(), false
	for _, table := range all.Tables {
		if rows, found := p.At.Movable(table, all.Rows[table.Name]); found {
			all.Rows[table.Name], moved = rows, true
		}
	}
	if !moved {
		return ""
	}
	return all.Digest()
}

// allRows returns the database's rows of the run: the rows by table, the snapshots' heads and the rows of the
// rendered trees. It adds the rows of p.Left, which are in unknown tables and belong to no single run.
func (p *Run) allRows() stored.Rows {
	all := stored.Rows{Schema: p.Schema(p.uses), Heads: p.Heads, Tables: p.Tx.Tables(), Rows: maps.Clone(p.Rows)}
	for _, one := range p.Left {
		all.Rows[one.Table.Name] = one.Rows
	}
	if table := p.Tx.Table(tables.Frames); table != nil {
		all.FramesTable = *table
		for _, no := range slices.Sorted(maps.Keys(p.Trees.Rows)) {
			all.Frames = append(all.Frames, p.Trees.Rows[no])
		}
	}
	return all
}
