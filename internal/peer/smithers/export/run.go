package export

import (
	"cmp"
	"context"
	"errors"
	"slices"

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
	heads []source.Head // the written snapshots

	predict predictor

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
		tables.Scorers:
		return true
	}
	return false
}

// write writes all rows of the run, and returns the number of the run's snapshots. The error wraps
// errOtherPredictions if the run was imported with other predictions. The error is errNotImported if the run is
// unchanged since its import, but the rows to write are not the imported rows.
func (x *runExport) write() (frames int64, err error) {
	if err := x.checkPredictions(); err != nil {
		return 0, err
	}
	if err := x.place(); err != nil {
		return 0, err
	}
	if err := x.readFacts(); err != nil {
		return 0, err
	}
	rendered, err := x.writeSnapshots()
	if err != nil {
		return 0, err
	}
	lonely, err := x.lonelyFrames()
	if err != nil {
		return 0, err
	}
	all, err := x.allRows(append(rendered, lonely...))
	if err != nil {
		return 0, err
	}
	if err := x.checkImported(all); err != nil {
		return 0, err
	}
	for _, table := range all.Tables {
		if err := x.writeTable(table, all.Rows[table.Name]); err != nil {
			return 0, err
		}
	}
	for _, row := range all.Frames {
		if err := x.tx.Insert(tables.Frames, row); err != nil {
			return 0, err
		}
	}
	return int64(len(x.facts.Frames)), nil
}

// allRows returns all rows to write except the rows of snapshots. If the run has changed since its import, it
// leaves out the tables for which hydrated returns false. frames are the rows of _smithers_frames, which
// allRows sorts by number.
func (x *runExport) allRows(frames []source.Row) (stored.Rows, error) {
	all := stored.Rows{
		Schema: x.Peer.Schema, Heads: x.heads, Rows: make(map[string][]source.Row), FramesTable: x.ownTable(tables.Frames), Frames: frames,
	}
	slices.SortStableFunc(all.Frames, func(a, b source.Row) int { return cmp.Compare(a["frame_no"].Int, b["frame_no"].Int) })
	for _, table := range x.tables() {
		if !x.Exact && !hydrated(table.Name) {
			continue
		}
		rows, err := x.rows(table)
		if err != nil {
			return all, err
		}
		all.Tables, all.Rows[table.Name] = append(all.Tables, table), rows
	}
	return all, nil
}

// readFacts sets x.facts to the facts from which the run's rows are predicted, without the run's frames. If the
// run has changed since its import, readFacts also calls likeSmithers.
func (x *runExport) readFacts() (err error) {
	if x.facts, err = stored.FactsAt(x.Entry); err != nil {
		return err
	}
	if x.facts.Events, err = stored.EventsTo(x.store, x.Entry); err != nil || x.Exact {
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
// import, these are the imported rows. Otherwise they are the predicted rows, except in three tables: see
// runRow, waitRows and signalRows.
func (x *runExport) rows(table source.Table) ([]source.Row, error) {
	return x.rowsAt(table, dbrow.Root(x.req.Root))
}

// rowsAt returns the rows that the method rows returns, with the run's paths in the folder at. If the run has
// changed since its import, at must be x.req.Root.
func (x *runExport) rowsAt(table source.Table, at dbrow.Root) ([]source.Row, error) {
	predicted, err := x.predict(x.facts, table, x.Peer.Columns())
	if err != nil {
		return nil, err
	}
	over := x.Peer.Tables[table.Name]
	switch {
	case x.Exact:
	case table.Name == tables.Runs:
		return x.runRow(table, predicted, over)
	case table.Name == tables.Attempts:
		return x.waitRows(table)
	case table.Name == tables.Signals:
		return x.signalRows(table, predicted)
	default:
		over = nil
	}
	return dbrow.Restore(table, predicted, over, x.Row.ID, at)
}

// likeSmithers changes x.facts so that Smithers can restore the run. The run must have changed since its import.
// likeSmithers sets Restored and, for a fork, Smithers' number of the parent's frame. If the run has not ended,
// its status becomes failed. If the run has no end time, likeSmithers sets the time of the entry. If the run has
// no revision, likeSmithers sets the revision of the entry, if any.
func (x *runExport) likeSmithers() error {
	x.facts.Restored = true
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

// runRow returns the row of _smithers_runs for a run that has changed since its import. predicted has the
// predicted row, and over has the overrides of the imported row. The columns for which ofProgress returns true
// have their predicted values. All other columns come from the imported row of the run or, for a fork, of its
// parent. runRow returns an error if the overrides remove the row or add another row.
func (x *runExport) runRow(table source.Table, predicted []source.Row, over []dbrow.Override) ([]source.Row, error) {
	at := dbrow.Root(x.req.Root)
	own, err := dbrow.Restore(table, predicted, nil, x.Row.ID, at)
	if err != nil {
		return nil, err
	}
	rows, err := dbrow.Restore(table, predicted, over, x.Row.ID, at)
	if err != nil {
		return nil, err
	}
	if len(own) != 1 || len(rows) != 1 {
		return nil, errors.New("ext/smithers: the run must have exactly one row in _smithers_runs")
	}
	for column := range rows[0] {
		if ofProgress(column) {
			rows[0][column] = own[0][column]
		}
	}
	return rows, nil
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
