package export

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Found has the rows of a run in a database. An export may have written these rows.
type Found struct {
	Run    snapshot.Run            // Row as a run of git-smithers, without parent, frame and event numbers
	Row    source.Row              // of _smithers_runs
	Own    map[string]source.Table // the tables of Smithers 0.32.0, by name
	Tables []source.Table          // all tables of the database
	Rows   map[string][]source.Row // by table, without _smithers_runs
	Heads  []source.Head           // the snapshots, oldest first
}

// IsExported reports whether the rows in the database are the result of an export of the run, at tip or at an
// earlier entry of the run's chain. The database then has no news of the run. isExportOf ignores some
// differences.
//
// IsExported recognizes only an export of a run that had changed since its import: Smithers restores such a run
// from the newest snapshot. If the run in the database has no end time, IsExported returns false.
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
		// An export of a changed run writes the end time of the run or, if the run has not ended, the time of
		// the entry.
		if end := cmp.Or(row.FinishedAtMs, &entry.AtMs); *end != *p.Run.FinishedAtMs {
			continue
		}
		if same, err := p.isExportOf(ctx, store, entry); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// hasUnrestored reports whether the database has rows of the run that an export of a changed run does not write:
// rows in a table for which hydrated returns false.
func (p *Found) hasUnrestored() bool {
	return slices.ContainsFunc(tables.OfRun(slices.Clone(p.Tables)), func(t source.Table) bool {
		return !hydrated(t.Name) && len(p.Rows[t.Name]) > 0
	})
}

// isExportOf reports whether an export of the run at entry writes the rows that the database has. It compares
// the tables for which hydrated returns true, and the numbers and times of the snapshots. Two rows count as
// equal if sameExported returns true. If the database has no attempts, isExportOf does not compare attempts. It
// returns false if the run at entry was unchanged since its import.
func (p *Found) isExportOf(ctx context.Context, store *timeline.Store, entry *snapshot.Entry) (bool, error) {
	of, err := stored.ReadTip(store, entry)
	if err != nil || of.Exact || of.Peer.Pass.IsOlder() {
		return false, err
	}
	x := &runExport{exportedRun: &exportedRun{Tip: of, kept: of.Entry}, ctx: ctx, store: store, own: slices.Collect(maps.Values(p.Own))}
	if err := x.readFacts(); err != nil {
		return false, err
	}
	for _, table := range tables.OfRun(slices.Clone(p.Tables)) {
		if !hydrated(table.Name) || table.Name == tables.Frames { // hasFramesOf compares the frames
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
			continue // older versions exported no attempts
		case table.Name == tables.ToolCalls && len(has) == 0:
			continue // and no tool calls
		case table.Name == tables.Scorers && len(has) == 0:
			continue // scores may be given after an export
		}
		if !slices.EqualFunc(rows, has, func(a, b source.Row) bool { return sameExported(table, a, b) }) {
			return false, nil
		}
	}
	return p.hasFramesOf(x)
}

// sameExported reports whether two rows of a table have equal values in all columns that it compares. It
// ignores the columns about a process, the payload of an event, and the columns of _smithers_runs that depend
// on the place of the export: vcs_type, vcs_revision, and all columns for which ofProgress returns false.
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

// hasFramesOf reports whether the snapshots in the database have the numbers and times of the frames that x
// exports. These are the frames on the line of the newest frame, without the frames that Smithers never had.
func (p *Found) hasFramesOf(x *runExport) (bool, error) {
	frames, err := stored.FramesOf(x.store, x.Entry)
	if err != nil {
		return false, err
	}
	line := slices.DeleteFunc(stored.LineTo(frames, int64(len(frames)-1)), func(f stored.Frame) bool { return x.peerNo(f.Number) == tables.NoNumber })
	return slices.EqualFunc(line, p.Heads, func(f stored.Frame, h source.Head) bool {
		return x.peerNo(f.Number) == h.Frame && f.Entry.AtMs == h.AtMs
	}), nil
}
