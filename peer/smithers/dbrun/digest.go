package dbrun

import (
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
)

// RowsDigest returns the digest, in hex, of all rows that the database has of the run: see kept.Rows.Digest.
func (p *Run) RowsDigest() string { return p.allRows().Digest() }

// MovableDigest returns the digest of the run's rows with a mark in place of the root's path, so that the digest
// does not depend on the root. It returns "" if no row has the root's path.
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

// allRows returns the database's rows of the run, and the rows of unknown tables that belong to no single run.
func (p *Run) allRows() kept.Rows {
	all := kept.Rows{Schema: p.Schema(p.uses), Heads: p.Heads, Tables: p.Tx.Tables(), Rows: maps.Clone(p.Rows)}
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
