package snapshot

import (
	"strconv"
	"strings"
)

const hexDigits = "0123456789abcdef"

// escape percent-escapes the bytes of s that are not in alphabet, in lower-case hex.
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

// unescape is the strict inverse of escape.
func unescape(s string, plain func(byte) bool) (string, bool) {
	text, ok := percentDecode(s)
	if !ok || escape(text, plain) != s {
		return "", false
	}
	return text, true
}

// percentDecode puts bytes where a percent sign and two hex digits stand.
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

// plainRun tells which bytes of a run id stand for themselves in a trailer: those
// that do in a ref.
func plainRun(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// plainTable tells which bytes of a table's name stand for themselves in a tree.
func plainTable(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
