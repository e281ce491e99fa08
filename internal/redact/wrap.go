package redact

import (
	"bytes"
	"slices"
	"strings"
)

// minWidth and maxWidth bound the width at which a program may have broken lines.
const (
	minWidth = 40
	maxWidth = 200
)

// usualWidths are the widths at which programs and terminals break lines.
var usualWidths = []int{64, 70, 72, 76, 80, 100, 120, 132}

// lineWidth returns the length of the line at text[at] if the next line may go on with the value in which the line ends, and otherwise 0.
// sure reports whether the width is a usual one, or the line before or the next line has the same width and is cut, too.
func lineWidth(text []byte, at int) (width int, sure bool) {
	start := at
	for start > 0 && text[start-1] != '\n' {
		if start--; at-start > maxWidth {
			return 0, false
		}
	}
	end := lineEnd(text, at)
	width = end - start
	if width < minWidth || width > maxWidth || end == len(text) || !goesOn(text, end) {
		return 0, false
	}
	size := width
	if text[end-1] == '\r' {
		size--
	}
	before, next := start-1-width, end+1+width
	return width, slices.Contains(usualWidths, size) ||
		lineEnd(text, end+1) == next && next < len(text) && goesOn(text, next) ||
		before >= 0 && (before == 0 || text[before-1] == '\n') && lineEnd(text, before) == start-1 && isCut(text, start-1)
}

// lineEnd returns the offset of the end of the line at text[at]. It looks at no more than maxWidth bytes and one.
func lineEnd(text []byte, at int) int {
	rest := text[at:min(len(text), at+maxWidth+1)]
	if n := bytes.IndexByte(rest, '\n'); n >= 0 {
		return at + n
	}
	return at + len(rest)
}

// isCut reports whether letters or digits stand on both sides of the line end at text[at], and the next line does not begin with a name.
func isCut(text []byte, at int) bool {
	before := bytes.TrimSuffix(text[max(0, at-2):at], []byte("\r"))
	return len(before) > 0 && isToken(before[len(before)-1]) && at+1 < len(text) && isToken(text[at+1]) && !isNamed(firstPart(text[at+1:]))
}

// numberLetters are the letters of numbers, dates and times.
const numberLetters = "0123456789-+:./TZ"

// goesOn reports whether the line after the line end at text[at] may go on with the value in which the line before ends. A name with its
// operator, words, a number and a line that begins like the one before do not.
func goesOn(text []byte, at int) bool {
	const same, least = 4, 4
	line, rest := bytes.TrimSuffix(text[max(0, at-maxWidth):at], []byte("\r")), text[at+1:]
	if len(line) == 0 || len(rest) == 0 || bytes.IndexByte(valueEnds, line[len(line)-1]) >= 0 {
		return false
	}
	part := firstPart(rest)
	if len(part) == 0 || isNamed(part) || isPlain(part) || len(part) >= least && len(bytes.Trim(part, numberLetters)) == 0 || bytes.HasPrefix(part, []byte("--")) {
		return false
	}
	if len(part) < len(rest) && (rest[len(part)] == ' ' || rest[len(part)] == '\t') && !isRandom(part) {
		return false
	}
	first := line[bytes.LastIndexByte(line, '\n')+1:]
	return len(part) < same || !bytes.HasPrefix(first, part[:same])
}

// firstPart returns the start of text up to what ends a value without quotes.
func firstPart(text []byte) []byte {
	n := 0
	for n < len(text) && n < maxWidth && text[n] != '\r' && bytes.IndexByte(valueEnds, text[n]) < 0 {
		n++
	}
	return text[:n]
}

// isNamed reports whether part begins with a name and '=' or ':'. The '=' of base64 ends part.
func isNamed(part []byte) bool {
	n := 0
	for n < len(part) && isName(part[n]) {
		n++
	}
	if n == 0 || n == len(part) || part[0] >= '0' && part[0] <= '9' {
		return false
	}
	switch part[n] {
	case ':':
		return true
	case '=':
		name := part[:n]
		return !mixed(name) && (len(bytes.TrimRight(part[n:], "=")) > 0 || isCapital(name) || isPlain(name))
	}
	return false
}

// isPlain reports whether part consists of words: of at least two letters each, between separators or capitals, with few digits.
func isPlain(part []byte) bool {
	const least, few = 2, 4
	if digits(part)*few >= len(part) {
		return false
	}
	words := nameParts(strings.Map(func(r rune) rune {
		if strings.ContainsRune("/:!?,", r) {
			return '.'
		}
		return r
	}, string(part)))
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool {
		return len(word) < least || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' })
	})
}
