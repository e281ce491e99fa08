// Package jsontext checks JSON and finds where its values end, without decoding them, and encodes values.
package jsontext

import (
	"encoding/binary"
	"unicode/utf8"
)

// maxDepth bounds the nesting of arrays and objects. encoding/json has the same bound.
const maxDepth = 10000

// Valid reports whether b is exactly one JSON value in UTF-8 without space around it. Otherwise it
// accepts the same text as json.Valid, and is faster: it runs over whole pages at every edit.
func Valid(b []byte) bool {
	return utf8.Valid(b) && scanValue(b, 0, 0) == len(b)
}

// ValueEnd returns the offset after the value that begins at b[i], or -1 if no value begins there.
func ValueEnd(b []byte, i int) int { return scanValue(b, i, 0) }

// StringEnd returns the offset after the string that begins at b[i], or -1 if no string begins there.
func StringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	return scanString(b, i)
}

// SkipSpace returns the offset of the first byte from i on that is not white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// scanValue returns the offset after the value that begins at b[i], or -1.
func scanValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return scanString(b, i)
	case '{':
		return scanMembers(b, i, depth+1, '}')
	case '[':
		return scanMembers(b, i, depth+1, ']')
	case 't':
		return scanWord(b, i, "true")
	case 'f':
		return scanWord(b, i, "false")
	case 'n':
		return scanWord(b, i, "null")
	}
	return scanNumber(b, i)
}

// scanMembers scans an object or an array that ends in closing.
func scanMembers(b []byte, i, depth int, closing byte) int {
	if depth > maxDepth {
		return -1
	}
	i = SkipSpace(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1
	}
	for {
		if closing == '}' {
			if i >= len(b) || b[i] != '"' {
				return -1
			}
			if i = scanString(b, i); i < 0 {
				return -1
			}
			if i = SkipSpace(b, i); i >= len(b) || b[i] != ':' {
				return -1
			}
			i = SkipSpace(b, i+1)
		}
		if i = scanValue(b, i, depth); i < 0 {
			return -1
		}
		if i = SkipSpace(b, i); i >= len(b) {
			return -1
		}
		if b[i] == closing {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = SkipSpace(b, i+1)
	}
}

func scanString(b []byte, i int) int {
	for i = skipPlain(b, i+1); i < len(b); i = skipPlain(b, i+1) {
		if b[i] == '"' {
			return i + 1
		}
		if b[i] != '\\' || i+1 >= len(b) {
			return -1
		}
		i++
		switch b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if i+4 >= len(b) {
				return -1
			}
			for _, h := range b[i+1 : i+5] {
				if !isDigit(h) && (h|0x20 < 'a' || h|0x20 > 'f') {
					return -1
				}
			}
			i += 4
		default:
			return -1
		}
	}
	return -1
}

// skipPlain returns the offset of the next special byte of a string: a quote, a backslash or a
// control character.
func skipPlain(b []byte, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	// Eight bytes at a time. For a byte x below 0x80, (x - n) &^ x has its high bit set if x is
	// below n. With n = 1, that finds zeros; equal bytes become zeros by xor.
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^'"'*ones, x^'\\'*ones
		if ((x-' '*ones)&^x|(quote-ones)&^quote|(slash-ones)&^slash)&highs != 0 {
			break
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

func scanNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	if i = skipDigits(b, i); i == start || (b[start] == '0' && i > start+1) {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = skipDigits(b, start); i == start {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = skipDigits(b, start); i == start {
			return -1
		}
	}
	return i
}

func scanWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
