package source

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// formatNumber returns value as JavaScript writes the number: from 1e-6 up to 1e21 without an exponent, and otherwise
// with an exponent that has no leading zeros. value must be finite.
func formatNumber(value float64) string {
	if value == 0 {
		return "0"
	}
	if size := math.Abs(value); size >= 1e-6 && size < 1e21 {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(value, 'e', -1, 64), "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}

// appendRune appends the encoding of r to b and returns the extended slice. The encoding is UTF-8, except for an
// unpaired surrogate. appendRune encodes a surrogate in three bytes, as if it were a character.
func appendRune(b []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(b, r)
}

// decodeRune returns the first character of s, a string that appendRune wrote, and its length in bytes. The
// character may be an unpaired surrogate.
func decodeRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	// utf8 rejects the three bytes of a surrogate.
	if r == utf8.RuneError && n == 1 && len(s) >= 3 {
		return rune(s[0]&0xf)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return r, n
}

// appendJSON appends n, a JSON value, to the slice to, in the form of JSON.stringify. It returns the extended
// slice. depth is the number of arrays and objects around n. If n or a value inside n is deeper than deepest, the
// error is errTooDeep.
func appendJSON(to []byte, n *node, depth int) ([]byte, error) {
	if depth > deepest {
		return nil, errTooDeep
	}
	var err error
	switch n.kind {
	case stringNode:
		return appendText(to, n.text), nil
	case arrayNode:
		to = append(to, '[')
		for i, item := range n.items {
			if i > 0 {
				to = append(to, ',')
			}
			if to, err = appendJSON(to, item, depth+1); err != nil {
				return nil, err
			}
		}
		return append(to, ']'), nil
	case objectNode:
		to = append(to, '{')
		for i, name := range n.ordered() {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(appendText(to, name), ':')
			if to, err = appendJSON(to, n.members[name], depth+1); err != nil {
				return nil, err
			}
		}
		return append(to, '}'), nil
	case nullNode:
		return append(to, "null"...), nil
	default:
		return append(to, n.text...), nil
	}
}

// appendText appends s as a JSON string, in quotes, to the slice to. It returns the extended slice. Like
// JSON.stringify, it escapes quotes, backslashes, control characters and unpaired surrogates.
func appendText(to []byte, s string) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	for s != "" {
		r, n := decodeRune(s)
		switch i := strings.IndexRune("\"\\\b\f\n\r\t", r); {
		case i >= 0:
			to = append(to, '\\', `"\bfnrt`[i])
		case r < ' ' || utf16.IsSurrogate(r):
			to = append(to, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		default:
			to = append(to, s[:n]...)
		}
		s = s[n:]
	}
	return append(to, '"')
}
