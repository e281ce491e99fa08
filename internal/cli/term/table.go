package term

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// A Table has rows of cells. Control characters in titles and cells are escaped.
type Table struct {
	Header []string // the titles of the columns
	Rows   [][]Cell

	KeepsHeader bool // print the header without rows, too, and to a pipe or file

	// Spare names the columns that a narrow terminal has no room for, the first to go first. A table with spare columns fits into the terminal.
	Spare []string
}

// A Cell is a text and the function that paints it. Paint may be nil.
type Cell struct {
	Text  string
	Paint func(string) string
}

// painted returns the text of the cell in its colour, or unchanged if c.Paint is nil.
func (c Cell) painted() string {
	if c.Paint == nil {
		return c.Text
	}
	return c.Paint(c.Text)
}

// Add appends a row with the given cells to the table. It escapes control characters in the texts of the cells.
func (t *Table) Add(cells ...Cell) {
	for i := range cells {
		cells[i].Text = plain.Text(cells[i].Text)
	}
	t.Rows = append(t.Rows, cells)
}

// Write prints the table to standard output. If a person reads standard output, Write aligns the columns below a
// header. Otherwise it prints lines with tabs between the cells, for scripts. It then prints the header only if
// KeepsHeader is set.
func (t *Table) Write(s *Terminal) error {
	var b strings.Builder
	if s.IsTerminalOut() {
		if len(t.Spare) > 0 {
			t.Fit(s.Columns())
		}
		t.Align(&b, "")
	} else {
		t.separate(&b)
	}
	return s.Printf("%s", b.String())
}

// Fit makes the table as narrow as a terminal with so many columns, if it can: it cuts the last column, leaves out spare columns, then cuts the
// first column, whose beginning is as good as the whole, and at last the columns between. Some characters of a cut column stay.
func (t *Table) Fit(columns int) {
	const least = 12
	spare, last := t.Spare, len(t.Header)-1
	for ; len(spare) > 0; spare, last = spare[1:], last-1 {
		if _, width := t.Lines(); width <= columns || !slices.Contains(spare, t.Header[last]) && t.width(last)-(width-columns) >= least {
			break
		}
		at := slices.Index(t.Header, spare[0])
		t.Header = slices.Delete(slices.Clone(t.Header), at, at+1)
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], at, at+1)
		}
	}
	for i := range last + 1 {
		at := max(i-1, 0)
		if i == 0 {
			at = last
		}
		_, width := t.Lines()
		room := max(t.width(at)-max(width-columns, 0), least)
		for _, row := range t.Rows {
			row[at].Text = CutEnd(row[at].Text, room, "…")
		}
	}
}

// width returns the width of the widest cell of a column, without its title.
func (t *Table) width(column int) int {
	width := 0
	for _, row := range t.Rows {
		width = max(width, Width(row[column].Text))
	}
	return width
}

// Align writes the table to b in aligned columns below its header. Every line begins with indent. If the table has no
// rows, Align writes nothing, unless KeepsHeader is set. Align escapes invisible characters in the cells.
func (t *Table) Align(b *strings.Builder, indent string) {
	if len(t.Rows) == 0 && !t.KeepsHeader {
		return
	}
	text, _ := t.Lines()
	for line := range strings.Lines(text) {
		b.WriteString(indent + line)
	}
}

// Lines returns the header and the rows as lines in aligned columns, and the width of the widest line. It escapes
// invisible characters in the cells.
func (t *Table) Lines() (text string, width int) {
	titles := make([]Cell, len(t.Header))
	for i, title := range t.Header {
		titles[i].Text = plain.Text(title)
	}
	return AlignedLines(append([][]Cell{titles}, t.Rows...))
}

// AlignedLines returns lines of cells in aligned columns, and the width of the widest line. A line may have fewer cells
// than others; a nil line is empty. AlignedLines escapes invisible characters in the cells.
func AlignedLines(lines [][]Cell) (text string, width int) {
	var widths []int
	for _, line := range lines {
		for i := range line {
			line[i].Text = visible(line[i].Text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(line[i].Text))
		}
	}
	for i, w := range widths {
		if width += w; i > 0 {
			width += columnGap
		}
	}
	var b strings.Builder
	for _, line := range lines {
		if line != nil {
			b.WriteString(AlignedLine(line, widths))
		}
		b.WriteByte('\n')
	}
	return b.String(), width
}

// columnGap is the number of spaces between two columns.
const columnGap = 2

// separate writes the rows as lines with tabs between the cells. If KeepsHeader is set, it writes the header first.
func (t *Table) separate(b *strings.Builder) {
	if t.KeepsHeader {
		titles := make([]string, len(t.Header))
		for i, title := range t.Header {
			titles[i] = plain.Text(title)
		}
		b.WriteString(strings.Join(titles, "\t") + "\n")
	}
	for _, row := range t.Rows {
		for i, c := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(c.painted())
		}
		b.WriteByte('\n')
	}
}

// AlignedLine returns the cells of a row as a line. Each cell except the last is padded with spaces to its width in
// widths, and two more spaces follow. No text may be wider than its width. Empty cells at the end are left out.
func AlignedLine(row []Cell, widths []int) string {
	last := len(row) - 1
	for last > 0 && row[last].Text == "" {
		last--
	}
	var b strings.Builder
	for i, c := range row[:last+1] {
		b.WriteString(c.painted())
		if i < last {
			b.WriteString(strings.Repeat(" ", max(widths[i]-Width(c.Text), 0)+columnGap))
		}
	}
	return b.String()
}
