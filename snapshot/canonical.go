package snapshot

import (
	"strconv"
	"strings"
)

// hexDigits lists the hex digits in the order of their values.
const hexDigits = "0123456789abcdef"

// escape returns s in escaped form: each byte for which plain returns false is replaced by a percent sign and the two
// lower-case hex digits of the byte.
func escape(s string, plain func(byte) bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if plain(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&0xf])
	}
	return b.String()
}

// unescape reverses escape: it returns the text for which escape(text, plain) is s, and true. If there is no such
// text, unescape returns "" and false.
func unescape(s string, plain func(byte) bool) (string, bool) {
	text, ok := percentDecode(s)
	if !ok || escape(text, plain) != s {
		return "", false
	}
	return text, true
}

// percentDecode returns s, with each percent sign and the two hex digits after the sign replaced by the byte, and true.
// Digits may be in any case. If a percent sign is not followed by two hex digits, the result is "" and false.
func percentDecode(s string) (string, bool) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		code, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		out = append(out, byte(code))
		i += 2
	}
	return string(out), true
}

// plainRun reports whether a byte of a run id stays unescaped in a trailer of a commit message. The same bytes stay
// unescaped in the name of a ref.
func plainRun(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// plainTable reports whether a byte of a table's name stays unescaped in a tree.
func plainTable(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
