// Package plain converts stored text to text that is safe to show on a terminal.
package plain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
)

// OneLine returns the lines of text, without empty lines, joined by "; ".
func OneLine(text string) string {
	lines := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' })
	return strings.Join(lines, "; ")
}

// Words returns the words of text on one line, each two with one space between them. It is for sentences that people wrote
// on several lines; OneLine keeps the lines apart.
func Words(text string) string { return strings.Join(strings.Fields(text), " ") }

// Text returns s as text that is safe to show on one line, so that fetched history cannot control a terminal. It
// escapes control characters, line ends, bytes that are not UTF-8, and characters that change the direction of writing.
// The escapes are those of Go's string literals.
func Text(s string) string {
	if strings.IndexFunc(s, unsafeRune) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case !unsafeRune(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == utf8.RuneError:
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Lines returns the lines of s, each safe to show. It escapes each line as Text does, but keeps tabs.
// It drops empty lines at the end of s.
func Lines(s string) []string {
	lines := strings.Split(strings.TrimRight(s, "\r\n"), "\n")
	for i, line := range lines {
		parts := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
		for j := range parts {
			parts[j] = Text(parts[j])
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return lines
}

// Limits of what Folded shows as it is.
const (
	maxBlankLines = 3
	maxBlanks     = 40 // within a line
)

// Folded returns the lines of s as Lines does, with long rows of blank lines and of blanks in a line replaced by their number, so that they push
// nothing out of sight.
func Folded(s string) []string {
	var out []string
	blank := 0
	fold := func() {
		if blank > maxBlankLines {
			out = append(out[:len(out)-blank], "("+Count(blank, "blank line")+")")
		}
		blank = 0
	}
	for _, line := range Lines(s) {
		if strings.TrimFunc(line, isBlank) == "" {
			blank++
		} else {
			fold()
		}
		out = append(out, foldBlanks(line))
	}
	fold()
	return out
}

// foldBlanks replaces rows of more than maxBlanks blanks in a line.
func foldBlanks(line string) string {
	var b strings.Builder
	for line != "" {
		text := strings.TrimLeftFunc(line, isBlank)
		row := line[:len(line)-len(text)]
		if n := utf8.RuneCountInString(row); n > maxBlanks {
			row = "(" + Count(n, "blank") + ")"
		}
		end := strings.IndexFunc(text, isBlank)
		if end < 0 {
			end = len(text)
		}
		b.WriteString(row + text[:end])
		line = text[end:]
	}
	return b.String()
}

// isBlank reports whether a terminal shows nothing, or nothing but a mark, for c alone.
func isBlank(c rune) bool {
	return unicode.IsSpace(c) || unicode.In(c, unicode.Cf, unicode.M) || strings.ContainsRune("\u2800\u3164\u115f\u1160\uffa0", c)
}

// colours are the sequences by which programs colour what they print.
var colours = lazyregexp.New("\x1b\\[[0-9;:]*m")

// Uncolored returns s without the sequences by which programs colour what they print. All others stay.
func Uncolored(s string) string {
	if !strings.Contains(s, "\x1b[") {
		return s
	}
	return colours.ReplaceAllString(s, "")
}

// unsafeRune reports whether r, a rune of a string, needs a closer look by Text. Such a rune is a control character,
// changes the direction of writing, ends a line, or is utf8.RuneError, which may come from a byte that is not UTF-8.
func unsafeRune(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029'
}

// Shorten returns s unchanged if s has at most width characters. Otherwise it returns the first width-1 characters
// and "…". width must be at least 1.
func Shorten(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// Count returns n and word, for example "1 run" or "2 000 runs". It adds an s to word unless n is 1.
func Count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return Number(n) + " " + word + "s"
}

// Number formats a number for people: from 1,000 on, a space stands between the thousands.
func Number[T int | int64](n T) string {
	text := strconv.FormatInt(int64(n), 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

// Cost formats an amount of US dollars: with cents, or with a tenth of a cent below ten cents.
func Cost(dollars float64) string {
	if dollars < 0.1 {
		return fmt.Sprintf("$%.3f", dollars)
	}
	return fmt.Sprintf("$%.2f", dollars)
}

// Cut returns s unchanged if s has at most n bytes. Otherwise it returns the whole characters in the first n bytes of
// s, and "…".
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// IsUUID reports whether text is a UUID in its usual form, such as "1d6ba205-13e5-4835-8233-9df96670ea92".
func IsUUID(text string) bool {
	if len(text) != len("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
		return false
	}
	for i := range len(text) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (text[i] == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(text[i])) {
			return false
		}
	}
	return true
}
