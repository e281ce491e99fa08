package export

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/code"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// runExport writes one run.
type runExport struct {
	*exportedRun

	ctx   context.Context //nolint:containedctx // the runExport lives only during the export of its run
	store *timeline.Store
	tx    *source.WriteTx // nil if rows are only compared
	req   Request         // place sets Root for this run
	dir   string          // the folder in which the run is resumed, unless the run's row names another folder
	own   []source.Table  // the tables of Smithers 0.32.0
	facts *tables.Facts

	unowned   unownedRows // rows of no single run; shared by all runs of the export
	workflows code.Files  // the hashes of workflow files; shared by all runs of the export

	refusals []Refusal // the reasons why Smithers cannot resume the run
	certain  bool      // refusals is complete
}

// hydrated reports whether an export writes rows of the table called table for a run that has changed since its
// import. Smithers restores such a run from the newest snapshot, and itself writes the rows of the tables for
// which hydrated returns false. Smithers does so only if the run has no row of input, so the export writes
// none. Of the attempts, the export writes only the attempts that are waits.
func hydrated(table string) bool {
	switch table {
	case tables.Runs, tables.Branches, tables.Attempts, tables.Signals, tables.Approvals, tables.HumanRequests, tables.Events, tables.Provenance, tables.ToolCalls,
		tables.Scorers, tables.Frames:
		return true
	}
	return false
}

// write writes all rows of the run, and returns the number of the run's snapshots.
func (x *runExport) write() (frames int64, err error) {
	if err := x.place(); err != nil {
		return 0, err
	}
	if err := x.readFacts(); err != nil {
		return 0, err
	}
	if err := x.writeSnapshots(); err != nil {
		return 0, err
	}
	for _, table := range x.tables() {
		if !x.Exact && !hydrated(table.Name) {
			continue
		}
		rows, err := x.rows(table)
		if err != nil {
			return 0, err
		}
		if err := x.writeTable(table, rows); err != nil {
			return 0, err
		}
	}
	return int64(len(x.facts.Frames)), nil
}

// readFacts sets x.facts to the facts from which the rows of a changed run are made, without the run's frames. If the
// run has changed since its import, readFacts also calls likeSmithers.
func (x *runExport) readFacts() (err error) {
	if x.facts, err = stored.FactsAt(x.Entry); err != nil || x.Exact {
		return err
	}
	x.facts.Root = dbrow.Root(x.req.Root)
	if x.facts.Events, err = stored.EventsTo(x.store, x.Entry); err != nil {
		return err
	}
	return x.likeSmithers()
}

// writeTable writes rows, the run's rows of a table. For a table whose rows belong to no run, it adds the missing
// rows.
//
// For _smithers_runs, writeTable also sets x.refusals and x.certain from the written row. Before it writes the
// row, it makes the row resumable if the run has changed since its import, or if the request names a workflow
// file.
func (x *runExport) writeTable(table source.Table, rows []source.Row) error {
	if !tables.HasRun(table) {
		return x.unowned.put(x.tx, table, rows)
	}
	for _, row := range rows {
		if table.Name == tables.Runs && (!x.Exact || x.req.Workflow != "") {
			if err := x.makeResumable(row); err != nil {
				return err
			}
		}
		if err := x.put(table, row); err != nil {
			return err
		}
		if table.Name == tables.Runs {
			x.refusals, x.certain = refusalsOf(x.workflows, row)
		}
	}
	return nil
}

// rows returns the run's rows of a table with their paths in x.req.Root. If the run is unchanged since its
// import, these are the imported rows. Otherwise they are the rows that Smithers needs to restore the run: see
// tables.Facts.Rows, runRow, waitRows, signalRows and frameRows.
func (x *runExport) rows(table source.Table) ([]source.Row, error) {
	if x.Exact && (table.Name != tables.Frames || !x.Peer.Pass.NoTrees) {
		return x.keptRows(table)
	}
	rows, err := x.facts.Rows(table.Name), error(nil)
	switch table.Name {
	case tables.Runs:
		rows, err = x.runRow(table, rows)
	case tables.Attempts:
		rows, err = x.waitRows()
	case tables.Signals:
		rows, err = x.signalRows(table, rows)
	case tables.Frames:
		rows = x.frameRows()
	}
	return dbrow.Complete(table, rows, x.Row.ID), err
}

// keptRows returns the rows of a table as the run's last import found them.
func (x *runExport) keptRows(table source.Table) ([]source.Row, error) {
	kept, err := stored.TableRows(x.kept, table.Name)
	if err != nil {
		return nil, err
	}
	return dbrow.Restore(table, kept, x.Row.ID, dbrow.Root(x.req.Root))
}

// likeSmithers changes x.facts so that Smithers can restore the run. The run must have changed since its import.
// likeSmithers sets, for a fork, Smithers' number of the parent's frame. If the run has not ended,
// its status becomes failed. If the run has no end time, likeSmithers sets the time of the entry. If the run has
// no revision, likeSmithers sets the revision of the entry, if any.
func (x *runExport) likeSmithers() error {
	row := &x.facts.Run
	if !row.Status.Ended() {
		row.Status = snapshot.RunFailed
	}
	if row.FinishedAtMs == nil {
		row.FinishedAtMs = &x.Entry.AtMs
	}
	if row.VCSRevision == "" {
		vcs, err := x.Entry.VCSRevision()
		if err != nil {
			return err
		}
		if vcs != nil {
			row.VCSType, row.VCSRevision = vcs.Type, vcs.CommitID
		}
	}
	if row.Parent != nil {
		parent := *row.Parent
		var err error
		if parent.Frame, err = x.peerOfParent(parent); err != nil {
			return err
		}
		row.Parent = &parent
	}
	return nil
}

// peerOfParent returns Smithers' number of the parent's frame from which the run was forked. If the parent is
// missing or was never imported, it returns parent.Frame. If Smithers never had the frame, it returns 0.
func (x *runExport) peerOfParent(parent snapshot.Parent) (int64, error) {
	head, err := x.store.Head(x.ctx, parent.RunID)
	if fault.CodeOf(err) == fault.RunNotFound {
		return parent.Frame, nil
	}
	if err != nil {
		return 0, err
	}
	of, err := stored.ReadTip(x.store, head.Entry())
	if err != nil || !of.Imported {
		return parent.Frame, err
	}
	return max(of.Peer.PeerNo(parent.Frame), 0), nil
}

// ofProgress reports whether a column of _smithers_runs describes the progress of one run. A fork has its own
// progress, so its row must not get such a column from the row of its parent.
func ofProgress(column string) bool {
	switch column {
	case "parent_run_id", "status", "created_at_ms", "started_at_ms", "finished_at_ms", "error_json", "workflow_name",
		"cancel_requested_at_ms", "pause_requested_at_ms", "vcs_type", "vcs_revision":
		return true
	}
	return dbrow.IsProcessColumn(tables.Runs, column)
}

// runRow returns the row of _smithers_runs for a run that has changed since its import. rows has the row that follows
// from the run. The columns for which ofProgress returns true have their values from it. All other columns come from
// the imported row of the run or, for a fork, of its parent, if there is one.
func (x *runExport) runRow(table source.Table, rows []source.Row) ([]source.Row, error) {
	kept, err := x.keptRows(table)
	if err != nil || len(kept) == 0 {
		return rows, err
	}
	if len(kept) > 1 {
		return nil, errors.New("ext/smithers: the run must have exactly one row in _smithers_runs")
	}
	for column := range kept[0] {
		if ofProgress(column) {
			kept[0][column] = rows[0][column]
		}
	}
	return kept, nil
}

// makeResumable changes row, the run's row of _smithers_runs, so that Smithers can resume the run. Smithers
// compares the row with the present repository, with the workflow file and with the modules that the file imports.
//
// makeResumable sets the columns of the repository to their present values. If the request or the row names a
// workflow file that exists, makeResumable also sets the columns of the workflow. If it cannot compute the hash of
// the modules, it sets the hash of the file alone.
func (x *runExport) makeResumable(row source.Row) error {
	dir := x.resumedIn(row)
	folder, kind := code.Repository(dir)
	row["vcs_type"], row["vcs_root"] = dbrow.OptionalText(kind), dbrow.OptionalText(folder)
	if folder == "" {
		row["vcs_revision"] = source.Value{}
	}
	workflow := x.req.Workflow
	if workflow == "" {
		workflow = row["workflow_path"].Bytes
	}
	if workflow == "" {
		return nil
	}
	now, err := x.workflows.Of(workflow)
	if err != nil || now.Entry == "" {
		return err
	}
	hash, version := now.Entry, entryVersion
	if now.Known && now.Graph != "" {
		hash, version = now.Graph, graphVersion
	}
	row["workflow_path"], row["workflow_hash"] = dbrow.Text(workflow), dbrow.Text(hash)
	row["config_json"] = dbrow.Text(blessed(row["config_json"].Bytes, dir, version, now.Entry))
	return nil
}
