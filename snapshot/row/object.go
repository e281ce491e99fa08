package row

import "encoding/json"

// Document encodes a T as the content of a file.
func Document[T any](fields []Field[T], v *T) []byte {
	return append(AppendObject(make([]byte, 0, 512), fields, v), '\n')
}

// ReadDocument is the strict inverse of [Document]. It reports whether data is canonical.
func ReadDocument[T any](fields []Field[T], data []byte) (*T, bool) {
	v := new(T)
	r := Reader{Rest: data}
	take(&r, fields, v)
	return v, r.Done("\n")
}

// Members reads an object as engines write it: members in any order, each at most once. A member in none of the
// tables is [ErrUnknownField]. The object must be valid JSON.
func Members[T any](object []byte, v *T, tables ...[]Field[T]) error {
	return EachMember(object, func(name string, value json.RawMessage) error {
		for _, fields := range tables {
			for i := range fields {
				if fields[i].Name == name {
					return fields[i].value.set(v, value)
				}
			}
		}
		return ErrUnknownField
	})
}

// Object is an object with its own fields, left out if it is nil.
func Object[T, P any](name string, at func(*T) **P, fields []Field[P]) Field[T] {
	return Field[T]{name, object[T, P]{at, fields}}
}

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
		r.inside = false
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

// List is an array of objects, left out if it is empty.
func List[T, E any](name string, at func(*T) *[]E, fields []Field[E]) Field[T] {
	return Field[T]{name, list[T, E]{at, fields}}
}

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

// Part converts fields of a P to fields of a T that contains the P.
func Part[T, P any](fields []Field[P], at func(*T) *P) []Field[T] {
	parts := make([]Field[T], len(fields))
	for i, f := range fields {
		parts[i] = Field[T]{f.Name, part[T, P]{at, f.value}}
	}
	return parts
}

type part[T, P any] struct {
	at    func(*T) *P
	value value[P]
}

func (p part[T, P]) put(b []byte, name string, of *T) []byte { return p.value.put(b, name, p.at(of)) }
func (p part[T, P]) take(r *Reader, name string, of *T)      { p.value.take(r, name, p.at(of)) }

func (p part[T, P]) set(of *T, value json.RawMessage) error { return p.value.set(p.at(of), value) }

// Spelled is a string that has a different spelling in JSON.
func Spelled[T any](name string, at func(*T) *string, spelling Spelling) Field[T] {
	return Field[T]{name, spelled[T]{at, spelling}}
}

// Spelling converts strings to and from their spelling in JSON.
type Spelling interface {
	Spell(s string) string
	// Read is the strict inverse of Spell.
	Read(spelled string) (string, error)
}

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
