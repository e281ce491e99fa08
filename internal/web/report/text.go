package report

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isHidden reports whether a character of a stored text must be shown by its number: it is not seen, moves what is around it, or is
// no character at all.
func isHidden(r rune, size int) bool {
	if r == '\t' {
		return false
	}
	return r == utf8.RuneError && size == 1 || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs, unicode.Variation_Selector) ||
		r == '\u034f' || r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' || // blank letters
		r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe // no characters, which XML does not allow
}

// spell returns the name of a hidden character: <U+202E>, or <0xFF> for a byte that is not UTF-8. raw is the character.
func spell(r rune, raw string) string {
	if r == utf8.RuneError && len(raw) == 1 {
		return fmt.Sprintf("<0x%02X>", raw[0])
	}
	return fmt.Sprintf("<U+%04X>", r)
}

// pieces calls seen for each stretch of text that can be shown as it is, and hidden for each stretch of names of hidden characters.
func pieces(text string, seen, hidden func(string)) {
	var names strings.Builder
	from := 0
	flush := func() {
		if names.Len() > 0 {
			hidden(names.String())
			names.Reset()
		}
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if isHidden(r, size) && r != '\n' {
			if from < at {
				flush()
				seen(text[from:at])
			}
			names.WriteString(spell(r, text[at:at+size]))
			from = at + size
		} else {
			flush()
		}
		at += size
	}
	flush()
	if from < len(text) {
		seen(text[from:])
	}
}

// shown returns a text with the names of its hidden characters.
func shown(text string) string {
	var b strings.Builder
	add := func(s string) { b.WriteString(s) }
	pieces(text, add, add)
	return b.String()
}

// middle returns a text, cut in its middle to most characters.
func middle(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most/2]) + "…" + string(runes[len(runes)-most/2+1:])
}

// onPage returns a stored text for the page. A text without hidden characters stays a string, which the template escapes; of
// others the hidden characters stand in boxes.
func onPage(text string) any {
	var b strings.Builder
	boxes := false
	pieces(text, func(s string) { b.WriteString(html.EscapeString(s)) }, func(s string) {
		boxes = true
		b.WriteString(`<span class="u">` + html.EscapeString(s) + `</span>`)
	})
	if !boxes {
		return text
	}
	return template.HTML(b.String()) //nolint:gosec // every piece is escaped
}
