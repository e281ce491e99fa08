package upkeep

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/timeline"
)

// withKeeper calls f with the keeper of the repository in which the command was called, and returns the error of f. A
// person at a terminal sees the progress of f, unless --quiet or --json is given.
func withKeeper(ctx context.Context, s *session.Session, f func(*prune.Keeper) error) error {
	return s.WithStore(ctx, func(store *timeline.Store) error {
		opts := prune.Options{Forgets: func(ctx context.Context, h *timeline.Head) { requests.Open(s, store).CancelCalled(ctx, h, "") }}
		if s.Quiet || s.JSON || !s.AtTerminal(s.Err) {
			return f(prune.New(store, opts))
		}
		steps := s.Steps()
		defer steps.Finish()
		opts.Progress = steps.Update
		return f(prune.New(store, opts))
	})
}
