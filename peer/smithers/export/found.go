package export

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Found is the rows that a database has of a run that may have been exported to it.
type Found struct {
	Run    snapshot.Run
	Row    source.Row // of _smithers_runs
	Own    map[string]source.Table
	Tables []source.Table
	Rows   map[string][]source.Row // by table
	Heads  []source.Head
}

// IsExported reports whether the database has of a run exactly the rows that an export wrote, from the run's tip or
// an earlier entry, for Smithers to restore the run. Then the database has no news of the run.
func (p *Found) IsExported(ctx context.Context, store *timeline.Store, tip *snapshot.Entry) (bool, error) {
	if p.Run.FinishedAtMs == nil || p.hasUnrestored() {
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
		if end := cmp.Or(row.FinishedAtMs, &entry.AtMs); *end != *p.Run.FinishedAtMs {
			continue
		}
		if same, err := p.isExportOf(ctx, store, entry); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// hasUnrestored reports whether the database has rows of the run that such an export does not write.
func (p *Found) hasUnrestored() bool {
	return slices.ContainsFunc(tables.OfRun(slices.Clone(p.Tables)), func(t source.Table) bool {
		return !hydrated(t.Name) && len(p.Rows[t.Name]) > 0
	})
}

// isExportOf reports whether the rows in the database are those of an export of an entry.
func (p *Found) isExportOf(ctx context.Context, store *timeline.Store, entry *snapshot.Entry) (bool, error) {
	of, err := kept.ReadTip(store, entry)
	if err != nil || of.Exact {
		return false, err
	}
	x := &runExport{exportedRun: &exportedRun{Tip: of}, ctx: ctx, store: store, predict: tables.Predict, own: slices.Collect(maps.Values(p.Own))}
	if err := x.readFacts(); err != nil {
		return false, err
	}
	for _, table := range tables.OfRun(slices.Clone(p.Tables)) {
		if !hydrated(table.Name) {
			continue
		}
		rows, err := x.rows(table)
		if err != nil {
			return false, err
		}
		has := p.Rows[table.Name]
		switch {
		case table.Name == tables.Runs:
			has = []source.Row{p.Row}
		case table.Name == tables.Attempts && len(has) == 0:
			continue // older versions exported none
		}
		if !slices.EqualFunc(rows, has, func(a, b source.Row) bool { return sameExported(table, a, b) }) {
			return false, nil
		}
	}
	return p.hasFramesOf(x)
}

// sameExported compares two rows, except for columns that depend on the place of the export: the folder and workflow
// of a run, and the payload of an event.
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

// hasFramesOf reports whether the snapshots in the database are those of an export.
func (p *Found) hasFramesOf(x *runExport) (bool, error) {
	frames, err := kept.FramesOf(x.store, x.Entry)
	if err != nil {
		return false, err
	}
	line := slices.DeleteFunc(kept.LineTo(frames, int64(len(frames)-1)), func(f kept.Frame) bool { return x.peerNo(f.Number) == tables.NoNumber })
	return slices.EqualFunc(line, p.Heads, func(f kept.Frame, h source.Head) bool {
		return x.peerNo(f.Number) == h.Frame && f.Entry.AtMs == h.AtMs
	}), nil
}
