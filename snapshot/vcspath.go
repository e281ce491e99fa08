package snapshot

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/snapshot/row"
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

// pathSpelling spells the paths of files.
type pathSpelling struct{}

// Spell is EscapePath.
func (pathSpelling) Spell(p string) string { return EscapePath(p) }

// Read is the strict inverse of EscapePath.
func (pathSpelling) Read(s string) (string, error) {
	p, ok := unescapePath(s)
	if !ok {
		return "", errPathSpelling
	}
	return p, nil
}

var errPathSpelling = errors.New("not the spelling of a path: a percent sign is written %25")

// MarshalJSON spells the path as vcs.json does.
func (l LeftOut) MarshalJSON() ([]byte, error) { return row.AppendObject(nil, leftOutFields, &l), nil }

// MarshalJSON spells the path as vcs.json does.
func (a Altered) MarshalJSON() ([]byte, error) { return row.AppendObject(nil, alteredFields, &a), nil }

// UnmarshalJSON is the inverse of MarshalJSON, with members in any order. An unknown
// member is an error.
func (l *LeftOut) UnmarshalJSON(data []byte) error { return row.Members(data, l, leftOutFields) }

// UnmarshalJSON is the inverse of MarshalJSON, with members in any order. An unknown
// member is an error.
func (a *Altered) UnmarshalJSON(data []byte) error { return row.Members(data, a, alteredFields) }
