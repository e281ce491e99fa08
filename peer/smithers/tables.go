package smithers

import (
	"strings"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Smithers' tables that have a place in our model.
const (
	tableRuns          = "_smithers_runs"
	tableBranches      = "_smithers_branches"
	tableNodes         = "_smithers_nodes"
	tableAttempts      = "_smithers_attempts"
	tableLoops         = "_smithers_ralph"
	tableApprovals     = "_smithers_approvals"
	tableHumanRequests = "_smithers_human_requests"
	tableSignals       = "_smithers_signals"
	tableEvents        = "_smithers_events"
	tableProvenance    = "_smithers_output_provenance"
	tableInput         = "input"
	ownTable           = "_smithers_" // begins the names of Smithers' own tables
)

// facts are what we know of a run at its tip, from which Smithers' rows are predicted.
type facts struct {
	Run      snapshot.Run
	Whole    snapshot.Whole // the state of the newest frame of the line, with the tip's mailbox
	Attempts []snapshot.Attempt
	Logs     map[string]string // by the attempt's key
	Events   []snapshot.Event  // the run's own, from seq 0
	Frames   []frameFacts      // the line: those that were not dropped, oldest first
	Restored bool              // the run is not as it was imported: Smithers restores it from its newest snapshot
}

// frameFacts are one frame of the line, as it stands in ext/smithers/frames and as it is.
type frameFacts struct {
	Frame       int64 // ours
	PeerNo      int64 // Smithers'
	AtMs        int64
	ContentHash string // Smithers', computed
	XMLHash     string // of the rendered tree; "" for none
	Tree        string // rendered, canonical; "" for none
}

// predict gives the rows of a table of a run, as far as they follow from f. It knows the
// tables of Smithers that have a place in our model, the output tables of columns and the
// input; none for any other. The rows have all columns of the table but run_id. Paths in them are without their root: dbrow.Restore
// puts it there.
//
// What it predicts is part of the format: overrides say what is different, so a row that is predicted otherwise
// than when it was stored comes back wrong.
func predict(f *facts, table source.Table, columns []outputColumn) ([]source.Row, error) {
	if err := dbrow.CheckColumns(table); err != nil {
		return nil, err
	}
	return fitted(table, f.predictTable(table, columns)), nil
}

// fitted gives rows all columns of a table but run_id, and no others.
func fitted(table source.Table, rows []source.Row) []source.Row {
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

func (f *facts) predictTable(table source.Table, columns []outputColumn) []source.Row {
	switch table.Name {
	case tableRuns:
		return f.predictRun()
	case tableBranches:
		return f.predictBranch()
	case tableNodes:
		return f.predictNodes()
	case tableAttempts:
		return f.predictAttempts()
	case tableLoops:
		return f.predictLoops()
	case tableApprovals:
		return f.predictApprovals()
	case tableHumanRequests:
		return f.predictHumanRequests()
	case tableSignals:
		return f.predictSignals()
	case tableEvents:
		return f.predictEvents()
	case tableProvenance:
		return f.predictProvenance()
	case tableInput:
		return f.predictInput(table, columns)
	}
	if strings.HasPrefix(table.Name, ownTable) {
		return nil
	}
	return f.predictOutputs(table, columns)
}
