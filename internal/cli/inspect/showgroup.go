package inspect

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// widestInput is the width of the longest value of an input in the table of a group.
const widestInput = 30

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
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: slices.Concat([]string{"VARIANT", "RUN", "STATUS", "TOOK"}, g.Differs), Spare: []string{"TOKENS", "TOOK"}}
	if g.By != "" {
		t.Header = append(t.Header, g.By)
	}
	t.Header = append(t.Header, "TOKENS", "COST")
	for _, v := range g.Variants {
		t.Add(variantCells(g, v, p)...)
	}
	if !s.IsTerminalOut() {
		return t.Write(s.Terminal)
	}
	lines := []string{g.Row.ID + "  " + string(g.Row.Status) + "  " + g.Count()}
	for _, of := range []struct{ name, value string }{{"from", g.Plan.From}, {"stops when", g.Plan.StopWhen}, {"reason", g.Row.Error}} {
		if of.value != "" {
			lines = append(lines, of.name+": "+of.value)
		}
	}
	if u := g.Usage; u != nil {
		lines = append(lines, "used: "+display.Tokens(u.Tokens())+", "+plain.Cost(u.CostUSD))
	}
	if g.Unknown > 0 {
		lines = append(lines, "unknown: what "+plain.Count(g.Unknown, "attempt")+" used")
	}
	if len(g.Best) > 0 {
		lines = append(lines, "* has the highest value of "+g.By)
	}
	for _, line := range lines {
		if err := s.Printf("%s\n", plain.Text(line)); err != nil {
			return err
		}
	}
	return t.Write(s.Terminal)
}

// variantCells returns the row of a variant in the table of a group.
func variantCells(g *group.Group, v *group.Variant, p display.Painter) []term.Cell {
	number, status, took, tokens, cost := strconv.Itoa(v.Number), v.Status, "", "", ""
	if slices.Contains(g.Best, v.Number) {
		number += " *"
	}
	if v.Stale {
		status += " (stale)"
	}
	if v.TookMs > 0 {
		took = display.Took(v.TookMs)
	}
	if v.Usage != nil {
		tokens = strconv.FormatInt(v.Usage.Tokens(), 10)
		if v.Usage.CostUSD > 0 {
			cost = plain.Cost(v.Usage.CostUSD)
		}
	}
	cells := []term.Cell{{Text: number}, {Text: v.RunID}, {Text: status, Paint: p.Status}, {Text: took}}
	var members jsontext.Members
	_ = json.Unmarshal(v.Input, &members) // an object, as group.Read has checked
	for _, name := range g.Differs {
		text := ""
		if at := slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Name == name }); at >= 0 {
			text = display.Value(members[at].Value, widestInput)
		}
		cells = append(cells, term.Cell{Text: text})
	}
	if g.By != "" {
		text := ""
		if v.Value != nil {
			text = display.Score(*v.Value)
		}
		cells = append(cells, term.Cell{Text: text})
	}
	return append(cells, term.Cell{Text: tokens}, term.Cell{Text: cost})
}
