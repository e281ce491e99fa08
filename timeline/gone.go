package timeline

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// refusePruned is run_pruned where a run has a tombstone here: it is not made again, as
// if it had never been.
func (f runFinder) refusePruned(ctx context.Context, run string) error {
	return f.whetherPruned(ctx, run, "it was collected, too: choose another id")
}

// pruned is run_pruned for the exact id of a run that has a tombstone here, run_not_found for any other: taken
// for a prefix, the id would mean another run.
func (f runFinder) pruned(ctx context.Context, run string) (string, objstore.ID, error) {
	if err := f.whetherPruned(ctx, run, "it was collected, too: `git smithers runs` lists the runs"); err != nil {
		return "", objstore.ID{}, err
	}
	return "", objstore.ID{}, RunNotFound(run)
}

// whetherPruned is run_pruned where a run has a tombstone here; collected is the hint where nothing brings it back.
func (f runFinder) whetherPruned(ctx context.Context, run, collected string) error {
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

// collectedStone is the tombstone of a run that was pruned and collected; zero where it was not pruned, and run_pruned
// where it is still held, since it comes back as it was then.
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

// isHeld reports whether a pruned run is not collected yet.
func (f runFinder) isHeld(ctx context.Context, run string) bool {
	name, err := refs.Held(run)
	if err == nil {
		_, err = f.refs.Resolve(ctx, name)
	}
	return err == nil
}
