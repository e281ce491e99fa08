package diff

import (
	"encoding/json"
	"fmt"
)

// mark is what a line says: its sign is there with and without colours.
type mark byte

const (
	plain   mark = ' '
	added   mark = '+'
	removed mark = '-'
	changed mark = '~'
)

// color is the terminal's escape sequence for a mark.
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
	// How much of a value is shown unless it is to be shown in full.
	maxLines   = 40
	maxColumns = 160
)

// printer gathers the text. What it is given must be printable, values excepted.
type printer struct {
	options RenderOptions
	out     []byte
}

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

// heading begins a section, unless it is empty.
func (p *printer) heading(text string, entries int) {
	if entries > 0 {
		p.line(plain, text)
	}
}

// keys is a section of keys alone.
func (p *printer) keys(heading string, m mark, keys []string) {
	p.heading(heading, len(keys))
	for _, key := range keys {
		p.line(m, "  "+string(m)+" "+printable(key))
	}
}

// value shows a row that only one side has: on one line where it fits.
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

// change shows how a value differs; nil is a side without one.
func (p *printer) change(from, to json.RawMessage) {
	lines := diffValues(from, to)
	if len(lines) == 0 {
		p.line(plain, valueIndent+"(only white space differs)")
		return
	}
	p.lines(lines)
}

func (p *printer) lines(lines []valueLine) {
	shown := len(lines)
	if !p.options.Full && shown > maxLines {
		shown = maxLines
	}
	for _, l := range lines[:shown] {
		text := l.text
		if !p.options.Full {
			text = shorten(text, l.focus)
		}
		p.line(l.mark, valueIndent+string(l.mark)+" "+printable(text))
	}
	if left := lines[shown:]; len(left) > 0 {
		size := 0
		for _, l := range left {
			size += len(l.text) + 1
		}
		p.line(plain, fmt.Sprintf("%s  (%d more lines, %d bytes)", valueIndent, len(left), size))
	}
}
