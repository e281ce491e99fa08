package smithers

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// sourceRun is a run of a database that is to be imported.
type sourceRun struct {
	id   string
	row  source.Row // of _smithers_runs; nil for none
	fork *fork      // where it was forked from, as far as that comes before it; nil for nothing
}

// fork is a row of _smithers_branches.
type fork struct {
	parent             string
	frameNo            int64 // of Smithers
	label, description string
	atMs               int64
}

func readForks(tx *source.Tx) (map[string]*fork, error) {
	forks := make(map[string]*fork)
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
		forks[run] = &fork{parent, no, label, description, at}
	}
	return forks, nil
}

// parentsFirst puts the wanted runs (nil: all) and what they were forked from into an order in which
// a run comes after its parent. A run that descends from itself comes without a parent.
func parentsFirst(rows []source.Row, forks map[string]*fork, wanted []string) []sourceRun {
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
	var out []sourceRun
	done := make(map[string]bool, len(ids))
	for _, id := range ids {
		var line []sourceRun // from the run up
		on := make(map[string]bool)
		for at := id; !done[at] && !on[at]; {
			on[at] = true
			one := sourceRun{id: at, row: known[at], fork: forks[at]}
			line = append(line, one)
			if one.fork == nil || at != id && one.row == nil {
				break
			}
			if on[one.fork.parent] {
				line[len(line)-1].fork = nil
				break
			}
			at = one.fork.parent
		}
		for _, one := range slices.Backward(line) {
			if one.row != nil || one.id == id {
				out = append(out, one)
			}
			done[one.id] = true
		}
	}
	return out
}

// isHere reports whether the repository has a run.
func (im *importJob) isHere(ctx context.Context, run string) (bool, error) {
	_, err := im.store.Head(ctx, run)
	if fault.CodeOf(err) == fault.RunNotFound {
		return false, nil
	}
	return err == nil, err
}

// parentsOfNew are the runs that others were forked from which the repository does not have yet.
func (im *importJob) parentsOfNew(ctx context.Context, sources []sourceRun) map[string]bool {
	parents := make(map[string]bool)
	for _, one := range sources {
		if one.fork == nil || one.row == nil || im.memory.runs[one.id] != nil {
			continue
		}
		if here, err := im.isHere(ctx, one.id); !here && err == nil { // of an error its import tells
			parents[one.fork.parent] = true
		}
	}
	return parents
}

// refuseOrphan refuses a run that the repository does not have yet where this pass could not import what it was forked
// from: it would stay without a parent for good. What was forked from a run that was pruned here stands alone.
func (im *importJob) refuseOrphan(ctx context.Context, from sourceRun) error {
	if from.fork == nil {
		return nil
	}
	parent := from.fork.parent
	why := im.failed[parent]
	if why == nil || fault.CodeOf(why) == fault.RunPruned {
		return nil
	}
	if here, err := im.isHere(ctx, from.id); here || err != nil {
		return err
	}
	if err := im.store.CheckNew(ctx, from.id); fault.CodeOf(err) == fault.RunPruned && !im.revives(from.id) {
		return nil // its import says so
	}
	if code := fault.CodeOf(why); code == fault.Conflict || code == fault.Locked {
		return fault.New(fault.Conflict, "run %q was forked from run %q, to which somebody else appends", from.id, parent).
			Hint("nothing of it was imported; import again").Detail("runId", from.id)
	}
	return fault.New(fault.ImportRefused, "run %q cannot be imported without run %q, which it was forked from", from.id, parent).
		Hint("import that one first").Detail("runId", from.id)
}
