package diff

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// RenderOptions configure [Result.Render]. The zero value means no colours and shortened values.
type RenderOptions struct {
	// Colors adds colours: green for added lines, red for removed lines and yellow for changed lines.
	Colors bool
	// Full shows values completely. Otherwise long lines and long values are shortened, and the size of the
	// omitted part is shown.
	Full bool
	// Side, if not nil, puts the two sides of a changed value beside each other. It cuts or breaks a printable text into lines that are padded to the
	// width of one side; the byte at the offset focus stays visible.
	Side func(text string, focus int) []string
}

// Render writes the result to w as text for people. The text has the same sections as the text of Smithers, and also
// the values of the outputs and of the input. Render escapes characters that are not printable, so that stored text
// cannot control the terminal. It returns only errors of w.
func (r *Result) Render(w io.Writer, options RenderOptions) error {
	p := &printer{options: options}
	if r.Empty() {
		p.line(plain, "No differences")
	}
	r.renderNodes(p)
	r.renderOutputs(p)
	r.renderLoops(p)
	r.renderMailbox(p)
	if r.InputChanged {
		p.line(plain, "Input changed")
		if r.Input != nil {
			p.change(r.Input.From, r.Input.To)
		}
	}
	if r.VCSPointerChanged {
		p.line(plain, "VCS pointer changed")
		if r.VCSPointer != nil {
			p.line(changed, "  ~ "+printable(orNone(r.VCSPointer.From))+" -> "+printable(orNone(r.VCSPointer.To)))
		}
	}
	_, err := w.Write(p.out)
	return err
}

// renderNodes adds the sections about nodes.
func (r *Result) renderNodes(p *printer) {
	p.keys("Nodes added:", added, r.NodesAdded)
	p.keys("Nodes removed:", removed, r.NodesRemoved)
	p.heading("Nodes changed:", len(r.NodesChanged))
	for _, n := range r.NodesChanged {
		p.line(changed, "  ~ "+printable(n.Key)+": "+strings.Join(nodeDifferences(n.From, n.To), ", "))
	}
}

// renderOutputs adds the sections about outputs, with their values.
func (r *Result) renderOutputs(p *printer) {
	p.heading("Outputs added:", len(r.OutputsAdded))
	for _, o := range r.OutputsAdded {
		p.value(added, rowName(o.Table, o.NodeID, o.Iteration), o.Value)
	}
	p.heading("Outputs removed:", len(r.OutputsRemoved))
	for _, o := range r.OutputsRemoved {
		p.value(removed, rowName(o.Table, o.NodeID, o.Iteration), o.Value)
	}
	p.heading("Outputs changed:", len(r.OutputsChanged))
	for _, o := range r.OutputsChanged {
		p.line(changed, "  ~ "+rowName(o.Table, o.NodeID, o.Iteration))
		p.change(o.From, o.To)
	}
}

// renderLoops adds the sections about loops. A changed loop is a line with its id, its iteration and whether it is
// done, each before and after.
func (r *Result) renderLoops(p *printer) {
	p.keys("Loops added:", added, r.LoopsAdded)
	p.keys("Loops removed:", removed, r.LoopsRemoved)
	p.heading("Loops changed:", len(r.LoopsChanged))
	for _, l := range r.LoopsChanged {
		p.line(changed, fmt.Sprintf("  ~ %s: iter %d->%d done %t->%t",
			printable(l.RalphID), l.From.Iteration, l.To.Iteration, l.From.Done, l.To.Done))
	}
}

// rowName returns the name of an output's row for people: the table and the key of the node, in printable characters.
func rowName(table, nodeID string, iteration int) string {
	return printable(table) + " " + printable(snapshot.Key(nodeID, iteration))
}

// orNone returns s, or "none" if s is empty.
func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// nodeDifferences returns a printable phrase for each field that differs between two rows of a node. from is the old
// row, and to is the new row. The phrase for the state comes first. If the state differs and only one row has an
// attempt, the attempt has no phrase, because the state explains it.
func nodeDifferences(from, to snapshot.Node) []string {
	var out []string
	note := func(what, from, to string) {
		if from != to {
			out = append(out, what+printable(orNone(from))+" -> "+printable(orNone(to)))
		}
	}
	note("", string(from.State), string(to.State))
	if from.State == to.State || (from.LastAttempt != nil && to.LastAttempt != nil) {
		note("attempt ", number(from.LastAttempt), number(to.LastAttempt))
	}
	note("label ", quoted(from.Label), quoted(to.Label))
	note("output ", from.OutputTable, to.OutputTable)
	note("loop ", quoted(from.RalphID), quoted(to.RalphID))
	if !slices.Equal(from.Needs, to.Needs) {
		note("needs ", strings.Join(from.Needs, ","), strings.Join(to.Needs, ","))
	}
	return out
}

// number returns a number in decimal, or "" for nil.
func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// quoted returns a text in quotes, or "" for nil.
func quoted(s *string) string {
	if s == nil {
		return ""
	}
	return strconv.Quote(*s)
}
