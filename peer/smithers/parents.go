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

// parentsOfNew are the runs that others were forked from which the repository does not have yet.
func (im *importJob) parentsOfNew(ctx context.Context, sources []dbrun.RunRow) map[string]bool {
	parents := make(map[string]bool)
	for _, one := range sources {
		if one.Fork == nil || one.Row == nil || im.memory.runs[one.ID] != nil {
			continue
		}
		if here, err := im.isHere(ctx, one.ID); !here && err == nil { // of an error its import tells
			parents[one.Fork.Parent] = true
		}
	}
	return parents
}

// refuseOrphan refuses a run that the repository does not have yet where this pass could not import what it was forked
// from: it would stay without a parent for good. What was forked from a run that was pruned here stands alone.
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
		return nil // its import says so
	}
	if code := fault.CodeOf(why); code == fault.Conflict || code == fault.Locked {
		return fault.New(fault.Conflict, "run %q was forked from run %q, to which somebody else appends", from.ID, parent).
			Hint("nothing of it was imported; import again").Detail("runId", from.ID)
	}
	return fault.New(fault.ImportRefused, "run %q cannot be imported without run %q, which it was forked from", from.ID, parent).
		Hint("import that one first").Detail("runId", from.ID)
}
