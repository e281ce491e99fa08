package tui

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// A look is how the view is drawn: its glyphs, lines and styles. Colours are the sixteen of the terminal, so that the user's theme holds.
type look struct {
	display.Glyphs

	ascii                                              bool
	rule, bar, tee, up, cross                          string // lines between panes
	cursor, block                                      string
	bold, dim, ok, fail, run, wait, accent, back, none lipgloss.Style
}

// newLook returns the look for a terminal.
func newLook(t *term.Terminal) look {
	l := look{
		Glyphs: display.GlyphsOf(t), ascii: t.PlainASCII(), rule: "─", bar: "│", tee: "┬", up: "┴", cross: "┼", cursor: "▸", block: "█",
		bold: lipgloss.NewStyle().Bold(true), dim: lipgloss.NewStyle().Foreground(lipgloss.BrightBlack), ok: lipgloss.NewStyle().Foreground(lipgloss.Green),
		fail: lipgloss.NewStyle().Foreground(lipgloss.Red), run: lipgloss.NewStyle().Foreground(lipgloss.BrightBlue), wait: lipgloss.NewStyle().Foreground(lipgloss.Yellow),
		accent: lipgloss.NewStyle().Foreground(lipgloss.Cyan), back: lipgloss.NewStyle().Reverse(true), none: lipgloss.NewStyle(),
	}
	if l.ascii {
		l.rule, l.bar, l.tee, l.up, l.cross, l.cursor, l.block = "-", "|", "+", "+", "+", ">", "@"
	}
	return l
}

// style returns the style with the name that the glyphs of a state have.
func (l *look) style(name string) lipgloss.Style {
	switch name {
	case term.Green:
		return l.ok
	case term.Red:
		return l.fail
	case term.Blue:
		return l.run
	case term.Yellow:
		return l.wait
	case term.Grey:
		return l.dim
	}
	return l.none
}

// A span is a part of a line in one style. Its text is safe to show.
type span struct {
	text  string
	style lipgloss.Style
}

// A line is a line of a pane.
type line struct {
	spans []span
	right []span // stand at the right edge
	style *lipgloss.Style
	head  bool // a jump goes to the line
	at    int  // the number of the line in its file; 0 if it is in none
}

// add appends text in a style. Stored text must go through plain.Text before.
func (ln line) add(style lipgloss.Style, text string) line {
	ln.spans = append(slices.Clip(ln.spans), span{text, style})
	return ln
}

// atRight appends text to the part at the right edge.
func (ln line) atRight(style lipgloss.Style, text string) line {
	ln.right = append(slices.Clip(ln.right), span{text, style})
	return ln
}

// whole sets a style for the whole line, which replaces those of its parts.
func (ln line) whole(style lipgloss.Style) line {
	ln.style = &style
	return ln
}

// text returns the line without its styles.
func (ln line) text() string {
	var b strings.Builder
	for _, s := range append(slices.Clip(ln.spans), ln.right...) {
		b.WriteString(s.text)
	}
	return b.String()
}

// say returns a line of text in one style.
func say(style lipgloss.Style, text string) line { return line{}.add(style, text) }

// draw returns the line with exactly width columns. What does not fit is cut, the left part before the right one.
func (ln line) draw(width int, dots string) string {
	var right strings.Builder
	rightWidth := 0
	for _, s := range ln.right {
		rightWidth += ansi.StringWidth(s.text)
	}
	if rightWidth > width {
		ln.right, rightWidth = nil, 0
	}
	for _, s := range ln.right {
		right.WriteString(ln.paint(s))
	}
	room := width - rightWidth
	var b strings.Builder
	used := 0
	for _, s := range ln.spans {
		text := s.text
		if w := ansi.StringWidth(text); used+w > room {
			text = ansi.Truncate(text, max(room-used, 0), dots)
		}
		used += ansi.StringWidth(text)
		b.WriteString(ln.paint(span{text, s.style}))
		if used >= room {
			break
		}
	}
	b.WriteString(ln.paint(span{strings.Repeat(" ", max(room-used, 0)), lipgloss.NewStyle()}))
	return b.String() + right.String()
}

// paint returns a span in its style, or in that of the line.
func (ln line) paint(s span) string {
	style := s.style
	if ln.style != nil {
		style = *ln.style
	}
	if s.text == "" {
		return ""
	}
	return style.Inline(true).Render(s.text)
}

// safe returns stored text on one line, safe to show.
func safe(text string) string { return plain.Text(strings.ReplaceAll(text, "\t", "    ")) }

// wrap breaks a safe text into lines of at most width columns, at spaces where there are some.
func wrap(text string, width int) []string {
	if len(text) <= width {
		return []string{text}
	}
	return strings.Split(ansi.Wrap(text, max(width, 1), ""), "\n")
}

// wrapCommand breaks a command line into lines between its arguments alone. A longer argument is a line of its own.
func wrapCommand(text string, width int) (out []string) {
	for word := range strings.SplitSeq(text, " ") {
		if last := len(out) - 1; last >= 0 && ansi.StringWidth(out[last])+1+ansi.StringWidth(word) <= width {
			out[last] += " " + word
		} else {
			out = append(out, word)
		}
	}
	return out
}

// A pane is a part of the screen with more lines than it may show.
type pane struct {
	lines []line
	top   int // the first line that is shown
}

// keep moves the pane so that a line is shown, and never beyond its end.
func (p *pane) keep(at, height int) {
	if at < p.top {
		p.top = at
	}
	if at >= p.top+height {
		p.top = at - height + 1
	}
	p.clamp(height)
}

// clamp keeps the pane from showing what is beyond its end.
func (p *pane) clamp(height int) {
	p.top = max(min(p.top, len(p.lines)-height), 0)
}

// draw returns height lines of width columns.
func (p *pane) draw(width, height int, dots string) []string {
	out := make([]string, height)
	for i := range out {
		ln := line{}
		if at := p.top + i; at < len(p.lines) {
			ln = p.lines[at]
		}
		out[i] = ln.draw(width, dots)
	}
	return out
}
