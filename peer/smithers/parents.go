package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// isHere reports whether the repository has a run.
func (im *importJob) isHere(ctx context.Context, run string) (bool, error) {
	_, err := im.store.Head(ctx, run)
	if fault.CodeOf(err) == fault.RunNotFound {
		return false, nil
	}
	return err == nil, err
}

// parentsOfNew returns the parents of the forks that the repository does not have yet.
func (im *importJob) parentsOfNew(ctx context.Context, sources []dbrun.RunRow) map[string]bool {
	parents := make(map[string]bool)
	for _, one := range sources {
		if one.Fork == nil || one.Row == nil || im.memory.runs[one.ID] != nil {
			continue
		}
		if here, err := im.isHere(ctx, one.ID); !here && err == nil { // the run's import reports the error
			parents[one.Fork.Parent] = true
		}
	}
	return parents
}

// refuseOrphan refuses a new run if this pass could not import its parent, because the run would never get a parent.
// If the parent was pruned here, the run is imported without it.
func (im *importJob) refuseOrphan(ctx context.Context, from dbrun.RunRow) error {
	if from.Fork == nil {
		return nil
	}
	parent := from.Fork.Parent
	why := im.failed[parent]
	if why == nil || fault.CodeOf(why) == fault.RunPruned {
		return nil
	}
	if here, err := im.isHere(ctx, from.ID); here || err != nil {
		return err
	}
	if err := timeline.CheckNew(ctx, im.store, from.ID); fault.CodeOf(err) == fault.RunPruned && !im.revives(from.ID) {
		return nil // the run's import returns the error
	}
	if code := fault.CodeOf(why); code == fault.Conflict || code == fault.Locked {
		return fault.New(fault.Conflict, "run %q was forked from run %q, to which another process is appending", from.ID, parent).
			Hint("the run was not imported; import again").Detail("runId", from.ID)
	}
	return fault.New(fault.ImportRefused, "run %q cannot be imported without run %q, which it was forked from", from.ID, parent).
		Hint("import run %q first", parent).Detail("runId", from.ID)
}
