package smithers

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/smithersdb"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// maxTime is the greatest time, and the greatest number of anything, that a run of ours can have.
const maxTime = 1<<53 - 1

// ourTime is the time nearest to one of Smithers' that a run of ours can have.
func ourTime(ms int64) int64 { return min(max(ms, 0), maxTime) }

// columnTime is a column's integer as a time of ours; ok tells whether it is one.
func columnTime(row smithersdb.Row, name string) (ms int64, ok bool) {
	v := row[name]
	return ourTime(v.Int), v.Kind == smithersdb.Int
}

func textValue(s string) smithersdb.Value { return smithersdb.Value{Kind: smithersdb.Text, Bytes: s} }

func intValue(n int64) smithersdb.Value { return smithersdb.Value{Kind: smithersdb.Int, Int: n} }

func boolValue(b bool) smithersdb.Value {
	if b {
		return intValue(1)
	}
	return intValue(0)
}

// optionalText is NULL for "".
func optionalText(s string) smithersdb.Value {
	if s == "" {
		return smithersdb.Value{}
	}
	return textValue(s)
}

// nullableText is NULL for nil.
func nullableText(s *string) smithersdb.Value {
	if s == nil {
		return smithersdb.Value{}
	}
	return textValue(*s)
}

// nullableInt is NULL for nil.
func nullableInt(n *int64) smithersdb.Value {
	if n == nil {
		return smithersdb.Value{}
	}
	return intValue(*n)
}

// columnText is a column's text; ok tells whether it is text in UTF-8.
func columnText(row smithersdb.Row, name string) (s string, ok bool) {
	v := row[name]
	if v.Kind != smithersdb.Text || !utf8.ValidString(v.Bytes) {
		return "", false
	}
	return v.Bytes, true
}

// columnTextOrNil is a column's text, nil where it is anything else.
func columnTextOrNil(row smithersdb.Row, name string) *string {
	if s, ok := columnText(row, name); ok {
		return &s
	}
	return nil
}

// columnNumber is a column's integer; ok tells whether it is one that ours can be.
func columnNumber(row smithersdb.Row, name string) (n int64, ok bool) {
	v := row[name]
	if v.Kind != smithersdb.Int || v.Int < 0 || v.Int > maxTime {
		return 0, false
	}
	return v.Int, true
}

// columnNumberOrNil is a column's integer, nil where it is anything else.
func columnNumberOrNil(row smithersdb.Row, name string) *int64 {
	if n, ok := columnNumber(row, name); ok {
		return &n
	}
	return nil
}

// columnJSON is a column's text where it is JSON that we take; nil where it is anything else.
func columnJSON(row smithersdb.Row, name string) json.RawMessage {
	v := row[name]
	if value := json.RawMessage(v.Bytes); v.Kind == smithersdb.Text && takenJSON(value) {
		return value
	}
	return nil
}

var errNotObject = errors.New("not a JSON object that a run can have")

// membersOf are the members of a JSON object, in order; a name may come twice.
func membersOf(object []byte) ([]member, error) {
	if !takenJSON(object) {
		return nil, errNotObject
	}
	return takenMembers(object)
}

// takenMembers are those of what is JSON already; nil is none.
func takenMembers(object json.RawMessage) ([]member, error) {
	if len(object) == 0 || object[0] != '{' {
		return nil, errNotObject
	}
	const usual = 8
	all := make([]member, 0, usual)
	for m := range members(object) {
		all = append(all, m)
	}
	return all, nil
}

// newMember is a member of an object, spelled as we do.
func newMember(name, value string) member {
	text := append(page.AppendString(nil, name), ':')
	return member{name: name, text: append(text, value...), value: []byte(value)}
}

// memberText is the text of a JSON string that is a member; "" where it is anything else.
func memberText(members []member, name string) string {
	var s string
	for _, m := range members {
		if m.name == name && json.Unmarshal(m.value, &s) != nil {
			s = ""
		}
	}
	return s
}
