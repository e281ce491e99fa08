// Package jsontext finds its way in JSON without taking it apart: where a value ends, and what
// stands around it. All text that it is given must be valid JSON.
package jsontext

// ValueEnd is the offset after the value that begins at i.
func ValueEnd(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']', ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
			if b[i] == '}' || b[i] == ']' {
				depth--
			}
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

// stringEnd is the offset after the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(b))
}

// SkipSpace is the offset of the first byte from i on that is no white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}
