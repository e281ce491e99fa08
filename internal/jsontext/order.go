package jsontext

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// CompareUTF16 compares two texts by their UTF-16 code units, as JavaScript and RFC 8785 do. It returns -1, 0 or 1. The
// result differs from a comparison of bytes only where a character above U+FFFF meets one from U+E000 to U+FFFF.
func CompareUTF16(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	// Go back to the start of the first character that differs.
	for i > 0 && i < len(a) && i < len(b) && (!utf8.RuneStart(a[i]) || !utf8.RuneStart(b[i])) {
		i--
	}
	x, _ := utf8.DecodeRuneInString(a[i:])
	y, _ := utf8.DecodeRuneInString(b[i:])
	// In UTF-16, a character from bmpEnd on begins with a surrogate. Every surrogate sorts before U+E000 and after the
	// characters below firstSurrogate. So firstSurrogate is compared in place of such a character.
	const bmpEnd = 0x10000
	if (x >= bmpEnd) != (y >= bmpEnd) && i < len(a) && i < len(b) {
		const firstSurrogate = 0xd800
		if x >= bmpEnd {
			return cmp.Compare(firstSurrogate, y)
		}
		return cmp.Compare(x, firstSurrogate)
	}
	return strings.Compare(a[i:], b[i:])
}
