// Package tables defines the meaning of Smithers' tables: for each table, a function that converts its rows to ours,
// and a function that predicts its rows from a run as stored here.
package tables

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Smithers' tables that are part of our model.
const (
	Runs          = "_smithers_runs"
	Branches      = "_smithers_branches"
	Nodes         = "_smithers_nodes"
	Attempts      = "_smithers_attempts"
	Loops         = "_smithers_ralph"
	Approvals     = "_smithers_approvals"
	HumanRequests = "_smithers_human_requests"
	Signals       = "_smithers_signals"
	Events        = "_smithers_events"
	Provenance    = "_smithers_output_provenance"
	Input         = "input"
	ownPrefix     = "_smithers_" // begins the names of Smithers' own tables
)

// The tables of frames, of processes, of the columns of outputs, and of migrations.
const (
	Snapshots = "_smithers_snapshots"
	Frames    = "_smithers_frames"
	leases    = "_smithers_rewind_leases"
	Columns   = "_smithers_output_schema_columns"
	Migrated  = "_smithers_schema_migrations"
)

// Facts are the facts of a run at its tip from which Smithers' rows are predicted.
type Facts struct {
	Run      snapshot.Run
	Whole    snapshot.Whole // the state of the newest frame of the line, with the tip's mailbox
	Attempts []snapshot.Attempt
	Logs     map[string]string // by the attempt's key
	Events   []snapshot.Event  // the run's own, from number 0
	Frames   []FrameFacts      // the line: the frames that were not dropped, oldest first
	Restored bool              // the run has changed since its import: Smithers restores it from its newest snapshot
}

// FrameFacts are the facts of one frame of the line.
type FrameFacts struct {
	Frame       int64 // ours
	PeerNo      int64 // Smithers'
	AtMs        int64
	ContentHash string // Smithers', computed
	XMLHash     string // of the rendered tree; "" if none
	Tree        string // the rendered tree, canonical; "" if none
}

// Predict returns the rows of a run's table as far as they follow from f. It predicts the tables of Smithers that are
// part of our model, the output tables of columns, and the input; of any other table it returns nil. The rows have
// all columns of the table except run_id. Their paths lack the root, which dbrow.Restore adds.
//
// Predictions are part of the format: an override stores how a row differs from its prediction, so a changed
// prediction restores a wrong row.
func Predict(f *Facts, table source.Table, columns []OutputColumn) ([]source.Row, error) {
	if err := dbrow.CheckColumns(table); err != nil {
		return nil, err
	}
	return Fitted(table, f.predictTable(table, columns)), nil
}

// Fitted reduces or extends each row to exactly the columns of a table, without run_id.
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

// OfRun returns the tables whose rows make up a run, without those of frames and of processes.
func OfRun(tables []source.Table) []source.Table {
	return slices.DeleteFunc(tables, func(t source.Table) bool {
		return IsOfFrames(t.Name) || t.Name == leases || !HasRun(t)
	})
}

// IsOfFrames reports whether a table has the rows of frames.
func IsOfFrames(name string) bool {
	switch name {
	case Snapshots, Frames, "_smithers_snapshot_contents", "_smithers_snapshot_payload_refs", "_smithers_snapshot_payloads":
		return true
	}
	return false
}

// HasRun reports whether the rows of a table belong to runs.
func HasRun(t source.Table) bool {
	return slices.ContainsFunc(t.Columns, func(c source.Column) bool { return dbrow.IsRunColumn(c.Name) })
}

// NoNumber is the number of a frame that Smithers never had.
const NoNumber = -1

// Never is later than any time in a database.
const Never = int64(1<<63 - 1)
