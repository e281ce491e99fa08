package inspect

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/runpage"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// groupAt returns the group at the newest entry of a run, ranked by the expression of its plan, or nil if the run is not a group.
func groupAt(ctx context.Context, s *session.Session, store *timeline.Store, newest *timeline.LoadedEntry) (*group.Group, error) {
	head, err := store.HeadOf(newest)
	if err != nil {
		return nil, err
	}
	if plan, err := group.PlanOf(head); err != nil || plan == nil {
		return nil, err
	}
	return group.Open(ctx, store, head.Row().ID, "", s.Now())
}

// printGroup prints the page of a group for people and, where none reads, its variants as lines.
func printGroup(ctx context.Context, s *session.Session, g *group.Group) error {
	t := runpage.GroupTable(g, display.NewPainter(ctx, s))
	if !s.IsTerminalOut() {
		return t.Write(s.Terminal)
	}
	for _, line := range append([]string{g.Row.ID + "  " + string(g.Row.Status) + "  " + g.Count()}, runpage.GroupLines(g)...) {
		if err := s.Printf("%s\n", plain.Text(line)); err != nil {
			return err
		}
	}
	return t.Write(s.Terminal)
}
