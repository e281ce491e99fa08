package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
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

// refuseOrphan returns an error if from is a new fork and this pass refused the fork's parent. A fork that is
// imported before its parent never gets a parent. The code is conflict if another process appended to the parent
// or held a lock, because another import may succeed. Otherwise the code is import_refused.
//
// refuseOrphan returns nil if the parent was pruned; the fork is then imported without a parent. It also returns
// nil if the fork itself was pruned and the request does not revive the fork, because the import of the fork
// reports that error.
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
	if err := timeline.RefusePruned(ctx, im.store, from.ID); fault.CodeOf(err) == fault.RunPruned && !im.revives(from.ID) {
		return nil // the import of the run returns run_pruned
	}
	if code := fault.CodeOf(why); code == fault.Conflict || code == fault.Locked {
		return fault.New(fault.Conflict, "run %q was forked from run %q, to which another process is appending", from.ID, parent).
			Hint("run the import again").Detail("runId", from.ID)
	}
	return fault.New(fault.ImportRefused, "run %q cannot be imported without its parent, run %q", from.ID, parent).
		Hint("import run %q first", parent).Detail("runId", from.ID)
}
