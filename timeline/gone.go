package timeline

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// refusePruned returns run_pruned if the run has a tombstone in this repository, so that no new run gets the id
// of a pruned run. Otherwise refusePruned returns nil.
func (f runFinder) refusePruned(ctx context.Context, run string) error {
	return f.checkPruned(ctx, run, "choose another id: the history of the pruned run was collected")
}

// pruned has the form of way.find, but never finds a run. It returns run_pruned if run is the exact id of a run
// with a tombstone, and run_not_found for any other name. It must be tried before byPrefix, which could find
// another run whose id begins with the pruned run's id.
func (f runFinder) pruned(ctx context.Context, run string) (string, objstore.ID, error) {
	if err := f.checkPruned(ctx, run, "`git smithers runs` lists the remaining runs: the history of the pruned run was collected"); err != nil {
		return "", objstore.ID{}, err
	}
	return "", objstore.ID{}, RunNotFound(run)
}

// checkPruned returns run_pruned if the run has a tombstone in this repository or if its history is held, and otherwise
// nil. A held history has no tombstone if doctor has removed a broken one. collected is the hint for a run whose history
// was collected, so that `prune --undo` cannot bring the run back.
func (f runFinder) checkPruned(ctx context.Context, run, collected string) error {
	name, err := refs.Gone(run)
	if err != nil {
		return Explain(err)
	}
	held := f.isHeld(ctx, run)
	if _, err := f.refs.Resolve(ctx, name); errors.Is(err, refs.ErrNotFound) && !held {
		return nil
	} else if err != nil && !errors.Is(err, refs.ErrNotFound) {
		return Explain(err)
	}
	out := fault.New(fault.RunPruned, "run %q was pruned", run).Detail("runId", run)
	if held {
		return out.Hint("`git smithers prune --undo %s` brings the run back", fault.Word(run))
	}
	return out.Hint("%s", collected).Detail("collected", true)
}

// collectedStone returns the name of a run's tombstone ref and the value of the ref. The value is zero if the run has
// no tombstone. If the history of the pruned run is still held, the error is run_pruned, since `prune --undo` can bring
// the run back.
func (f runFinder) collectedStone(ctx context.Context, run string) (refs.Name, objstore.ID, error) {
	name, err := refs.Gone(run)
	if err != nil {
		return "", objstore.ID{}, Explain(err)
	}
	if f.isHeld(ctx, run) {
		return "", objstore.ID{}, f.refusePruned(ctx, run)
	}
	stone, err := f.refs.Resolve(ctx, name)
	if errors.Is(err, refs.ErrNotFound) {
		err = nil
	}
	return name, stone, Explain(err)
}

// isHeld reports whether the run was pruned and its history is still held, that is, not collected. It returns
// false if the ref of the history is unreadable.
func (f runFinder) isHeld(ctx context.Context, run string) bool {
	name, err := refs.Held(run)
	if err == nil {
		_, err = f.refs.Resolve(ctx, name)
	}
	return err == nil
}
