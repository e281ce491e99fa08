// Command screenshot draws a screen of a terminal as SVG. The screen comes from standard input, as `tmux capture-pane -e -p` prints it: lines
// of text whose only control sequences are those of SGR.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"html"
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The size of a cell, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 19
	margin     = 14
)

// themes have the colours of the reports: the ground, the text, and the colours of the terminal by their SGR numbers.
var themes = map[string]struct {
	ground, ink, edge string
	colours           map[int]string
}{
	"light": {"#ffffff", "#1d2025", "#cfcfc8", map[int]string{31: "#b3261e", 32: "#1c7040", 33: "#7d5200", 34: "#1d62c4", 36: "#2152b8", 90: "#646b76", 94: "#1d62c4"}},
	"dark":  {"#131619", "#e5e7ea", "#3b434b", map[int]string{31: "#ff8d83", 32: "#63c488", 33: "#e2b456", 34: "#82b1ff", 36: "#8fb5ff", 90: "#8d96a1", 94: "#82b1ff"}},
}

// style is how a cell looks.
type style struct {
	colour                   int // an SGR number; 0 is the text's own
	bold, underline, reverse bool
}

// set changes the style by the parameters of an SGR sequence.
func (s *style) set(parameters string) {
	for p := range strings.SplitSeq(parameters, ";") {
		switch n, _ := strconv.Atoi(p); {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 4:
			s.underline = true
		case n == 7:
			s.reverse = true
		case n == 39:
			s.colour = 0
		default:
			s.colour = n
		}
	}
}

// arms are the halves of lines that a box character has: left, right, up, down.
var arms = map[string][4]bool{"│": {false, false, true, true}, "┬": {true, true, false, true}, "┴": {true, true, true, false}, "┼": {true, true, true, true}, "├": {false, true, true, true}, "└": {false, true, true, false}, "╭": {false, true, false, true}, "╮": {true, false, false, true}, "╰": {false, true, true, false}, "╯": {true, false, true, false}}

func main() {
	theme := flag.String("theme", "light", "`light` or dark")
	columns := flag.Int("columns", 100, "the width of the terminal")
	title := flag.String("title", "", "what the picture shows, for people who do not see it")
	flag.Parse()
	colours, known := themes[*theme]
	if !known {
		fmt.Fprintln(os.Stderr, "unknown theme")
		os.Exit(2)
	}
	d := drawing{columns: *columns, ink: colours.ink, ground: colours.ground, colours: colours.colours}
	lines := bufio.NewScanner(os.Stdin)
	for row := 0; lines.Scan(); row++ {
		d.line(row, lines.Text())
		d.rows = row + 1
	}
	width, height := float64(d.columns)*cellWidth+2*margin, float64(d.rows*cellHeight)+2*margin
	fmt.Printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s">
<rect x="0.5" y="0.5" width="%.0f" height="%.0f" rx="8" fill="%s" stroke="%s"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">
%s</g>
</svg>
`, width, height, width, height, html.EscapeString(*title), width-1, height-1, colours.ground, colours.edge, d.b.String())
}

// drawing is a picture that grows by lines.
type drawing struct {
	b             strings.Builder
	columns, rows int
	ink, ground   string
	colours       map[int]string
}

// line draws a line of the screen.
func (d *drawing) line(row int, text string) {
	var now style
	at := 0
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
			parameters, rest, _ := strings.Cut(rest, "m")
			now.set(parameters)
			text = rest
			continue
		}
		piece := text
		if i := strings.IndexByte(text, 0x1b); i >= 0 {
			piece = text[:i]
		}
		d.piece(row, at, piece, now)
		at += ansi.StringWidth(piece)
		text = text[len(piece):]
	}
}

// piece draws text in one style, from a column on.
func (d *drawing) piece(row, at int, text string, s style) {
	ink := d.ink
	if c, ok := d.colours[s.colour]; ok {
		ink = c
	}
	x, y := margin+float64(at)*cellWidth, margin+row*cellHeight
	if s.reverse {
		fmt.Fprintf(&d.b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, y, float64(ansi.StringWidth(text))*cellWidth, cellHeight, ink)
		ink = d.ground
	}
	var words strings.Builder
	begin := at
	flush := func() {
		if said := strings.TrimRight(words.String(), " "); said != "" {
			d.text(begin, y, said, ink, s)
		}
		words.Reset()
	}
	lines := 0 // the length of a line that is not drawn yet
	for _, r := range text + "\n" {
		c := string(r)
		if c == "─" {
			flush()
			lines, at, begin = lines+1, at+1, at+1
			continue
		}
		if lines > 0 {
			fmt.Fprintf(&d.b, `<path d="M%.1f %.1fh%.1f" stroke="%s"/>`+"\n", margin+float64(at-lines)*cellWidth, float64(y)+cellHeight/2.0, float64(lines)*cellWidth, ink)
			lines = 0
		}
		if c == "\n" {
			break
		}
		if arm, ok := arms[c]; ok || c == "█" {
			flush()
			d.box(at, y, arm, c, ink)
			at += ansi.StringWidth(c)
			begin = at
			continue
		}
		if c == " " && strings.HasSuffix(words.String(), " ") { // viewers draw several spaces as one
			flush()
			begin = at
		}
		if c == " " && words.Len() == 0 {
			begin = at + 1
		} else {
			words.WriteString(c)
		}
		at += ansi.StringWidth(c)
	}
	flush()
}

// text draws words at a column.
func (d *drawing) text(column, y int, words, ink string, s style) {
	attributes := ""
	if s.bold {
		attributes += ` font-weight="600"`
	}
	if s.underline {
		attributes += ` text-decoration="underline"`
	}
	fmt.Fprintf(&d.b, `<text x="%.1f" y="%d" fill="%s"%s textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
		margin+float64(column)*cellWidth, y+14, ink, attributes, float64(ansi.StringWidth(words))*cellWidth, html.EscapeString(words))
}

// box draws a character of lines, so that the lines have no gaps.
func (d *drawing) box(column, y int, arm [4]bool, c, ink string) {
	x := margin + float64(column)*cellWidth
	if c == "█" {
		fmt.Fprintf(&d.b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, y+1, cellWidth, cellHeight-3, ink)
		return
	}
	mx, my := x+cellWidth/2, float64(y)+cellHeight/2.0
	ends := [4][2]float64{{x, my}, {x + cellWidth, my}, {mx, float64(y)}, {mx, float64(y + cellHeight)}}
	var path strings.Builder
	for i, has := range arm {
		if has {
			fmt.Fprintf(&path, "M%.1f %.1fL%.1f %.1f", mx, my, ends[i][0], ends[i][1])
		}
	}
	fmt.Fprintf(&d.b, `<path d="%s" stroke="%s"/>`+"\n", path.String(), ink)
}
