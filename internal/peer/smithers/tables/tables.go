// Package tables defines the meaning of Smithers' tables. It has functions that convert rows of a table to values of
// package snapshot, and makes the rows of a run that Smithers restores from its newest snapshot.
package tables

import (
	"slices"

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

// Facts holds the facts of a run at its tip, from which an export makes the rows of a run that has changed since its
// import, or that Smithers never had.
type Facts struct {
	Run    snapshot.Run
	Root   dbrow.Root     // the folder of the paths in the rows
	Whole  snapshot.Whole // the state of the newest frame of the line, with the tip's mailbox
	Calls  []snapshot.ToolCall
	Scores []snapshot.Score
	Events []snapshot.Event // the run's own events, from number 0
	Frames []FrameFacts     // the line: the frames that were not dropped, oldest first
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

// Rows returns the rows of a run in one of Smithers' tables, so that Smithers can restore the run from its newest
// snapshot. It returns no rows for a table that Smithers itself restores, and for the waits among the attempts, which
// the export adds. The rows may lack columns, and lack run_id.
func (f *Facts) Rows(table string) []source.Row {
	switch table {
	case Runs:
		return f.runRows()
	case Branches:
		return f.branchRows()
	case Approvals:
		return f.approvalRows()
	case HumanRequests:
		return f.humanRequestRows()
	case Signals:
		return f.signalRows()
	case ToolCalls:
		return f.toolCallRows()
	case Scorers:
		return f.scoreRows()
	case Events:
		return f.eventRows()
	case Provenance:
		return f.provenanceRows()
	}
	return nil
}

// OfRun returns those of tables whose rows belong to a run: it removes the tables of snapshots (see IsOfSnapshots), the
// leases, and the tables without a column run_id. It reuses the array of tables, so the caller must not use tables
// afterwards.
func OfRun(tables []source.Table) []source.Table {
	return slices.DeleteFunc(tables, func(t source.Table) bool {
		return IsOfSnapshots(t.Name) || t.Name == leases || !HasRun(t)
	})
}

// IsOfSnapshots reports whether the table with the given name has snapshots or their texts.
func IsOfSnapshots(name string) bool {
	switch name {
	case Snapshots, "_smithers_snapshot_contents", "_smithers_snapshot_payload_refs", "_smithers_snapshot_payloads":
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
