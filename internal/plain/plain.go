// Package plain turns stored text into text that is safe to show.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine joins the lines of a text.
func OneLine(text string) string {
	lines := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' })
	return strings.Join(lines, "; ")
}

// Text makes stored text safe to show on one line. It escapes, as Go does, control characters,
// bytes that are not UTF-8, and characters that change the direction of writing. So fetched history
// cannot control a terminal.
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

// Lines makes stored text of several lines safe to show. Line feeds and tabs stay.
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

func unsafeRune(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029'
}

// Shorten cuts a line of more than width characters, and marks the cut.
func Shorten(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// Count returns a number and a word in the right form.
func Count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// Cut shortens a text to about n bytes of whole characters, and marks the cut.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
