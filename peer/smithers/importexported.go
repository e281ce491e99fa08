package smithers

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// isExported reports whether all that the database has of the run is what an export has written of it, at its tip or at
// an entry before, for Smithers to restore. Nobody has gone on with it there, so it says nothing: neither is its
// status the run's, nor does it lack what only the database has that the run is from.
func (p *peerRun) isExported(ctx context.Context, store *timeline.Store, tip *snapshot.Entry) (bool, error) {
	if p.run.FinishedAtMs == nil || len(p.lonely) > 0 || p.hasUnrestored() {
		return false, nil
	}
	for entry, err := range store.Chain(tip) {
		if err != nil {
			return false, err
		}
		row, err := entry.RunRow()
		if err != nil {
			return false, err
		}
		if end := cmp.Or(row.FinishedAtMs, &entry.AtMs); *end != *p.run.FinishedAtMs {
			continue
		}
		if same, err := p.isExportOf(ctx, store, entry); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// hasUnrestored reports whether there are rows that a run which Smithers is to restore is exported without.
func (p *peerRun) hasUnrestored() bool {
	return slices.ContainsFunc(tables.OfRun(p.tx.Tables()), func(t source.Table) bool {
		return !hydrated(t.Name) && len(p.rows[t.Name]) > 0
	})
}

// isExportOf reports whether the database has what is exported of an entry.
func (p *peerRun) isExportOf(ctx context.Context, store *timeline.Store, entry *snapshot.Entry) (bool, error) {
	of, err := readExported(store, entry)
	if err != nil || of.exact {
		return false, err
	}
	x := &exporting{exported: of, ctx: ctx, store: store, predict: tables.Predict, own: slices.Collect(maps.Values(p.own))}
	if err := x.readFacts(); err != nil {
		return false, err
	}
	for _, table := range tables.OfRun(p.tx.Tables()) {
		if !hydrated(table.Name) {
			continue
		}
		rows, err := x.rows(table)
		if err != nil {
			return false, err
		}
		has := p.rows[table.Name]
		switch {
		case table.Name == tables.Runs:
			has = []source.Row{p.row}
		case table.Name == tables.Attempts && len(has) == 0:
			continue // older versions exported none
		}
		if !slices.EqualFunc(rows, has, func(a, b source.Row) bool { return sameExported(table, a, b) }) {
			return false, nil
		}
	}
	return p.hasFramesOf(x)
}

// sameExported compares two rows but for what is told apart where they are written: of a run, where and with what it is
// resumed; of an event, what its frame has.
func sameExported(table source.Table, a, b source.Row) bool {
	for _, c := range table.Columns {
		switch {
		case dbrow.IsProcessColumn(table.Name, c.Name), table.Name == tables.Events && c.Name == "payload_json",
			table.Name == tables.Runs && (!ofProgress(c.Name) || c.Name == "vcs_type" || c.Name == "vcs_revision"):
			continue
		}
		if !dbrow.Same(a[c.Name], b[c.Name]) {
			return false
		}
	}
	return true
}

// hasFramesOf reports whether the snapshots are those that are exported.
func (p *peerRun) hasFramesOf(x *exporting) (bool, error) {
	frames, err := framesOf(x.store, x.tip)
	if err != nil {
		return false, err
	}
	line := slices.DeleteFunc(lineTo(frames, int64(len(frames)-1)), func(f frame) bool { return x.peerNo(f.number) == tables.NoNumber })
	return slices.EqualFunc(line, p.heads, func(f frame, h source.Head) bool {
		return x.peerNo(f.number) == h.Frame && f.entry.AtMs == h.AtMs
	}), nil
}
