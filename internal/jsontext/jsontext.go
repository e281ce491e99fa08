// Package jsontext checks JSON and finds the ends of its values without decoding them. It also encodes values, and
// decodes objects with the order of their members.
package jsontext

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// maxDepth is the largest depth of nested arrays and objects. encoding/json has the same limit.
const maxDepth = 10000

// Valid reports whether b is exactly one JSON value in UTF-8 without white space around the value. Apart from these two
// conditions, it accepts the same texts as json.Valid. It is faster than json.Valid, because each edit of a collection
// checks whole pages.
func Valid(b []byte) bool {
	return utf8.Valid(b) && scanValue(b, 0, 0) == len(b)
}

// DeeperThan reports whether arrays and objects in b are nested more than limit levels deep. b need not be JSON,
// because DeeperThan only counts the brackets outside strings. A string ends at its quote, or at the end of b.
// DeeperThan reads b without recursion.
func DeeperThan(b []byte, limit int) bool {
	if bytes.Count(b, []byte{'{'})+bytes.Count(b, []byte{'['}) <= limit {
		return false // counting brackets is much faster than the loop below
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = textEnd(b, i+1)
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// textEnd returns the offset of the quote that ends a string, or len(b) if b ends first. i is the offset after the
// opening quote. For long texts, a search for quotes alone is much faster than skipPlain.
func textEnd(b []byte, i int) int {
	for start := i; ; i++ {
		n := bytes.IndexByte(b[min(i, len(b)):], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		slashes := 0 // a quote after an odd number of backslashes is part of the string
		for at := i - 1; at >= start && b[at] == '\\'; at-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

// ValueEnd returns the offset after the value that begins at b[i], or -1 if no valid value begins there. Arrays and
// objects nested more than maxDepth levels deep are not valid.
func ValueEnd(b []byte, i int) int { return scanValue(b, i, 0) }

// StringEnd returns the offset after the JSON string that begins at b[i], or -1 if no valid string
// begins there.
func StringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	return scanString(b, i)
}

// SkipSpace returns the offset of the first byte of b, at i or later, that is not JSON white space. If there is no
// such byte, it returns len(b).
func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// scanValue returns the offset after the value that begins at b[i], or -1 if no valid value begins there. depth is the
// number of arrays and objects around the value. Arrays and objects nested more than maxDepth levels deep are not
// valid.
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

// scanMembers returns the offset after the object or array that begins at b[i]. closing is the byte that ends the
// object or array. If the object or array is malformed or too deep, scanMembers returns -1. depth is the number of
// nested objects and arrays, including this one.
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

// scanString returns the offset after the string whose opening quote is b[i], or -1 if the string is
// malformed.
func scanString(b []byte, i int) int {
	// Each round reads a quote, or a backslash with the escape that it begins. Any other special byte is an
	// error.
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

// Words of eight equal bytes: 0x01 in ones, and 0x80 in highs.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// skipPlain returns the offset of the first special byte of a string, at i or later in b, or len(b) if b has no such
// byte. A special byte is a quote, a backslash or a control character.
func skipPlain(b []byte, i int) int {
	// The loop tests eight bytes at once. For a byte x below 0x80, (x-n) &^ x has its high bit set if x < n.
	// The loop tests eight bytes at once. For a byte x below 0x80, (x-n) &^ x has its high bit set if x < n. So n = ' '
	// finds control characters, and n = 1 finds zeros. The xor with a quote or a backslash makes equal bytes zero. The
	// subtraction can also mark a plain byte by mistake, but only after a special byte. Only the first marked byte
	// counts, so the mistake does no harm.
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^'"'*ones, x^'\\'*ones
		if found := ((x-' '*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// scanNumber returns the offset after the number that begins at b[i], or -1 if no valid number begins
// there.
func scanNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	// A number has at least one digit, and no zero before other digits.
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

// scanWord returns the offset after word if word begins at b[i]. Otherwise it returns -1.
func scanWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// skipDigits returns the offset of the first byte of b, at i or later, that is not a digit, or len(b) if b has no such
// byte.
func skipDigits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

// isDigit reports whether c is a decimal digit.
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
