package smithers

import (
	"context"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/export"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// rowsDigest is the digest of the rows that the database has of the run.
func (p *peerRun) rowsDigest() string { return p.allRows().Digest() }

// movableDigest is the digest of those rows with a mark in place of the root's path, so that an export to any folder can
// be checked against it; "" if no row has the root's path.
func (p *peerRun) movableDigest() string {
	all, moved := p.allRows(), false
	for _, table := range all.Tables {
		if rows, found := p.at.Movable(table, all.Rows[table.Name]); found {
			all.Rows[table.Name], moved = rows, true
		}
	}
	if !moved {
		return ""
	}
	return all.Digest()
}

// allRows are the rows that the database has of the run and of no run at all.
func (p *peerRun) allRows() kept.Rows {
	all := kept.Rows{Schema: p.schema(p.uses), Heads: p.heads, Tables: p.tx.Tables(), Rows: maps.Clone(p.rows)}
	for _, one := range p.left {
		all.Rows[one.table.Name] = one.rows
	}
	if table := p.tx.Table(tables.Frames); table != nil {
		all.FramesTable = *table
		for _, no := range slices.Sorted(maps.Keys(p.trees.rows)) {
			all.Frames = append(all.Frames, p.trees.rows[no])
		}
	}
	return all
}

// isExported reports whether the database has only what an export wrote of the run.
func (p *peerRun) isExported(ctx context.Context, store *timeline.Store, tip *snapshot.Entry) (bool, error) {
	if len(p.trees.lonely) > 0 {
		return false, nil
	}
	found := export.Found{Run: p.run, Row: p.row, Own: p.own, Tables: p.tx.Tables(), Rows: p.rows, Heads: p.heads}
	return found.IsExported(ctx, store, tip)
}
