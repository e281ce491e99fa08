package snapshot

import (
	"strconv"
	"strings"
)

const hexDigits = "0123456789abcdef"

// escape percent-escapes, in lower-case hex, the bytes of s that are not plain.
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

// unescape is the strict inverse of escape. It reports whether escape would have written s.
func unescape(s string, plain func(byte) bool) (string, bool) {
	text, ok := percentDecode(s)
	if !ok || escape(text, plain) != s {
		return "", false
	}
	return text, true
}

// percentDecode replaces each percent sign and the two hex digits after it by their byte.
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

// plainRun reports whether a byte of a run id is unescaped in a trailer: the same bytes as in a ref.
func plainRun(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// plainTable reports whether a byte of a table's name is unescaped in a tree.
func plainTable(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
