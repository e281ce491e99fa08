package inspect

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

// groupAt returns the group at the newest entry of a run, ranked by the expression of its plan, or nil if the run is not a group.
func groupAt(ctx context.Context, s *session.Session, store *timeline.Store, newest *timeline.LoadedEntry) (*group.Group, error) {
	head, err := store.HeadOf(newest)
	if err != nil || !group.Is(head) {
		return nil, err
	}
	return requests.OpenGroup(ctx, s, store, head.Row().ID, "")
}

// showGroup prints the page of a group. shown is false if the run is not a group.
func showGroup(ctx context.Context, s *session.Session, store *timeline.Store, newest *timeline.LoadedEntry) (shown bool, err error) {
	g, err := groupAt(ctx, s, store, newest)
	if err != nil || g == nil {
		return false, err
	}
	return true, s.Paged(ctx, func() error { return requests.PrintGroup(ctx, s, g) })
}
