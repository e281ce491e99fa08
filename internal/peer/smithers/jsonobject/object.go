// Package jsonobject splits JSON objects and arrays into their parts, and joins members into an object. All parts keep
// their exact bytes. All functions except Parse require valid JSON.
package jsonobject

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
)

// Member is one member of an object.
type Member struct {
	Name  string
	Text  []byte // name, colon and value as spelled
	Value []byte // the value as spelled
}

// Members yields the members of a JSON object in their order. object must be valid JSON, or empty. If object is
// not a JSON object, Members yields nothing.
func Members(object []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for m := range jsontext.Spans(object) {
			if !yield(Member{jsontext.Unquote(object[m.Name:m.NameEnd]), object[m.Name:m.End], object[m.Start:m.End]}) {
				return
			}
		}
	}
}

// IsString reports whether value is a JSON string. value must be valid JSON, and must not begin with white space.
func IsString(value []byte) bool { return value[0] == '"' }

// IsNull reports whether value is the JSON null. value must not have white space around it.
func IsNull(value []byte) bool { return string(value) == "null" }

// AppendNullable appends the text that s points to, as a JSON string, to b. If s is nil, it appends null. It
// returns the extended slice.
func AppendNullable(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return page.AppendString(b, *s)
}

var errNotObject = errors.New("not a JSON object that a run can have")

// Parse returns the members of an object in their order. Several members may have the same name. If object is not a
// JSON object, or exceeds the limits of a run, Parse returns an error.
func Parse(object []byte) ([]Member, error) {
	if !dbrow.IsJSON(object) {
		return nil, errNotObject
	}
	return Read(object)
}

// Read returns the members of an object in their order. Unlike Parse, it does not check the JSON or the limits.
// The members refer to the bytes of object. If object is empty or does not begin with "{", Read returns an error.
func Read(object json.RawMessage) ([]Member, error) {
	if len(object) == 0 || object[0] != '{' {
		return nil, errNotObject
	}
	// Most objects have at most this many members.
	const usual = 8
	all := make([]Member, 0, usual)
	for m := range Members(object) {
		all = append(all, m)
	}
	return all, nil
}

// NewMember returns a member with a name and a value. value must be JSON text.
func NewMember(name, value string) Member {
	text := append(page.AppendString(nil, name), ':')
	return Member{Name: name, Text: append(text, value...), Value: []byte(value)}
}

// TextOf returns the string value of the member with the given name, or "" if there is no such member. If several
// members have the name, the last member whose value is not null counts. If this value is not a string, TextOf returns
// "".
func TextOf(members []Member, name string) string {
	var s string
	for _, m := range members {
		if m.Name == name && json.Unmarshal(m.Value, &s) != nil {
			s = ""
		}
	}
	return s
}

// Join returns the JSON object that has the given members in their order. Each member keeps its text.
func Join(members []Member) json.RawMessage {
	size := len("{}")
	for _, m := range members {
		size += len(m.Text) + len(",")
	}
	b := append(make([]byte, 0, size), '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.Text...)
	}
	return append(b, '}')
}

// RawOf returns the JSON text of the value of the first member with the given name, or "" if there is no such
// member.
func RawOf(members []Member, name string) string {
	for _, m := range members {
		if m.Name == name {
			return string(m.Value)
		}
	}
	return ""
}

// HasTwice reports whether at least two members have the same name.
func HasTwice(members []Member) bool {
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if seen[m.Name] {
			return true
		}
		seen[m.Name] = true
	}
	return false
}

// With replaces the first member that has the name of set, and returns the changed members. If there is no such member,
// With adds set at the end. With may change the array of members.
func With(members []Member, set Member) []Member {
	at := slices.IndexFunc(members, func(m Member) bool { return m.Name == set.Name })
	if at < 0 {
		return append(members, set)
	}
	members[at] = set
	return members
}

// Quote returns s as a JSON string.
func Quote(s string) string { return string(page.AppendString(nil, s)) }
