package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/comparison"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// sharedDocument is the newest frame that two runs have in common.
type sharedDocument struct {
	RunID   string `json:"runId"`
	FrameNo int64  `json:"frameNo"`
}

// runAlign prints two runs step by step. args are the runs. If full is set, it shows all rows and long values.
func runAlign(ctx context.Context, s *session.Session, store *timeline.Store, args []string, full bool) error {
	var sums [2]*summary.Summary
	for i, run := range args {
		id, err := store.ResolveRun(ctx, run)
		if err == nil {
			sums[i], err = summary.Read(ctx, store, id, s.Now())
		}
		if err != nil {
			return err
		}
	}
	aligned, err := comparison.Align(ctx, store, sums[0], sums[1])
	if err != nil {
		return err
	}
	if s.JSON {
		var shared *sharedDocument
		if at := aligned.Shared; at != nil {
			shared = &sharedDocument{at.Run, at.Frame}
		}
		rows := make([]alignedRowDocument, len(aligned.Rows))
		for i := range aligned.Rows {
			rows[i] = newAlignedRow(&aligned.Rows[i])
		}
		return s.WriteJSON(term.Document("alignment", term.Member("from", sums[0].Row.ID), term.Member("to", sums[1].Row.ID), term.Member("shared", shared),
			term.Member("rows", rows)))
	}
	v := alignView{Alignment: aligned, p: display.NewPainter(ctx, s), full: full}
	return s.Paged(ctx, func() error { return s.Printf("%s", v.text()) })
}

// An alignView shows an alignment to people.
type alignView struct {
	*comparison.Alignment

	p     display.Painter
	full  bool
	lines [][]term.Cell
}

// foldAbove is the number of equal rows next to each other above which they are one line.
const foldAbove = 3

// text returns the alignment as lines: the runs, the frames that they share, and the rows.
func (v *alignView) text() string {
	head := term.Cell{Text: "  STEP"}
	v.lines = [][]term.Cell{{head, v.title(v.A), v.title(v.B)}}
	for at := 0; at < len(v.Rows); {
		equal := v.equalRows(at)
		if equal > foldAbove && !v.full {
			v.lines = append(v.lines, []term.Cell{v.dim(fmt.Sprintf("  %s … %s: %s", v.name(at), v.name(at+equal-1), v.equalText(at, equal)))})
			at += equal
			continue
		}
		for range max(equal, 1) {
			v.row(&v.Rows[at])
			at++
		}
	}
	if len(v.Rows) == 0 {
		v.lines = append(v.lines, []term.Cell{v.dim("  no steps")})
	}
	return v.sharedLine() + v.aligned()
}

// aligned returns the lines in columns. Lines of one cell do not make the first column wide.
func (v *alignView) aligned() string {
	var rows [][]term.Cell
	for _, line := range v.lines {
		if len(line) > 1 {
			rows = append(rows, line)
		}
	}
	text, _ := term.AlignedLines(rows)
	columns := strings.Split(text, "\n")
	var b strings.Builder
	for _, line := range v.lines {
		if len(line) > 1 {
			b.WriteString(columns[0] + "\n")
			columns = columns[1:]
			continue
		}
		one, _ := term.AlignedLines([][]term.Cell{line})
		b.WriteString(one)
	}
	return b.String()
}

// title returns the name and the status of a run.
func (v *alignView) title(sum *summary.Summary) term.Cell {
	run := comparison.Run{Summary: sum}
	name := plain.Text(sum.Row.ID)
	if sum.Row.Parent != nil && sum.Row.Parent.Label != "" {
		name = plain.Text(sum.Row.Parent.Label) + " (" + name + ")"
	}
	text := name + ", " + statusOf(&run)
	return term.Cell{Text: text, Paint: func(text string) string { return v.p.StatusAs(string(sum.Row.Status), text) }}
}

// sharedLine returns the line about the frames that both runs have.
func (v *alignView) sharedLine() string {
	if v.Shared == nil {
		return v.p.Paint(term.Dim, "the runs share no frames") + "\n"
	}
	text := fmt.Sprintf("the first %s of %s", plain.Count(int(v.Shared.Frame+1), "frame"), plain.Text(v.Shared.Run))
	if v.Shared.Frame == 0 {
		return text + " is shared\n"
	}
	return text + " are shared\n"
}

// dim returns a faint cell.
func (v *alignView) dim(text string) term.Cell {
	return term.Cell{Text: text, Paint: func(text string) string { return v.p.Paint(term.Dim, text) }}
}

// equalRows returns how many rows from the index at on are equal. A step with calls that differ is not.
func (v *alignView) equalRows(at int) (n int) {
	for at+n < len(v.Rows) && v.Rows[at+n].Same() {
		row := &v.Rows[at+n]
		if row.CallA == nil {
			for _, next := range v.Rows[at+n+1:] {
				if next.CallA == nil && next.CallB == nil {
					break
				}
				if !next.Same() {
					return n
				}
			}
		}
		n++
	}
	return n
}

// equalText says how many steps and calls there are in n equal rows from the index at on.
func (v *alignView) equalText(at, n int) string {
	steps := 0
	for _, row := range v.Rows[at : at+n] {
		if row.CallA == nil {
			steps++
		}
	}
	var parts []string
	if steps > 0 {
		parts = append(parts, plain.Count(steps, "step"))
	}
	if n > steps {
		parts = append(parts, plain.Count(n-steps, "call"))
	}
	return strings.Join(parts, " and ") + " with the same outcome"
}

// name returns the name of the row with an index.
func (v *alignView) name(at int) string {
	row := &v.Rows[at]
	if call := cmp.Or(row.CallA, row.CallB); call != nil {
		return "call " + strconv.Itoa(call.Number)
	}
	return plain.Text(cmp.Or(row.A, row.B).Name())
}

// row adds the lines of a row.
func (v *alignView) row(row *comparison.Row) {
	mark, style := " ", ""
	switch opOf(row) {
	case "changed":
		mark, style = "~", term.Yellow
	case "removed":
		mark, style = "-", term.Red
	case "added":
		mark, style = "+", term.Green
	}
	name := mark + " " + v.rowTitle(row)
	line := []term.Cell{{Text: name, Paint: func(text string) string { return v.p.Paint(style, text) }}}
	if row.CallA != nil || row.CallB != nil {
		line = append(line, v.callCell(row.CallA, row.Open), v.callCell(row.CallB, row.Open))
	} else {
		line = append(line, v.stepCell(row.A, row.Open), v.stepCell(row.B, row.Open))
	}
	v.lines = append(v.lines, line)
	for _, d := range row.Differs {
		if text := v.difference(d); text != "" {
			v.lines = append(v.lines, []term.Cell{{Text: "      " + text}})
		}
	}
}

// titleShown is the width of the widest name of a row.
const titleShown = 40

// rowTitle returns the name of a step or, indented, the number, the tool and the input of a call.
func (v *alignView) rowTitle(row *comparison.Row) string {
	call := cmp.Or(row.CallA, row.CallB)
	if call == nil {
		return term.CutMiddle(plain.Text(cmp.Or(row.A, row.B).Name()), titleShown, "…")
	}
	return plain.Shorten(fmt.Sprintf("  %d %s %s", call.Number, plain.Text(call.ToolName), inputText(call.Said)), titleShown)
}

// absent returns the cell of a run that does not have a step or a call. open reports whether the run may still come to it.
func (v *alignView) absent(open bool) term.Cell {
	if open {
		return v.dim("not yet")
	}
	return v.dim(noValue)
}

// stepCell returns what came of a step in a run. s is nil if the run does not have it.
func (v *alignView) stepCell(s *comparison.Step, open bool) term.Cell {
	if s == nil {
		return v.absent(open)
	}
	parts := []string{string(s.State)}
	if tries := len(s.Attempts); tries > 1 {
		parts = append(parts, fmt.Sprintf("%d tries", tries))
	}
	worked, waited := s.TookMs()
	if worked > 0 || waited == 0 && s.Last() != nil {
		parts = append(parts, display.Duration(time.Duration(worked)*time.Millisecond))
	}
	if waited > 0 {
		parts = append(parts, "waited "+display.Duration(time.Duration(waited)*time.Millisecond))
	}
	if lines := s.Lines(); lines != nil {
		parts = append(parts, changedLines(summary.Code{Added: lines.Added, Removed: lines.Removed}))
	}
	return term.Cell{Text: strings.Join(parts, " "), Paint: func(text string) string { return v.p.StatusAs(string(s.State), text) }}
}

// callCell returns what came of a call in a run. c is nil if the run does not have it.
func (v *alignView) callCell(c *comparison.Call, open bool) term.Cell {
	if c == nil {
		return v.absent(open)
	}
	text := c.Status
	if c.FinishedAtMs != nil && *c.FinishedAtMs > c.StartedAtMs {
		text += " " + display.Duration(time.Duration(*c.FinishedAtMs-c.StartedAtMs)*time.Millisecond)
	}
	return term.Cell{Text: text, Paint: func(text string) string { return v.p.StatusAs(c.Status, text) }}
}

// difference returns the line about a difference that the cells of a row do not show; "" if they show it.
func (v *alignView) difference(d comparison.Difference) string {
	shown := display.ValueShown / 2
	if v.full {
		shown = 1 << 20
	}
	value := func(value json.RawMessage) string {
		if value == nil {
			return noValue
		}
		return display.Value(value, shown)
	}
	switch d.What {
	case comparison.DiffersState, comparison.DiffersAttempts:
		return ""
	case comparison.DiffersFiles:
		return "files: " + display.List(d.Files)
	case comparison.DiffersError:
		return fmt.Sprintf("error: %s -> %s", value(d.From), value(d.To))
	}
	name := "output"
	if d.Table != "" {
		name = plain.Text(strings.TrimSuffix(d.Table+"."+d.Member, "."))
	}
	return fmt.Sprintf("%s: %s -> %s", name, value(d.From), value(d.To))
}

// inputText returns what people know a tool call by, in the width of a title.
func inputText(input json.RawMessage) string {
	return plain.Shorten(plain.Text(summary.ArgumentOf(input)), titleShown)
}
