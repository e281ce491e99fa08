package runpage

import (
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// The widths between which a page is laid out.
const (
	narrowest = 40
	widest    = 120
)

// A Style is how a page looks.
type Style struct {
	Painter term.Painter
	Glyphs  display.Glyphs
	Columns int // the width of the terminal
}

// A canvas takes the lines of a page. No line is wider than width, and no text has characters that a terminal obeys.
type canvas struct {
	strings.Builder

	p     term.Painter
	g     display.Glyphs
	width int
	now   time.Time
}

// A part is a text in a line, with its style.
type part struct{ text, style string }

// clean returns text without characters that a terminal obeys, and without characters that cannot be seen.
func clean(text string) string { return term.Visible(plain.Text(text)) }

// line writes parts as a line, and cuts the line at the width.
func (c *canvas) line(parts ...part) {
	room := c.width
	var painted []string
	for i := range parts {
		text := clean(parts[i].text)
		if i == lastText(parts) {
			text = strings.TrimRight(text, " ")
		}
		if term.Width(text) > room {
			text = term.CutEnd(text, room, c.g.Dots)
		}
		room -= term.Width(text)
		painted = append(painted, c.paint(parts[i].style, text))
		if i >= lastText(parts) || room == 0 {
			break
		}
	}
	c.WriteString(strings.Join(painted, "") + "\n")
}

// lastText returns the index of the last part that has more than spaces, or 0.
func lastText(parts []part) int {
	for i, p := range slices.Backward(parts) {
		if strings.Trim(p.text, " ") != "" {
			return i
		}
	}
	return 0
}

// whole writes a line as it is, however long: a command, which is to be copied, or the explanation of it if that fits beside it.
func (c *canvas) whole(text string, beside part, column int) {
	text = clean(text)
	c.WriteString("  " + text)
	pad := max(column-term.Width(text), 2)
	if beside.text != "" && 2+term.Width(text)+pad+term.Width(beside.text) <= c.width {
		c.WriteString(strings.Repeat(" ", pad) + c.paint(beside.style, clean(beside.text)))
	}
	c.WriteByte('\n')
}

// paint paints text, but not the spaces at its ends.
func (c *canvas) paint(style, text string) string {
	inner := strings.Trim(text, " ")
	if inner == "" {
		return text
	}
	before, after, _ := strings.Cut(text, inner)
	return before + c.p.Paint(style, inner) + after
}

// title writes an empty line and the title of a section.
func (c *canvas) title(text string) {
	c.WriteByte('\n')
	c.line(part{text, term.Bold})
}

// left returns text with spaces behind it, and right with spaces before it, cut in the middle or padded to exactly width columns.
func (c *canvas) left(text string, width int) string {
	text = c.fit(text, width)
	return text + strings.Repeat(" ", width-term.Width(text))
}

func (c *canvas) right(text string, width int) string {
	text = c.fit(text, width)
	return strings.Repeat(" ", width-term.Width(text)) + text
}

// fit returns text cleaned, and cut in the middle if it is wider than width.
func (c *canvas) fit(text string, width int) string {
	return term.CutMiddle(clean(text), width, c.g.Dots)
}

// flow writes words with two spaces between them on as many lines as they need, at most most lines. Each line begins with indent, and
// the first one with label in its place.
func (c *canvas) flow(label part, indent int, most int, words []part, gap string) {
	parts := []part{{strings.Repeat(" ", 2), ""}, {c.left(label.text, indent-2), label.style}}
	used, lines := indent, 1
	for i, w := range words {
		text := c.fit(w.text, c.width-indent)
		if used > indent && used+len(gap)+term.Width(text) > c.width {
			if lines == most {
				parts = append(parts, part{gap + c.g.Dots, term.Grey})
				break
			}
			c.line(parts...)
			parts, used = []part{{strings.Repeat(" ", indent), ""}}, indent
			lines++
		} else if i > 0 {
			parts = append(parts, part{gap, term.Grey})
			used += term.Width(gap)
		}
		parts = append(parts, part{text, w.style})
		used += term.Width(text)
	}
	c.line(parts...)
}

// code returns numbers of lines, such as "+3 −1". A side that is 0 is left out.
func (c *canvas) code(added, removed int64) string {
	var sides []string
	if added > 0 {
		sides = append(sides, "+"+plain.Number(added))
	}
	if removed > 0 {
		sides = append(sides, c.g.Minus+plain.Number(removed))
	}
	return strings.Join(sides, " ")
}

// codeParts returns numbers of lines as parts of a line, right-aligned in width columns.
func (c *canvas) codeParts(added, removed int64, width int) []part {
	text := c.code(added, removed)
	parts := []part{{strings.Repeat(" ", max(width-term.Width(text), 0)), ""}}
	plus, minus, both := strings.Cut(text, " "+c.g.Minus)
	switch {
	case both:
		return append(parts, part{plus, term.Green}, part{" " + c.g.Minus + minus, term.Red})
	case removed > 0:
		return append(parts, part{text, term.Red})
	}
	return append(parts, part{text, term.Green})
}
