package term

import (
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// A Table has rows of cells. Add escapes control characters in cells.
type Table struct {
	Header []string // the titles of the columns
	Rows   [][]Cell

	KeepsHeader bool // print the header without rows, too, and to a pipe or file
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
		t.Align(&b, "")
	} else {
		t.separate(&b)
	}
	return s.Printf("%s", b.String())
}

// Align writes the table to b in aligned columns below its header. Every line begins with indent. If the table has no
// rows, Align writes nothing, unless KeepsHeader is set. Align escapes invisible characters in the cells.
func (t *Table) Align(b *strings.Builder, indent string) {
	if len(t.Rows) == 0 && !t.KeepsHeader {
		return
	}
	widths := make([]int, len(t.Header))
	for i, title := range t.Header {
		widths[i] = utf8.RuneCountInString(title)
	}
	for _, row := range t.Rows {
		for i := range row {
			row[i].Text = visible(row[i].Text)
		}
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	titles := make([]Cell, len(t.Header))
	for i, title := range t.Header {
		titles[i].Text = title
	}
	for _, row := range append([][]Cell{titles}, t.Rows...) {
		b.WriteString(indent + AlignedLine(row, widths) + "\n")
	}
}

// separate writes the rows as lines with tabs between the cells. If KeepsHeader is set, it writes the header first.
func (t *Table) separate(b *strings.Builder) {
	if t.KeepsHeader {
		b.WriteString(strings.Join(t.Header, "\t") + "\n")
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
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.Text)+2))
		}
	}
	return b.String()
}
