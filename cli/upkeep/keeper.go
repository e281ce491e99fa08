package upkeep

import (
	"context"

	"github.com/git-smithers/git-smithers/cli/desk"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/keep"
)

// withKeeper calls f with the keeper of the repository in which the command was called, and returns the error of f. A
// person at a terminal sees the progress of f, unless --quiet or --json is given.
func withKeeper(ctx context.Context, s *session.Session, f func(*keep.Keeper) error) error {
	return s.WithStore(ctx, func(store *timeline.Store) error {
		opts := keep.Options{Forgets: func(ctx context.Context, h *timeline.Head) { desk.Open(s, store).CancelCalled(ctx, h, "") }}
		if s.Quiet || s.JSON || !s.AtTerminal(s.Err) {
			return f(keep.New(store, opts))
		}
		steps := s.Steps()
		defer steps.Finish()
		opts.Progress = steps.Update
		return f(keep.New(store, opts))
	})
}
