package jsontext

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// CompareUTF16 compares two texts by their UTF-16 code units, as JavaScript and RFC 8785 do. It returns -1, 0
// or 1. Only the order of characters above U+FFFF and of U+E000 to U+FFFF differs from the order of bytes.
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
	// A character from bmpEnd on begins with a surrogate in UTF-16. Every surrogate sorts before U+E000 and after the
	// characters below firstSurrogate.
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
