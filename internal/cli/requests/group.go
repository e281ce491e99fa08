package requests

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/app/stateexpr"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/runpage"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

// OpenGroup reads a group and ranks its variants by an expression, or, if by is "", by that of the group's plan. Codes: those of group.Open and
// invalid_expression.
func OpenGroup(ctx context.Context, s *session.Session, store *timeline.Store, id, by string) (*group.Group, error) {
	g, err := group.Open(ctx, store, id, s.Now())
	if err != nil {
		return nil, err
	}
	if by == "" {
		by = g.Plan.By
	}
	if by == "" {
		return g, nil
	}
	expression, err := stateexpr.Compile("by", by)
	if err == nil {
		err = g.Rank(expression)
	}
	return g, err
}

// PrintGroup prints the page of a group for people and, where none reads, its variants as lines.
func PrintGroup(ctx context.Context, s *session.Session, g *group.Group) error {
	table := runpage.Group(g, display.NewPainter(ctx, s))
	if !s.IsTerminalOut() {
		return table.Write(s.Terminal)
	}
	above, below := runpage.GroupLines(g)
	for _, line := range append(above, "") {
		if err := s.Printf("%s\n", line); err != nil {
			return err
		}
	}
	if err := table.Write(s.Terminal); err != nil {
		return err
	}
	for _, line := range below {
		if err := s.Printf("\n%s\n", line); err != nil {
			return err
		}
	}
	return nil
}
