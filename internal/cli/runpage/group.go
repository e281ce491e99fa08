package runpage

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// widestInput is the width of the longest value of an input in the table of a group.
const widestInput = 30

// Group returns the variants of a group as a table: a row each, with a column for each member in which they differ.
func Group(g *group.Group, p display.Painter) term.Table {
	t := term.Table{Header: []string{"VARIANT", "RUN", "STATUS", "TOOK"}, Spare: []string{"TOKENS", "TOOK"}}
	t.Header = append(t.Header, g.Differs...)
	if g.By != "" {
		t.Header = append(t.Header, g.By)
	}
	t.Header = append(t.Header, "TOKENS", "COST")
	for _, v := range g.Variants {
		took, tokens, cost := "", "", ""
		if v.TookMs > 0 {
			took = display.Took(v.TookMs)
		}
		if v.Usage != nil {
			if tokens = strconv.FormatInt(v.Usage.Tokens(), 10); v.Usage.CostUSD > 0 {
				cost = plain.Cost(v.Usage.CostUSD)
			}
		}
		status := v.Status
		if v.Stale {
			status += " (stale)"
		}
		number := strconv.Itoa(v.Number)
		if slices.Contains(g.Best, v.Number) {
			number += " *"
		}
		cells := []term.Cell{{Text: number}, {Text: v.RunID}, {Text: status, Paint: p.Status}, {Text: took}}
		var members jsontext.Members
		_ = json.Unmarshal(v.Input, &members) // an object, as group.Read has checked
		for _, name := range g.Differs {
			text := ""
			for _, m := range members {
				if m.Name == name {
					text = display.Value(m.Value, widestInput)
				}
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
		t.Add(append(cells, term.Cell{Text: tokens}, term.Cell{Text: cost})...)
	}
	return t
}

// GroupLines returns the lines above and below the table of a group.
func GroupLines(g *group.Group) (above, below []string) {
	first := g.Row.ID + "  " + string(g.Row.Status) + "  " + g.Count()
	if g.Stale {
		first += "  (stale)"
	}
	above = append(above, plain.Text(first))
	for _, of := range []struct{ name, value string }{{"from", g.Plan.From}, {"stops when", g.Plan.StopWhen}, {"reason", g.Row.Error}} {
		if of.value != "" {
			above = append(above, plain.Text(of.name+": "+of.value))
		}
	}
	if len(g.Best) > 0 {
		names := make([]string, len(g.Best))
		for i, n := range g.Best {
			names[i] = g.Variants[n-1].RunID
		}
		best := "best by " + g.By + ": " + strings.Join(names, ", ")
		if len(g.Best) > 1 {
			best += " (tied)"
		}
		below = append(below, plain.Text(best))
	}
	if u := g.Usage; u != nil || g.Unknown > 0 {
		said := "used: nothing is known"
		if u != nil {
			if said = "used: " + display.Tokens(u.Tokens()); u.CostUSD > 0 {
				said += ", " + plain.Cost(u.CostUSD)
			}
		}
		if g.Unknown > 0 {
			said += "; " + plain.Count(g.Unknown, "attempt") + " did not say what they used"
		}
		below = append(below, said)
	}
	return above, below
}
