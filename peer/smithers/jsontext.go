package smithers

import (
	"encoding/json"
	"errors"
	"iter"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
)

// What is read here is valid JSON: it was checked as a whole before.

// member is one member of a JSON object.
type member struct {
	name  string
	text  []byte // name, colon and value, as they are spelled
	value []byte
}

// members yields the members of an object in their order; none of what is no object.
func members(object []byte) iter.Seq[member] {
	return func(yield func(member) bool) {
		i := jsontext.SkipSpace(object, 0)
		if i >= len(object) || object[i] != '{' {
			return
		}
		for i = jsontext.SkipSpace(object, i+1); object[i] != '}'; {
			nameEnd := jsontext.ValueEnd(object, i)
			start := jsontext.SkipSpace(object, jsontext.SkipSpace(object, nameEnd)+1)
			end := jsontext.ValueEnd(object, start)
			if !yield(member{unquote(object[i:nameEnd]), object[i:end], object[start:end]}) {
				return
			}
			if i = jsontext.SkipSpace(object, end); object[i] == ',' {
				i = jsontext.SkipSpace(object, i+1)
			}
		}
	}
}

// elements yields the elements of an array in their order; none of what is no array.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := jsontext.SkipSpace(array, 0)
		if i >= len(array) || array[i] != '[' {
			return
		}
		for i = jsontext.SkipSpace(array, i+1); array[i] != ']'; {
			end := jsontext.ValueEnd(array, i)
			if !yield(array[i:end]) {
				return
			}
			if i = jsontext.SkipSpace(array, end); array[i] == ',' {
				i = jsontext.SkipSpace(array, i+1)
			}
		}
	}
}

// unquote reads a string; a surrogate without its other half becomes U+FFFD.
func unquote(text []byte) string {
	for _, c := range text {
		if c == '\\' {
			var s string
			if err := json.Unmarshal(text, &s); err != nil {
				return ""
			}
			return s
		}
	}
	return string(text[1 : len(text)-1])
}

func isString(value []byte) bool { return value[0] == '"' }

func isNull(value []byte) bool { return string(value) == "null" }

// appendNullable appends a string, or null.
func appendNullable(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return page.AppendString(b, *s)
}

var errNotObject = errors.New("not a JSON object that a run can have")

// membersOf are the members of a JSON object, in order; a name may come twice.
func membersOf(object []byte) ([]member, error) {
	if !dbrow.IsJSON(object) {
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
