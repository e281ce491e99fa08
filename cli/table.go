package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// A table is rows of cells. Cells are made safe to show when they are added.
type table struct {
	header []string
	rows   [][]cell

	keepsHeader bool // also without rows, and where people do not watch
}

// A cell is text and how to paint it; nil paints nothing.
type cell struct {
	text  string
	paint func(string) string
}

func (c cell) painted() string {
	if c.paint == nil {
		return c.text
	}
	return c.paint(c.text)
}

// add appends a row.
func (t *table) add(cells ...cell) {
	for i := range cells {
		cells[i].text = plain.Text(cells[i].text)
	}
	t.rows = append(t.rows, cells)
}

// write prints the table as a command's whole output: people get aligned columns
// under a header, everybody else tab-separated lines without one.
func (t *table) write(s *session) error {
	var b strings.Builder
	if s.isTerminalOut() {
		t.align(&b, "")
	} else {
		t.separate(&b)
	}
	return s.printf("%s", b.String())
}

// align lays out the table in columns under its header, each line behind indent.
// A table without rows is nothing.
func (t *table) align(b *strings.Builder, indent string) {
	if len(t.rows) == 0 && !t.keepsHeader {
		return
	}
	widths := make([]int, len(t.header))
	for i, title := range t.header {
		widths[i] = utf8.RuneCountInString(title)
	}
	for _, row := range t.rows {
		for i := range row {
			row[i].text = visible(row[i].text)
		}
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	titles := make([]cell, len(t.header))
	for i, title := range t.header {
		titles[i].text = title
	}
	for _, row := range append([][]cell{titles}, t.rows...) {
		b.WriteString(indent + alignedLine(row, widths) + "\n")
	}
}

// separate writes the rows with tabs between their cells.
func (t *table) separate(b *strings.Builder) {
	if t.keepsHeader {
		b.WriteString(strings.Join(t.header, "\t") + "\n")
	}
	for _, row := range t.rows {
		for i, c := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(c.painted())
		}
		b.WriteByte('\n')
	}
}

// alignedLine pads all cells but the last one that says something.
func alignedLine(row []cell, widths []int) string {
	last := len(row) - 1
	for last > 0 && row[last].text == "" {
		last--
	}
	var b strings.Builder
	for i, c := range row[:last+1] {
		b.WriteString(c.painted())
		if i < last {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2))
		}
	}
	return b.String()
}
