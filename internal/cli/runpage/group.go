package runpage

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// The widths of columns in the table of a group: of all members of inputs together, of one, and of the title of the values. So TOOK has room in 140 columns.
const (
	widestMembers = 58
	widestMember  = 30
	leastMember   = 12
	widestBy      = 24
)

// maxMembers is the largest number of members of inputs in the table of a group.
const maxMembers = 50

// GroupTable returns a row for each variant of a group.
func GroupTable(g *group.Group, p display.Painter) term.Table {
	members := g.Differs[:min(len(g.Differs), maxMembers)]
	width := max(leastMember, min(widestMember, widestMembers/max(1, len(members))-2))
	t := term.Table{Header: []string{"VARIANT", "RUN", "STATUS", "TOOK"}, Spare: []string{"TOKENS", "TOOK"}}
	for _, name := range members {
		t.Header = append(t.Header, term.CutEnd(name, width, "…"))
	}
	if g.By != "" {
		t.Header = append(t.Header, term.CutEnd(g.By, widestBy, "…"))
	}
	t.Header = append(t.Header, "TOKENS", "COST")
	for _, v := range g.Variants {
		t.Add(variantCells(g, v, members, width, p)...)
	}
	return t
}

// GroupLines returns what a group was made from, why it ended, what it used, and what ranks it.
func GroupLines(g *group.Group) (lines []string) {
	for _, of := range []struct{ name, value string }{{"from", g.Plan.From}, {"stops when", g.Plan.StopWhen}, {"reason", g.Row.Error}} {
		if of.value != "" {
			lines = append(lines, of.name+": "+of.value)
		}
	}
	if u := g.Usage; u != nil {
		lines = append(lines, "used: "+display.Tokens(u.Tokens())+", "+plain.Cost(u.CostUSD))
	}
	if g.Unknown > 0 {
		lines = append(lines, plain.Count(g.Unknown, "attempt")+" reported no tokens or cost")
	}
	if more := len(g.Differs) - maxMembers; more > 0 {
		lines = append(lines, "not shown: "+plain.Count(more, "member")+" of the inputs, which --json has")
	}
	if g.By == "" && g.Plan.By != "" {
		lines = append(lines, "by: "+g.Plan.By+" (somebody else's, not evaluated)")
	}
	if len(g.Best) > 0 {
		lines = append(lines, "* has the highest value of "+g.By)
	}
	return lines
}

// variantCells returns the row of a variant in the table of a group, with the members of its input that are named in differ, each at most width wide.
func variantCells(g *group.Group, v *group.Variant, differ []string, width int, p display.Painter) []term.Cell {
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
	for _, name := range differ {
		text := ""
		if at := slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Name == name }); at >= 0 {
			text = display.Value(members[at].Value, width)
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
