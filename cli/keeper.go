package cli

import (
	"context"

	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/keep"
)

// withKeeper runs f on what looks after the history of the repository, with progress where
// a person would see it.
func (s *session) withKeeper(ctx context.Context, f func(*keep.Keeper) error) error {
	return s.withStore(ctx, func(store *timeline.Store) error {
		if s.Quiet || s.JSON || !s.AtTerminal(s.Err) {
			return f(keep.New(store, keep.Options{}))
		}
		steps := &stepProgress{s: s}
		defer steps.finish()
		return f(keep.New(store, keep.Options{Progress: steps.update}))
	})
}
