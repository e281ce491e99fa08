package dbrun

import (
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// RunRow is a run of a database, with its row and its fork.
type RunRow struct {
	ID   string
	Row  source.Row // the row of _smithers_runs; nil if the database does not have the run
	Fork *Fork      // nil if the run is not a fork, or descends from itself
}

// Fork is a row of _smithers_branches.
type Fork struct {
	Parent             string // the id of the run from which the fork was made
	FrameNo            int64  // Smithers' number of the frame from which the fork was made
	Label, Description string
	AtMs               int64 // the time of the fork, in milliseconds
}

// ReadForks returns the forks of a database, by the fork's run id. It skips a row without a run, a parent, a frame
// number or a time.
func ReadForks(tx *source.Tx) (map[string]*Fork, error) {
	forks := make(map[string]*Fork)
	for row, err := range tx.Rows(tables.Branches, "") {
		if err != nil {
			return nil, err
		}
		run, hasRun := dbrow.ColumnText(row, "run_id")
		parent, hasParent := dbrow.ColumnText(row, "parent_run_id")
		no, hasNumber := dbrow.ColumnNumber(row, "parent_frame_no")
		at, hasTime := dbrow.ColumnTime(row, "created_at_ms")
		if !hasRun || !hasParent || !hasNumber || !hasTime || no < 0 {
			continue
		}
		label, _ := dbrow.ColumnText(row, "branch_label")
		description, _ := dbrow.ColumnText(row, "fork_description")
		forks[run] = &Fork{parent, no, label, description, at}
	}
	return forks, nil
}

// ParentsFirst returns runs of a database, each run once and after its parent. wanted has the ids of the wanted
// runs; nil means all runs. The result has the wanted runs and all runs from which they were forked. rows has
// the rows of _smithers_runs, and forks is the result of ReadForks.
//
// If a wanted run has no row, its Row is nil. A parent without a row is left out. If a run descends from
// itself, one run of the circle has no Fork.
func ParentsFirst(rows []source.Row, forks map[string]*Fork, wanted []string) []RunRow {
	known := make(map[string]source.Row, len(rows))
	var ids []string
	for _, row := range rows {
		id := dbrow.TextOf(row, "run_id")
		known[id] = row
		ids = append(ids, id)
	}
	if wanted != nil {
		ids = wanted
	}
	var out []RunRow
	done := make(map[string]bool, len(ids))
	for _, id := range ids {
		var line []RunRow           // the run, its parent, the parent's parent and so on
		on := make(map[string]bool) // the ids of the runs in line
		// Follow the parents until a run that is in out already, a run without a parent, or a circle.
		for at := id; !done[at] && !on[at]; {
			on[at] = true
			one := RunRow{ID: at, Row: known[at], Fork: forks[at]}
			line = append(line, one)
			if one.Fork == nil || at != id && one.Row == nil {
				break
			}
			if on[one.Fork.Parent] { // the run descends from itself
				line[len(line)-1].Fork = nil
				break
			}
			at = one.Fork.Parent
		}
		for _, one := range slices.Backward(line) {
			if one.Row != nil || one.ID == id {
				out = append(out, one)
			}
			done[one.ID] = true
		}
	}
	return out
}
