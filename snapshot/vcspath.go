package snapshot

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// EscapePath spells a path, which is any bytes, as text: a byte that is not part of
// UTF-8, and a percent sign, as a percent sign and two hex digits.
func EscapePath(p string) string {
	if utf8.ValidString(p) && !strings.Contains(p, "%") {
		return p
	}
	var b strings.Builder
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRuneInString(p[i:])
		if r == '%' || r == utf8.RuneError && size == 1 {
			b.WriteString(escape(p[i:i+1], func(byte) bool { return false }))
		} else {
			b.WriteString(p[i : i+size])
		}
		i += size
	}
	return b.String()
}

// unescapePath is the strict inverse of EscapePath.
func unescapePath(s string) (string, bool) {
	if !strings.Contains(s, "%") {
		return s, utf8.ValidString(s)
	}
	p, ok := percentDecode(s)
	if !ok || EscapePath(p) != s {
		return "", false
	}
	return p, true
}

// MarshalJSON spells the path as vcs.json does.
func (l LeftOut) MarshalJSON() ([]byte, error) { return appendLeftOut(nil, l), nil }

// MarshalJSON spells the path as vcs.json does.
func (a Altered) MarshalJSON() ([]byte, error) { return appendAltered(nil, a), nil }

// UnmarshalJSON is the inverse of MarshalJSON, with members in any order. An unknown
// one is an error.
func (l *LeftOut) UnmarshalJSON(data []byte) error {
	return eachMember(data, func(name string, value json.RawMessage) error {
		switch name {
		case "path":
			return pathField(value, &l.Path)
		case "reason":
			return field(value, &l.Reason)
		case "bytes":
			return field(value, &l.Bytes)
		}
		return errUnknownField
	})
}

// UnmarshalJSON is the inverse of MarshalJSON, with members in any order. An unknown
// one is an error.
func (a *Altered) UnmarshalJSON(data []byte) error {
	return eachMember(data, func(name string, value json.RawMessage) error {
		switch name {
		case "path":
			return pathField(value, &a.Path)
		case "by":
			return field(value, &a.By)
		}
		return errUnknownField
	})
}

// pathField reads a path that EscapePath has spelled.
func pathField(value json.RawMessage, target *string) error {
	var spelled string
	if err := field(value, &spelled); err != nil {
		return err
	}
	p, ok := unescapePath(spelled)
	if !ok {
		return errPathSpelling
	}
	*target = p
	return nil
}

var errPathSpelling = errors.New("not the spelling of a path: a percent sign is written %25")
