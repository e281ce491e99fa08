package snapshot

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxSubject is the largest size of a subject in bytes.
	maxSubject = 200
	noSubject  = "(no subject)"
	// trailerPrefix begins every trailer of an entry, in lower case. No subject begins like a trailer.
	trailerPrefix = "smithers-"
)

// cleanSubject returns text as the subject of a commit: one line of printable characters, single spaces between
// words, at most maxSubject bytes. An ellipsis ends a shortened text. A text that looks like one of the
// trailers gets the prefix "entry: ". The subject of an empty text is noSubject. checkSubject accepts every result.
func cleanSubject(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if strings.HasPrefix(strings.ToLower(text), trailerPrefix) {
		text = "entry: " + text
	}
	if text = shortened(text, maxSubject); text == "" {
		return noSubject
	}
	return text
}

// shortened returns text with at most size bytes. An ellipsis ends a shortened text.
func shortened(text string, size int) string {
	const ellipsis = "…"
	if len(text) <= size {
		return text
	}
	cut := size - len(ellipsis) // moved back to the start of a character below
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.TrimSpace(text[:cut]) + ellipsis
}

// checkSubject returns an error if text cannot be the subject of a stored entry. The result does not depend on Go's
// version of Unicode: otherwise an update of Go would change which stored entries are valid. So checkSubject accepts
// characters that cleanSubject replaces, if Unicode 15.0.0 does not assign them.
func checkSubject(text string) error {
	switch {
	case text == "" || len(text) > maxSubject || !utf8.ValidString(text):
		return fmt.Errorf("subject: not 1 to %d bytes of UTF-8", maxSubject)
	case text[0] == ' ' || text[len(text)-1] == ' ' || strings.Contains(text, "  "):
		return errors.New("subject: words are not separated by single spaces")
	case looksLikeTrailer(text):
		return errors.New("subject: looks like a trailer")
	}
	for _, r := range text {
		if unicode.Is(notInSubjects, r) {
			return fmt.Errorf("subject: %U is a control character, a format character or white space", r)
		}
	}
	return nil
}

// looksLikeTrailer reports whether text begins with trailerPrefix, with ASCII letters in any case.
func looksLikeTrailer(text string) bool {
	if len(text) < len(trailerPrefix) {
		return false
	}
	for i := range len(trailerPrefix) {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != trailerPrefix[i] {
			return false
		}
	}
	return true
}

// notInSubjects has the characters of the categories Cc, Cf, Zl, Zp and Zs of Unicode 15.0.0, without the space. It
// must not change with a later version of Unicode.
var notInSubjects = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0000, Hi: 0x001f, Stride: 1},
		{Lo: 0x007f, Hi: 0x00a0, Stride: 1},
		{Lo: 0x00ad, Hi: 0x00ad, Stride: 1},
		{Lo: 0x0600, Hi: 0x0605, Stride: 1},
		{Lo: 0x061c, Hi: 0x061c, Stride: 1},
		{Lo: 0x06dd, Hi: 0x06dd, Stride: 1},
		{Lo: 0x070f, Hi: 0x070f, Stride: 1},
		{Lo: 0x0890, Hi: 0x0891, Stride: 1},
		{Lo: 0x08e2, Hi: 0x08e2, Stride: 1},
		{Lo: 0x1680, Hi: 0x1680, Stride: 1},
		{Lo: 0x180e, Hi: 0x180e, Stride: 1},
		{Lo: 0x2000, Hi: 0x200f, Stride: 1},
		{Lo: 0x2028, Hi: 0x202f, Stride: 1},
		{Lo: 0x205f, Hi: 0x2064, Stride: 1},
		{Lo: 0x2066, Hi: 0x206f, Stride: 1},
		{Lo: 0x3000, Hi: 0x3000, Stride: 1},
		{Lo: 0xfeff, Hi: 0xfeff, Stride: 1},
		{Lo: 0xfff9, Hi: 0xfffb, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x110bd, Hi: 0x110bd, Stride: 1},
		{Lo: 0x110cd, Hi: 0x110cd, Stride: 1},
		{Lo: 0x13430, Hi: 0x1343f, Stride: 1},
		{Lo: 0x1bca0, Hi: 0x1bca3, Stride: 1},
		{Lo: 0x1d173, Hi: 0x1d17a, Stride: 1},
		{Lo: 0xe0001, Hi: 0xe0001, Stride: 1},
		{Lo: 0xe0020, Hi: 0xe007f, Stride: 1},
	},
	LatinOffset: 3,
}
