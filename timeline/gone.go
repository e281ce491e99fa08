package timeline

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// refusePruned is run_pruned where a run has a tombstone here: it is not made again, as
// if it had never been.
func (s *Store) refusePruned(ctx context.Context, run string) error {
	name, err := refs.Gone(run)
	if err != nil {
		return Explain(err)
	}
	if _, err := s.refs.Resolve(ctx, name); errors.Is(err, refs.ErrNotFound) {
		return nil
	} else if err != nil {
		return Explain(err)
	}
	out := fault.New(fault.RunPruned, "run %q was pruned", run).Detail("runId", run)
	if s.isHeld(ctx, run) {
		return out.Hint("`git smithers prune --undo %s` brings it back", run)
	}
	return out.Hint("it was collected, too: choose another id")
}

// isHeld tells whether a pruned run is not collected yet.
func (s *Store) isHeld(ctx context.Context, run string) bool {
	name, err := refs.Held(run)
	if err == nil {
		_, err = s.refs.Resolve(ctx, name)
	}
	return err == nil
}

// notFound is run_not_found for a run's id or a prefix of it, and says where it was pruned.
func (s *Store) notFound(ctx context.Context, run string) error {
	out := fault.New(fault.RunNotFound, "no run is called %q", run).
		Hint("`git smithers runs` lists the runs").Detail("run", run)
	if s.isHeld(ctx, run) {
		out = out.Hint("it was pruned: `git smithers prune --undo %s` brings it back", run)
	}
	return out
}
