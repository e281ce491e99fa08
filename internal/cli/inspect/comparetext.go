package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/comparison"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	maxRunColumns = 8   // how many runs are columns at most
	noValue       = "—" // stands for a value that a run does not have, at a terminal
)

// A comparisonView shows a comparison to people.
type comparisonView struct {
	*comparison.Comparison

	p      display.Painter
	fields []*compareField
	width  int // of the terminal, in columns
}

// newComparisonView returns the view of a comparison.
func newComparisonView(c *comparison.Comparison, p display.Painter, onlyDifferences bool) *comparisonView {
	return &comparisonView{Comparison: c, p: p, fields: compareFields(c, onlyDifferences)}
}

// text returns the comparison as a table for a terminal: with runs as columns if they fit, and otherwise with a line for
// each run. The last lines say which run is best, and what is not shown.
func (v *comparisonView) text() string {
	var b strings.Builder
	var hidden []string
	if !v.runsAsColumns(&b) {
		hidden = v.runsAsLines(&b)
	}
	if len(v.Best) > 0 {
		b.WriteString("\n" + v.bestLine() + "\n")
		if best := v.Best[0]; best > 0 {
			command := fault.CommandLine(arg.Program, "diff", "--align", v.Runs[0].Row.ID, v.Runs[best].Row.ID)
			b.WriteString(v.p.Paint(term.Dim, "`"+command+"` shows its steps beside those of the base") + "\n")
		}
	}
	if rest := v.leftOut(hidden); rest != "" {
		b.WriteString(v.p.Paint(term.Dim, rest) + "\n")
	}
	return b.String()
}

// name returns the name of a run for people: that of a session, the label of a fork or, if it has none, its id. If other runs have the same label, the id
// follows.
func (v *comparisonView) name(i int) string {
	id, label := shortName(v.Runs[i].Row.ID), v.label(i)
	if label == "" {
		return id
	}
	for other := range v.Runs {
		if other != i && v.label(other) == label {
			return label + " (" + id + ")"
		}
	}
	return label
}

// label returns the name of a session or the label of a fork, or "".
func (v *comparisonView) label(i int) string {
	if name := v.Runs[i].Name.Text(); name != "" {
		return plain.Shorten(name, cellShown)
	}
	if parent := v.Runs[i].Row.Parent; parent != nil {
		return plain.Shorten(plain.Text(parent.Label), cellShown)
	}
	return ""
}

// mark returns "best", "base" or both of a run.
func (v *comparisonView) mark(i int) term.Cell {
	var words []string
	if i == 0 {
		words = append(words, "base")
	}
	best := slices.Contains(v.Best, i)
	if best {
		words = append(words, "best")
	}
	return term.Cell{Text: strings.Join(words, ", "), Paint: func(text string) string {
		if best {
			return v.p.Paint(term.Green, text)
		}
		return v.p.Paint(term.Dim, text)
	}}
}

// status returns the status of a run in its colour.
func (v *comparisonView) status(i int) term.Cell {
	word := string(v.Runs[i].Row.Status)
	return term.Cell{Text: plain.Shorten(plain.Text(statusOf(v.Runs[i])), cellShown), Paint: func(text string) string {
		return v.p.StatusAs(word, text)
	}}
}

// value returns the value of a field of a run. It is faint if it is equal to that of the base.
func (v *comparisonView) value(f *compareField, i int, empty string) term.Cell {
	cell := term.Cell{Text: f.values[i]}
	if cell.Text == "" {
		cell.Text = empty
	}
	if i > 0 && f.equalToBase(i) || f.values[i] == "" {
		cell.Paint = func(text string) string { return v.p.Paint(term.Dim, text) }
	}
	return cell
}

// painted returns a cell that is painted in a style.
func (v *comparisonView) painted(text, style string) term.Cell {
	return term.Cell{Text: text, Paint: func(text string) string { return v.p.Paint(style, text) }}
}

// runsAsColumns writes a line for each field. It writes nothing and returns false if there are too many runs or the lines would
// be wider than the terminal.
func (v *comparisonView) runsAsColumns(b *strings.Builder) bool {
	if len(v.Runs) > maxRunColumns {
		return false
	}
	head := make([][]term.Cell, 4) // names, ids, statuses, marks
	for i := range head {
		head[i] = []term.Cell{{}} // above the titles of the fields
	}
	labelled := false
	for i, run := range v.Runs {
		id := ""
		if label := v.label(i); label != "" && label != run.Row.ID {
			id, labelled = shortName(run.Row.ID), true
		}
		head[0] = append(head[0], v.painted(v.name(i), term.Bold))
		head[1] = append(head[1], v.painted(id, term.Dim))
		head[2] = append(head[2], v.status(i))
		head[3] = append(head[3], v.mark(i))
	}
	if !labelled {
		head = slices.Delete(head, 1, 2)
	}
	lines, group := head, ""
	for _, f := range v.fields {
		if f.group != group {
			group = f.group
			lines = append(lines, nil, []term.Cell{v.painted(group, term.Bold)})
		}
		line := []term.Cell{{Text: plain.Shorten(plain.Text(f.title), cellShown)}}
		for i := range v.Runs {
			line = append(line, v.value(f, i, noValue))
		}
		lines = append(lines, line)
	}
	text, width := term.AlignedLines(lines)
	if width > v.width {
		return false
	}
	b.WriteString(text)
	return true
}

// runsAsLines writes a line for each run. It leaves out the fields for which the terminal has no room, and returns their
// titles. Fields that differ come before others, and then those of a low rank.
func (v *comparisonView) runsAsLines(b *strings.Builder) (hidden []string) {
	byRank := slices.Clone(v.fields)
	slices.SortStableFunc(byRank, func(a, b *compareField) int {
		if a.differs() != b.differs() {
			return map[bool]int{true: -1, false: 1}[a.differs()]
		}
		return cmp.Compare(a.rank, b.rank)
	})
	text, _ := v.table(nil, noValue).Lines()
	var shown []*compareField
	for _, f := range byRank {
		more := append(slices.Clone(shown), f)
		inOrder := slices.DeleteFunc(slices.Clone(v.fields), func(f *compareField) bool { return !slices.Contains(more, f) })
		wider, width := v.table(inOrder, noValue).Lines()
		if width > v.width {
			hidden = append(hidden, f.title)
			continue
		}
		text, shown = wider, more
	}
	b.WriteString(text)
	return hidden
}

// table returns a table with a line for each run. empty stands for a value that a run does not have.
func (v *comparisonView) table(fields []*compareField, empty string) *term.Table {
	t := &term.Table{Header: []string{"RUN", "", "STATUS"}}
	for _, f := range fields {
		t.Header = append(t.Header, strings.ToUpper(plain.Shorten(plain.Text(f.title), cellShown)))
	}
	for i := range v.Runs {
		row := []term.Cell{v.painted(v.name(i), term.Bold), v.mark(i), v.status(i)}
		for _, f := range fields {
			row = append(row, v.value(f, i, empty))
		}
		t.Add(row...)
	}
	return t
}

// allColumns returns the table for a pipe or a file: all fields, and the ids of the runs.
func (v *comparisonView) allColumns() *term.Table {
	t := v.table(v.fields, "")
	t.KeepsHeader = true
	t.Header[1] = "MARK"
	for i := range t.Rows {
		t.Rows[i][0].Text = plain.Text(v.Runs[i].Row.ID)
	}
	return t
}

// bestLine returns the line that says which run is best, and why. Several best runs are equal in everything that decides. v.Best
// must not be empty.
func (v *comparisonView) bestLine() string {
	subject, tie, are := "It", "ties", "is"
	if len(v.Best) > 1 {
		subject, tie, are = "They", "tie", "are"
	}
	questions := []string{"status", "lines", "time"}
	answered := slices.Index([]string{comparison.ByStatus, comparison.ByLines, comparison.ByDuration}, v.Decided)
	if v.By != nil {
		questions = append([]string{plain.Text(v.By.String())}, questions...)
		answered++
	}
	sentences := []string{v.p.Paint(term.Bold, "best: "+v.names(v.Best)) + "."}
	others := slices.DeleteFunc(slices.Clone(v.Equal), func(i int) bool { return slices.Contains(v.Best, i) })
	if len(others) > 0 && answered > 0 {
		sentences = append(sentences, fmt.Sprintf("%s %s with %s in %s.", subject, tie, v.names(others), withAnd(questions[:answered])))
	}
	reason := map[string]string{
		comparison.ByValue: questions[0], comparison.ByStatus: "status: " + string(v.Runs[v.Best[0]].Row.Status),
		comparison.ByLines: "fewer changed lines", comparison.ByDuration: "less time",
	}[v.Decided]
	if reason != "" {
		sentences = append(sentences, fmt.Sprintf("%s %s ahead by %s.", subject, are, reason))
	}
	if len(v.Best) > 1 {
		sentences = append(sentences, "They are equal in "+withAnd(questions)+".")
	}
	return strings.Join(sentences, " ")
}

// bestShown is how many names a list of equal runs has.
const bestShown = 3

// names returns the names of runs, the last one after "and".
func (v *comparisonView) names(runs []int) string {
	names := make([]string, len(runs))
	for i, run := range runs {
		names[i] = v.name(run)
	}
	if len(names) > bestShown {
		return display.ListUpTo(bestShown, names)
	}
	return withAnd(names)
}

// withAnd returns the words of a list, the last one after "and". words must not be empty.
func withAnd(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// leftOut returns the line that says what the table does not show. hidden are titles of fields.
func (v *comparisonView) leftOut(hidden []string) string {
	var parts []string
	if v.InputsLeft > 0 {
		parts = append(parts, plain.Count(v.InputsLeft, "member")+" of inputs")
	}
	if v.OutputsLeft > 0 {
		parts = append(parts, plain.Count(v.OutputsLeft, "output")+" (--outputs chooses)")
	}
	if len(hidden) > 0 {
		parts = append(parts, display.List(hidden)+" (a wider terminal or --csv has all)")
	}
	if len(parts) == 0 {
		return ""
	}
	return "not shown: " + strings.Join(parts, "; ")
}

// shortName returns the id of a run without its middle, if the id is long.
func shortName(id string) string { return term.CutMiddle(plain.Text(id), cellShown, "…") }
