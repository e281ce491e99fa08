package diff

import (
	"encoding/json"
	"fmt"
	"strings"
)

// mark is the first character of a line: the sign of an added, a removed, a changed or an unmarked line. It is
// printed with and without colours.
type mark byte

const (
	plain   mark = ' '
	added   mark = '+'
	removed mark = '-'
	changed mark = '~'
)

// color returns the escape sequence with which a terminal begins the colour of the mark m. It returns "" for the mark
// of a plain line.
func (m mark) color() string {
	switch m {
	case added:
		return "\x1b[32m"
	case removed:
		return "\x1b[31m"
	case changed:
		return "\x1b[33m"
	case plain:
	}
	return ""
}

const (
	valueIndent = "    "
	// A shown value has at most maxLines lines, of about maxColumns bytes each, unless RenderOptions.Full is set.
	maxLines   = 40
	maxColumns = 160
)

// printer collects the lines of a rendered Result in out. The text that a caller passes to line must be printable. The
// methods that take values escape the values.
type printer struct {
	options RenderOptions
	out     []byte
}

// line adds text and a line feed to the output. If RenderOptions.Colors is set, the text has the colour of the mark m.
func (p *printer) line(m mark, text string) {
	color := m.color()
	if !p.options.Colors {
		color = ""
	}
	p.out = append(append(p.out, color...), text...)
	if color != "" {
		p.out = append(p.out, "\x1b[0m"...)
	}
	p.out = append(p.out, '\n')
}

// heading adds a line with the heading of a section, unless the section is empty. entries is the number of entries in
// the section.
func (p *printer) heading(text string, entries int) {
	if entries > 0 {
		p.line(plain, text)
	}
}

// keys adds a section with a heading and a line for each key. Each line begins with the mark m. If keys is empty, it
// adds nothing.
func (p *printer) keys(heading string, m mark, keys []string) {
	p.heading(heading, len(keys))
	for _, key := range keys {
		p.line(m, "  "+string(m)+" "+printable(key))
	}
}

// value adds a row that exists on only one side of the comparison. m is the mark of this side. name is the name of the
// row, in printable characters. A short value is on the same line as the name. A longer value follows on lines of its
// own, indented.
func (p *printer) value(m mark, name string, value json.RawMessage) {
	head := "  " + string(m) + " " + name
	if compact, ok := compactValue(value); ok && len(head)+len(compact) <= maxColumns {
		p.line(m, head+" "+printable(compact))
		return
	}
	p.line(m, head)
	var lines []valueLine
	for _, text := range valueLines(value) {
		lines = append(lines, valueLine{mark: plain, text: text})
	}
	p.lines(lines)
}

// change adds the differences between the values from and to. If only white space differs, it adds a note instead. A
// value is nil if the row does not have it on this side.
func (p *printer) change(from, to json.RawMessage) {
	lines := diffValues(from, to)
	if len(lines) == 0 {
		p.line(plain, valueIndent+"(only white space differs)")
		return
	}
	p.lines(lines)
}

// sides adds the lines of a value with its two sides beside each other: removed lines on the left, and the lines that replace them on the right.
func (p *printer) sides(lines []valueLine) {
	for len(lines) > 0 {
		minus := run(lines, removed)
		plus := run(lines[minus:], added)
		if minus+plus == 0 {
			p.pair(plain, lines[0], lines[0])
			lines = lines[1:]
			continue
		}
		for i := range max(minus, plus) {
			m, left, right := changed, valueLine{}, valueLine{}
			if i < minus {
				left = lines[i]
			} else {
				m = added
			}
			if i < plus {
				right = lines[minus+i]
			} else {
				m = removed
			}
			p.pair(m, left, right)
		}
		lines = lines[minus+plus:]
	}
}

// pair adds a text left of another.
func (p *printer) pair(m mark, left, right valueLine) {
	side := func(l valueLine) []string { return p.options.Side(printable(l.text), len(printable(l.text[:l.focus]))) }
	lefts, rights, blank := side(left), side(right), side(valueLine{})
	for len(lefts) < len(rights) {
		lefts = append(lefts, blank...)
	}
	for i, text := range lefts {
		if i < len(rights) {
			text += "   " + rights[i]
		}
		p.line(m, strings.TrimRight(valueIndent+string(m)+" "+text, " "))
	}
}

// run returns the number of lines at the beginning of lines that have the mark m.
func run(lines []valueLine, m mark) int {
	n := 0
	for n < len(lines) && lines[n].mark == m {
		n++
	}
	return n
}

// lines adds the lines of a value. Unless RenderOptions.Full is set, it shortens long lines and stops after maxLines
// lines. It then adds a line with the number and the size in bytes of the omitted lines.
func (p *printer) lines(lines []valueLine) {
	shown := len(lines)
	if !p.options.Full && shown > maxLines {
		shown = maxLines
	}
	left := lines[shown:]
	if p.options.Side != nil {
		p.sides(lines[:shown])
		shown = 0
	}
	for _, l := range lines[:shown] {
		text := l.text
		if !p.options.Full {
			text = shorten(text, l.focus)
		}
		p.line(l.mark, valueIndent+string(l.mark)+" "+printable(text))
	}
	if len(left) > 0 {
		size := 0
		for _, l := range left {
			size += len(l.text) + 1
		}
		p.line(plain, fmt.Sprintf("%s  (%d more lines, %d bytes)", valueIndent, len(left), size))
	}
}
