package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
)

// Document returns the JSON document of a result: its kind, and then the members of the parts, one part after the other. A part is an
// object, such as the result itself, or a Member. The members of a nil pointer are left out.
func Document(kind string, parts ...any) json.Marshaler {
	return document(append([]any{Member("kind", kind)}, parts...))
}

// A document has the parts of a document.
type document []any

// errNoObject means that a part of a document is not an object.
var errNoObject = errors.New("a part of a JSON document is not an object")

// MarshalJSON returns the document as one object.
func (d document) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for _, part := range d {
		text, err := EncodeValue(part)
		if err != nil {
			return nil, err
		}
		members, isObject := bytes.CutPrefix(text, []byte{'{'})
		switch {
		case string(text) == "null" || string(text) == "{}":
			continue
		case !isObject:
			return nil, errNoObject
		case len(out) > 1:
			out = append(out, ',')
		}
		out = append(out, members[:len(members)-1]...)
	}
	return append(out, '}'), nil
}

// Member returns a part of a Document with one member.
func Member(name string, value any) json.Marshaler { return member{name, value} }

// Optional returns a part of a Document with one member, or with none if the value is zero, or an empty list.
func Optional(name string, value any) json.Marshaler {
	if v := reflect.ValueOf(value); !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return document(nil)
	}
	return member{name, value}
}

type member struct {
	name  string
	value any
}

// MarshalJSON returns an object with the member.
func (m member) MarshalJSON() ([]byte, error) {
	name, err := EncodeValue(m.name)
	if err != nil {
		return nil, err
	}
	value, err := EncodeValue(m.value)
	return append(append(append(append([]byte{'{'}, name...), ':'), value...), '}'), err
}

// WriteAll prints a Document of each result in a list, one a line.
func WriteAll[T any](s *Terminal, kind string, list []T) error {
	for i := range list {
		if err := s.WriteJSON(Document(kind, list[i])); err != nil {
			return err
		}
	}
	return nil
}
