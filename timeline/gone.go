package timeline

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// refusePruned returns run_pruned if the run has a tombstone in this repository, so that no new run gets the id of a
// pruned run.
func (f runFinder) refusePruned(ctx context.Context, run string) error {
	return f.checkPruned(ctx, run, "its history was collected and cannot come back: choose another id")
}

// pruned is a finder that finds no run: it returns run_pruned for the exact id of a run with a tombstone, and
// run_not_found for any other name. It runs before byPrefix, which might take a pruned run's id for a prefix.
func (f runFinder) pruned(ctx context.Context, run string) (string, objstore.ID, error) {
	if err := f.checkPruned(ctx, run, "its history was collected and cannot come back: `git smithers runs` lists the runs"); err != nil {
		return "", objstore.ID{}, err
	}
	return "", objstore.ID{}, RunNotFound(run)
}

// checkPruned returns run_pruned if the run has a tombstone in this repository. collected is the hint if the history
// was collected, so that `prune --undo` cannot bring the run back.
func (f runFinder) checkPruned(ctx context.Context, run, collected string) error {
	name, err := refs.Gone(run)
	if err != nil {
		return Explain(err)
	}
	if _, err := f.refs.Resolve(ctx, name); errors.Is(err, refs.ErrNotFound) {
		return nil
	} else if err != nil {
		return Explain(err)
	}
	out := fault.New(fault.RunPruned, "run %q was pruned", run).Detail("runId", run)
	if f.isHeld(ctx, run) {
		return out.Hint("`git smithers prune --undo %s` brings it back", fault.Word(run))
	}
	return out.Hint("%s", collected).Detail("collected", true)
}

// collectedStone returns the tombstone ref and its value for a run that was pruned and collected. The value is zero
// if the run was not pruned. If the run's history is still held, the error is run_pruned: `prune --undo` can bring it
// back.
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

// isHeld reports whether the run was pruned and its history is still held, that is, not collected yet.
func (f runFinder) isHeld(ctx context.Context, run string) bool {
	name, err := refs.Held(run)
	if err == nil {
		_, err = f.refs.Resolve(ctx, name)
	}
	return err == nil
}
