package row

import (
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
)

// Field is one member in the values of a kind: the member's name, and the variable of a T that holds its value.
type Field[T any] struct {
	Name  string
	value value[T]
}

// value stores and reads one type of member.
type value[T any] interface {
	// put appends the member of a T. It may leave out an optional member.
	put(b []byte, name string, of *T) []byte
	// take is the strict inverse of put.
	take(r *Reader, name string, of *T)
	// set reads the member as engines write it. Null does not change the T.
	set(of *T, value json.RawMessage) error
}

// integer is an integer type of a member.
type integer interface{ int | int64 }

// Text is a string.
func Text[T any](name string, at func(*T) *string) Field[T] { return Field[T]{name, text[T](at)} }

// OptionalText is a string that is left out if it is empty.
func OptionalText[T any](name string, at func(*T) *string) Field[T] {
	return Field[T]{name, optionalText[T](at)}
}

// EmptyIsNull is a string that is null if it is empty.
func EmptyIsNull[T any](name string, at func(*T) *string) Field[T] {
	return Field[T]{name, emptyIsNull[T](at)}
}

// NullText is a string that may be null.
func NullText[T any](name string, at func(*T) **string) Field[T] {
	return Field[T]{name, nullText[T](at)}
}

// Int is an integer.
func Int[T any, N integer](name string, at func(*T) *N) Field[T] {
	return Field[T]{name, number[T, N](at)}
}

// Count is an integer that is left out if it is 0.
func Count[T any, N integer](name string, at func(*T) *N) Field[T] {
	return Field[T]{name, count[T, N](at)}
}

// NullInt is an integer that may be null.
func NullInt[T any, N integer](name string, at func(*T) **N) Field[T] {
	return Field[T]{name, nullNumber[T, N](at)}
}

// OptionalInt is an integer that is left out if it is nil.
func OptionalInt[T any, N integer](name string, at func(*T) **N) Field[T] {
	return Field[T]{name, optionalNumber[T, N](at)}
}

// Bool is true or false.
func Bool[T any](name string, at func(*T) *bool) Field[T] { return Field[T]{name, boolean[T](at)} }

// True is a boolean that is left out if it is false.
func True[T any](name string, at func(*T) *bool) Field[T] { return Field[T]{name, onlyTrue[T](at)} }

// ID is an object id.
func ID[T any](name string, at func(*T) *objstore.ID) Field[T] {
	return Field[T]{name, objectID[T](at)}
}

// OptionalID is an object id that is left out if it is zero.
func OptionalID[T any](name string, at func(*T) *objstore.ID) Field[T] {
	return Field[T]{name, optionalID[T](at)}
}

// Set is an array of strings, stored sorted, each once.
func Set[T any](name string, at func(*T) *[]string) Field[T] { return Field[T]{name, set[T](at)} }

// OptionalList is an array of strings in their order, left out if it is empty.
func OptionalList[T any](name string, at func(*T) *[]string) Field[T] {
	return Field[T]{name, optionalList[T](at)}
}

// JSON is any JSON value, byte for byte as the user gave it, or null if it is nil. A kind with a JSON field needs
// [Kind.Valid].
func JSON[T any](name string, at func(*T) *json.RawMessage) Field[T] {
	return Field[T]{name, rawJSON[T](at)}
}

type text[T any] func(*T) *string

func (at text[T]) put(b []byte, name string, of *T) []byte { return AppendText(b, name, *at(of)) }

func (at text[T]) take(r *Reader, name string, of *T) {
	r.Name(name)
	*at(of) = r.Text()
}

func (at text[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type optionalText[T any] func(*T) *string

func (at optionalText[T]) put(b []byte, name string, of *T) []byte {
	if s := *at(of); s != "" {
		return AppendText(b, name, s)
	}
	return b
}

func (at optionalText[T]) take(r *Reader, name string, of *T) {
	if r.Optional(name) {
		s := r.Text()
		r.Bad = r.Bad || s == ""
		*at(of) = s
	}
}

func (at optionalText[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type emptyIsNull[T any] func(*T) *string

func (at emptyIsNull[T]) put(b []byte, name string, of *T) []byte {
	if s := *at(of); s != "" {
		return AppendText(b, name, s)
	}
	return AppendRaw(b, name, nil)
}

func (at emptyIsNull[T]) take(r *Reader, name string, of *T) {
	r.Name(name)
	if !r.Null() {
		s := r.Text()
		r.Bad = r.Bad || s == ""
		*at(of) = s
	}
}

func (at emptyIsNull[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type nullText[T any] func(*T) **string

func (at nullText[T]) put(b []byte, name string, of *T) []byte {
	if s := *at(of); s != nil {
		return AppendText(b, name, *s)
	}
	return AppendRaw(b, name, nil)
}

func (at nullText[T]) take(r *Reader, name string, of *T) {
	r.Name(name)
	if !r.Null() {
		*at(of) = new(r.Text())
	}
}

func (at nullText[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type number[T any, N integer] func(*T) *N

func (at number[T, N]) put(b []byte, name string, of *T) []byte {
	return AppendInt(b, name, int64(*at(of)))
}

func (at number[T, N]) take(r *Reader, name string, of *T) {
	r.Name(name)
	*at(of) = N(r.Int())
}

func (at number[T, N]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type count[T any, N integer] func(*T) *N

func (at count[T, N]) put(b []byte, name string, of *T) []byte {
	if n := *at(of); n != 0 {
		return AppendInt(b, name, int64(n))
	}
	return b
}

func (at count[T, N]) take(r *Reader, name string, of *T) {
	if r.Optional(name) {
		n := r.Int()
		r.Bad = r.Bad || n == 0
		*at(of) = N(n)
	}
}

func (at count[T, N]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type nullNumber[T any, N integer] func(*T) **N

func (at nullNumber[T, N]) put(b []byte, name string, of *T) []byte {
	if n := *at(of); n != nil {
		return AppendInt(b, name, int64(*n))
	}
	return AppendRaw(b, name, nil)
}

func (at nullNumber[T, N]) take(r *Reader, name string, of *T) {
	r.Name(name)
	if !r.Null() {
		*at(of) = new(N(r.Int()))
	}
}

func (at nullNumber[T, N]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type optionalNumber[T any, N integer] func(*T) **N

func (at optionalNumber[T, N]) put(b []byte, name string, of *T) []byte {
	if n := *at(of); n != nil {
		return AppendInt(b, name, int64(*n))
	}
	return b
}

func (at optionalNumber[T, N]) take(r *Reader, name string, of *T) {
	if r.Optional(name) {
		*at(of) = new(N(r.Int()))
	}
}

func (at optionalNumber[T, N]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type boolean[T any] func(*T) *bool

func (at boolean[T]) put(b []byte, name string, of *T) []byte {
	if *at(of) {
		return append(AppendName(b, name), "true"...)
	}
	return append(AppendName(b, name), "false"...)
}

func (at boolean[T]) take(r *Reader, name string, of *T) {
	r.Name(name)
	*at(of) = r.Bool()
}

func (at boolean[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type onlyTrue[T any] func(*T) *bool

func (at onlyTrue[T]) put(b []byte, name string, of *T) []byte {
	if *at(of) {
		return append(AppendName(b, name), "true"...)
	}
	return b
}

func (at onlyTrue[T]) take(r *Reader, name string, of *T) {
	if r.Optional(name) {
		r.Expect("true")
		*at(of) = true
	}
}

func (at onlyTrue[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type objectID[T any] func(*T) *objstore.ID

func (at objectID[T]) put(b []byte, name string, of *T) []byte { return appendID(b, name, *at(of)) }

func (at objectID[T]) take(r *Reader, name string, of *T) {
	r.Name(name)
	*at(of) = r.ID()
}

func (at objectID[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type optionalID[T any] func(*T) *objstore.ID

func (at optionalID[T]) put(b []byte, name string, of *T) []byte {
	if id := *at(of); !id.IsZero() {
		return appendID(b, name, id)
	}
	return b
}

func (at optionalID[T]) take(r *Reader, name string, of *T) {
	if r.Optional(name) {
		id := r.ID()
		r.Bad = r.Bad || id.IsZero()
		*at(of) = id
	}
}

func (at optionalID[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type set[T any] func(*T) *[]string

func (at set[T]) put(b []byte, name string, of *T) []byte {
	values := *at(of)
	if !IsSet(values) {
		values = slices.Compact(slices.Sorted(slices.Values(values)))
	}
	return appendTexts(b, name, values)
}

func (at set[T]) take(r *Reader, name string, of *T) {
	r.Name(name)
	values := Elements(r, (*Reader).Text)
	r.Bad = r.Bad || !IsSet(values)
	*at(of) = values
}

func (at set[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

// IsSet reports whether values are sorted and without repeats.
func IsSet(values []string) bool {
	for i := 1; i < len(values); i++ {
		if values[i-1] >= values[i] {
			return false
		}
	}
	return true
}

type optionalList[T any] func(*T) *[]string

func (at optionalList[T]) put(b []byte, name string, of *T) []byte {
	if values := *at(of); len(values) > 0 {
		return appendTexts(b, name, values)
	}
	return b
}

func (at optionalList[T]) take(r *Reader, name string, of *T) {
	if r.Optional(name) {
		values := Elements(r, (*Reader).Text)
		r.Bad = r.Bad || len(values) == 0
		*at(of) = values
	}
}

func (at optionalList[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

type rawJSON[T any] func(*T) *json.RawMessage

func (at rawJSON[T]) put(b []byte, name string, of *T) []byte { return AppendRaw(b, name, *at(of)) }

func (at rawJSON[T]) take(r *Reader, name string, of *T) {
	r.Name(name)
	*at(of) = r.Raw()
}

func (at rawJSON[T]) set(of *T, value json.RawMessage) error {
	*at(of) = value
	return nil
}
