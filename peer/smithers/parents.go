package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// isHere reports whether the repository has the run. It returns an error if the run is unreadable or its id is
// invalid.
func (im *importJob) isHere(ctx context.Context, run string) (bool, error) {
	_, err := im.store.Head(ctx, run)
	if fault.CodeOf(err) == fault.RunNotFound {
		return false, nil
	}
	return err == nil, err
}

// parentsOfNew returns the set of the parents of new forks. A new fork is a fork in sources that the repository
// does not have. A watch must import the parents first. parentsOfNew leaves out a fork whose ref cannot be read.
func (im *importJob) parentsOfNew(ctx context.Context, sources []dbrun.RunRow) map[string]bool {
	parents := make(map[string]bool)
	for _, one := range sources {
		if one.Fork == nil || one.Row == nil || im.memory.runs[one.ID] != nil {
			continue
		}
		if here, err := im.isHere(ctx, one.ID); !here && err == nil { // the import of the run reports an error
			parents[one.Fork.Parent] = true
		}
	}
	return parents
}

// refuseOrphan returns import_refused if from is a new fork and this pass refused the fork's parent: a fork that
// is imported before its parent never gets a parent. The error is conflict if other processes appended to the
// parent, so another import may succeed. If the parent was pruned, refuseOrphan returns nil, and the fork is
// imported without a parent. If the fork itself was pruned, refuseOrphan also returns nil, unless the request
// revives the fork.
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
		return nil // the import of the run returns run_pruned
	}
	if code := fault.CodeOf(why); code == fault.Conflict || code == fault.Locked {
		return fault.New(fault.Conflict, "run %q was forked from run %q, to which another process is appending", from.ID, parent).
			Hint("run the import again").Detail("runId", from.ID)
	}
	return fault.New(fault.ImportRefused, "run %q cannot be imported without its parent, run %q", from.ID, parent).
		Hint("import run %q first", parent).Detail("runId", from.ID)
}
