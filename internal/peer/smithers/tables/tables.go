// Package tables defines the meaning of Smithers' tables. It has functions that convert rows of a table to values of
// package snapshot, and functions that predict the rows of a table from a stored run.
package tables

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Smithers' tables whose rows package snapshot can express.
const (
	Runs          = "_smithers_runs"
	Branches      = "_smithers_branches"
	Nodes         = "_smithers_nodes"
	Attempts      = "_smithers_attempts"
	Loops         = "_smithers_ralph"
	Approvals     = "_smithers_approvals"
	HumanRequests = "_smithers_human_requests"
	Signals       = "_smithers_signals"
	ToolCalls     = "_smithers_tool_calls"
	Scorers       = "_smithers_scorers"
	Events        = "_smithers_events"
	Provenance    = "_smithers_output_provenance"
	Input         = "input"
	ownPrefix     = "_smithers_" // begins the names of Smithers' own tables
)

// Smithers' other tables.
const (
	Snapshots = "_smithers_snapshots"
	Frames    = "_smithers_frames"
	leases    = "_smithers_rewind_leases"         // the processes that rewind runs
	Columns   = "_smithers_output_schema_columns" // the kinds of the columns of output tables
	Migrated  = "_smithers_schema_migrations"
	Cache     = "_smithers_cache"   // results that runs of the database use again
	Cron      = "_smithers_cron"    // schedules
	Vectors   = "_smithers_vectors" // embeddings
)

// Facts holds the facts of a run at its tip, from which Predict predicts Smithers' rows.
type Facts struct {
	Run      snapshot.Run
	Whole    snapshot.Whole // the state of the newest frame of the line, with the tip's mailbox
	Attempts []snapshot.Attempt
	Logs     map[string]string // by the attempt's key
	Calls    []snapshot.ToolCall
	Scores   []snapshot.Score
	Events   []snapshot.Event // the run's own events, from number 0
	Frames   []FrameFacts     // the line: the frames that were not dropped, oldest first
	Restored bool             // the run has changed since its import, so Smithers restores it from the newest snapshot
}

// FrameFacts holds the facts of one frame of the line.
type FrameFacts struct {
	Frame       int64  // the frame's number in the run
	PeerNo      int64  // Smithers' number of the frame
	AtMs        int64  // the frame's time, in Unix milliseconds
	ContentHash string // the hash of the snapshot as Smithers computes it
	XMLHash     string // the hash of the rendered tree; "" if the frame has no tree
	Tree        string // the rendered tree as canonical JSON; "" if the frame has no tree
}

// Predict returns the rows that a table of Smithers should have for the run of f. It predicts output tables and the
// tables that predictTable lists. For any other table of Smithers, it returns no rows. columns gives the kinds of the
// columns of output tables.
//
// The rows have all columns of the table except run_id. Their paths lack the root, which dbrow.Restore adds. If the
// name of a column is not UTF-8, the error is source.ErrDamaged.
//
// Predictions are part of the format: an override stores how a row differs from its prediction. A changed prediction
// would restore a wrong row.
func Predict(f *Facts, table source.Table, columns []OutputColumn) ([]source.Row, error) {
	if err := dbrow.CheckColumns(table); err != nil {
		return nil, err
	}
	return Fitted(table, f.predictTable(table, columns)), nil
}

// Fitted gives each of rows exactly the columns of table, except run_id, and returns rows. It replaces the elements
// of rows. A column that a row lacks becomes NULL.
func Fitted(table source.Table, rows []source.Row) []source.Row {
	for i, row := range rows {
		fit := make(source.Row, len(table.Columns))
		for _, c := range table.Columns {
			if !dbrow.IsRunColumn(c.Name) {
				fit[c.Name] = row[c.Name]
			}
		}
		rows[i] = fit
	}
	return rows
}

// predictTable returns the predicted rows of a table. The rows may lack columns, which Predict adds as NULL,
// and may have columns that the table lacks, which Predict removes.
func (f *Facts) predictTable(table source.Table, columns []OutputColumn) []source.Row {
	switch table.Name {
	case Runs:
		return f.predictRun()
	case Branches:
		return f.predictBranch()
	case Nodes:
		return f.predictNodes()
	case Attempts:
		return f.predictAttempts()
	case Loops:
		return f.predictLoops()
	case Approvals:
		return f.predictApprovals()
	case HumanRequests:
		return f.predictHumanRequests()
	case Signals:
		return f.predictSignals()
	case ToolCalls:
		return f.predictToolCalls()
	case Scorers:
		return f.predictScores()
	case Events:
		return f.predictEvents()
	case Provenance:
		return f.predictProvenance()
	case Input:
		return f.predictInput(table, columns)
	}
	if strings.HasPrefix(table.Name, ownPrefix) {
		return nil
	}
	return f.predictOutputs(table, columns)
}

// OfRun returns those of tables whose rows belong to a run: it removes the tables of frames (see IsOfFrames), the
// leases, and the tables without a column run_id. It reuses the array of tables, so the caller must not use tables
// afterwards.
func OfRun(tables []source.Table) []source.Table {
	return slices.DeleteFunc(tables, func(t source.Table) bool {
		return IsOfFrames(t.Name) || t.Name == leases || !HasRun(t)
	})
}

// IsOfFrames reports whether the table with the given name has the rows of frames or the texts of snapshots.
func IsOfFrames(name string) bool {
	switch name {
	case Snapshots, Frames, "_smithers_snapshot_contents", "_smithers_snapshot_payload_refs", "_smithers_snapshot_payloads":
		return true
	}
	return false
}

// HasRun reports whether the rows of a table belong to runs: the table has a column run_id.
func HasRun(t source.Table) bool {
	return slices.ContainsFunc(t.Columns, func(c source.Column) bool { return dbrow.IsRunColumn(c.Name) })
}

// NoNumber is used in place of Smithers' number for a frame or a signal that Smithers never had.
const NoNumber = -1

// Never is later than any time in a database.
const Never = int64(1<<63 - 1)
