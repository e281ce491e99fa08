package row

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Document returns the content of a file for v: a JSON object with the members that fields declare, and an LF.
func Document[T any](fields []Field[T], v *T) []byte {
	return append(AppendObject(make([]byte, 0, 512), fields, v), '\n')
}

// ReadDocument decodes data, the content of a file. If Document would not have written data, the error is
// ErrNotCanonical. But if data differs only by members that fields do not declare, the error wraps ErrNewerFormat.
func ReadDocument[T any](fields []Field[T], data []byte) (*T, error) {
	v := new(T)
	r := Reader{Rest: data}
	take(&r, fields, v)
	if r.Done("\n") {
		return v, nil
	}
	r = Reader{Rest: data, others: new(others)}
	take(&r, fields, new(T))
	if !r.Done("\n") {
		return nil, ErrNotCanonical
	}
	return nil, r.others.refused(false)
}

// Members decodes object into v, as an engine writes it: the members are in any order, each at most once. tables
// declare the members. If a member is in none of tables, the error wraps [ErrUnknownField]. If a [Required] member is
// missing or null, Members returns an error. object must be valid JSON.
func Members[T any](object []byte, v *T, tables ...[]Field[T]) error {
	var given []string // the required members that object has
	err := EachMember(object, func(name string, value json.RawMessage) error {
		for _, fields := range tables {
			for i := range fields {
				if fields[i].Name != name {
					continue
				}
				if fields[i].isRequired() && string(value) != "null" {
					given = append(given, name)
				}
				return fields[i].value.set(v, value)
			}
		}
		return ErrUnknownField
	})
	if err != nil {
		return err
	}
	for _, fields := range tables {
		for i := range fields {
			if fields[i].isRequired() && !slices.Contains(given, fields[i].Name) {
				return fmt.Errorf("%s: missing", fields[i].Name)
			}
		}
	}
	return nil
}

// Object returns the field for a nested object with its own fields. If the pointer to the object is nil, the member
// is left out. name is the name of the member. at returns the address of the pointer in a T.
func Object[T, P any](name string, at func(*T) **P, fields []Field[P]) Field[T] {
	return Field[T]{name, object[T, P]{at, fields}}
}

// object is the value of an Object field.
type object[T, P any] struct {
	at     func(*T) **P
	fields []Field[P]
}

func (o object[T, P]) put(b []byte, name string, of *T) []byte {
	if p := *o.at(of); p != nil {
		return AppendObject(AppendName(b, name), o.fields, p)
	}
	return b
}

func (o object[T, P]) take(r *Reader, name string, of *T) {
	if r.Optional(name) {
		p := new(P)
		r.inside = false // the nested object has no member yet
		take(r, o.fields, p)
		*o.at(of) = p
	}
}

func (o object[T, P]) set(of *T, value json.RawMessage) error {
	if string(value) == "null" {
		return nil
	}
	p := new(P)
	*o.at(of) = p
	return Members(value, p, o.fields)
}

// List returns the field for a list of objects with the members that fields declare. The member is an array, and is
// left out if the list is empty. name is the name of the member. at returns a pointer to the slice of objects in a T.
func List[T, E any](name string, at func(*T) *[]E, fields []Field[E]) Field[T] {
	return Field[T]{name, list[T, E]{at, fields}}
}

// list is the value of a List field.
type list[T, E any] struct {
	at     func(*T) *[]E
	fields []Field[E]
}

func (l list[T, E]) put(b []byte, name string, of *T) []byte {
	elements := *l.at(of)
	if len(elements) == 0 {
		return b
	}
	b = append(AppendName(b, name), '[')
	for i := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendObject(b, l.fields, &elements[i])
	}
	return append(b, ']')
}

func (l list[T, E]) take(r *Reader, name string, of *T) {
	if !r.Optional(name) {
		return
	}
	elements := Elements(r, func(r *Reader) E {
		var e E
		take(r, l.fields, &e)
		return e
	})
	r.Bad = r.Bad || len(elements) == 0
	*l.at(of) = elements
}

func (l list[T, E]) set(of *T, value json.RawMessage) error {
	if string(value) == "null" {
		return nil
	}
	return EachElement(value, func(_ int, value json.RawMessage) error {
		var e E
		err := Members(value, &e, l.fields)
		*l.at(of) = append(*l.at(of), e)
		return err
	})
}

// Part converts the fields of a P to fields of a T that contains the P. The members of the P become members of the
// object of the T itself, with the same names and in the same order. at returns a pointer to the P in a T.
func Part[T, P any](fields []Field[P], at func(*T) *P) []Field[T] {
	parts := make([]Field[T], len(fields))
	for i, f := range fields {
		parts[i] = Field[T]{f.Name, part[T, P]{at, f.value}}
	}
	return parts
}

// part is the value of a field that Part returns. It applies the value of the P's field to the P in a T.
type part[T, P any] struct {
	at    func(*T) *P
	value value[P]
}

func (p part[T, P]) put(b []byte, name string, of *T) []byte { return p.value.put(b, name, p.at(of)) }
func (p part[T, P]) take(r *Reader, name string, of *T)      { p.value.take(r, name, p.at(of)) }

func (p part[T, P]) set(of *T, value json.RawMessage) error { return p.value.set(p.at(of), value) }

// Spelled returns the field for a string that has another form in JSON, which spelling defines. name is the name of
// the member. at returns a pointer to the string in a T.
func Spelled[T any](name string, at func(*T) *string, spelling Spelling) Field[T] {
	return Field[T]{name, spelled[T]{at, spelling}}
}

// Spelling converts strings to and from their spelling in JSON.
type Spelling interface {
	// Spell returns the spelling of s in JSON.
	Spell(s string) string
	// Read returns the string for which Spell returns spelled. If Spell never returns spelled, Read returns an error.
	Read(spelled string) (string, error)
}

// spelled is the value of a Spelled field.
type spelled[T any] struct {
	at       func(*T) *string
	spelling Spelling
}

func (s spelled[T]) put(b []byte, name string, of *T) []byte {
	return AppendText(b, name, s.spelling.Spell(*s.at(of)))
}

func (s spelled[T]) take(r *Reader, name string, of *T) {
	r.Name(name)
	text, err := s.spelling.Read(r.Text())
	r.Bad = r.Bad || err != nil
	*s.at(of) = text
}

func (s spelled[T]) set(of *T, value json.RawMessage) error {
	var text string
	if err := Into(value, &text); err != nil {
		return err
	}
	text, err := s.spelling.Read(text)
	if err == nil {
		*s.at(of) = text
	}
	return err
}
