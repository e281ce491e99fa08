package row

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/objstore"
)

// Field is one member in the values of a kind: the member's name, and access to the variable of a T that holds
// the member's value. Each function that returns a Field takes the function at, which returns a pointer to that
// variable.
type Field[T any] struct {
	Name  string
	value value[T]
}

// value stores and reads one type of member.
type value[T any] interface {
	// put appends the member of the T to b. It leaves out an optional member without a value.
	put(b []byte, name string, of *T) []byte
	// take reads the member and sets the variable of the T. If put would not have written the member, take sets
	// r.Bad.
	take(r *Reader, name string, of *T)
	// set sets the variable of the T from the member's value as engines write the value. The value null does not change
	// the variable, except in a JSON or OptionalJSON field. A value of the wrong type is an error.
	set(of *T, value json.RawMessage) error
}

// Required returns a copy of the field f for a member that engines must write: if the member is missing or null in an
// engine's object, [Members] returns an error. If the member of any other field is missing, the field has the zero
// value.
func Required[T any](f Field[T]) Field[T] { return Field[T]{f.Name, required[T]{f.value}} }

// required is the value of a Required field.
type required[T any] struct{ value[T] }

// isRequired reports whether [Required] returned f.
func (f *Field[T]) isRequired() bool {
	_, ok := f.value.(required[T])
	return ok
}

// integer is an integer type of a member.
type integer interface{ int | int64 }

// Text returns the field for a string. name is the name of the member. at returns a pointer to the string in a T.
func Text[T any](name string, at func(*T) *string) Field[T] { return Field[T]{name, text[T](at)} }

// OptionalText returns the field for a string that may be missing. If the string is empty, the member is left out.
// name is the name of the member. at returns a pointer to the string in a T.
func OptionalText[T any](name string, at func(*T) *string) Field[T] {
	return Field[T]{name, optionalText[T](at)}
}

// EmptyIsNull returns the field for a string that may be null. If the string is empty, the member is null. name is
// the name of the member. at returns a pointer to the string in a T.
func EmptyIsNull[T any](name string, at func(*T) *string) Field[T] {
	return Field[T]{name, emptyIsNull[T](at)}
}

// NullText returns the field for a pointer to a string. If the pointer is nil, the member is null. name is the name of
// the member. at returns the address of the pointer in a T.
func NullText[T any](name string, at func(*T) **string) Field[T] {
	return Field[T]{name, nullText[T](at)}
}

// Int returns the field for an integer from -MaxInteger to MaxInteger. name is the name of the member. at returns a
// pointer to the integer in a T.
func Int[T any, N integer](name string, at func(*T) *N) Field[T] {
	return Field[T]{name, number[T, N](at)}
}

// Count returns the field for an integer that may be missing. If the integer is 0, the member is left out. name is
// the name of the member. at returns a pointer to the integer in a T.
func Count[T any, N integer](name string, at func(*T) *N) Field[T] {
	return Field[T]{name, count[T, N](at)}
}

// NullInt returns the field for a pointer to an integer. If the pointer is nil, the member is null. name is the name of
// the member. at returns the address of the pointer in a T.
func NullInt[T any, N integer](name string, at func(*T) **N) Field[T] {
	return Field[T]{name, nullNumber[T, N](at)}
}

// OptionalInt returns the field for a pointer to an integer. If the pointer is nil, the member is left out. name is the
// name of the member. at returns the address of the pointer in a T.
func OptionalInt[T any, N integer](name string, at func(*T) **N) Field[T] {
	return Field[T]{name, optionalNumber[T, N](at)}
}

// Bool returns the field for a boolean. name is the name of the member. at returns a pointer to the boolean in a T.
func Bool[T any](name string, at func(*T) *bool) Field[T] { return Field[T]{name, boolean[T](at)} }

// True returns the field for a boolean that may be missing. If the boolean is false, the member is left out. name is
// the name of the member. at returns a pointer to the boolean in a T.
func True[T any](name string, at func(*T) *bool) Field[T] { return Field[T]{name, onlyTrue[T](at)} }

// OptionalBool returns the field for a pointer to a boolean. If the pointer is nil, the member is left out. name is the
// name of the member. at returns the address of the pointer in a T.
func OptionalBool[T any](name string, at func(*T) **bool) Field[T] {
	return Field[T]{name, optionalBoolean[T](at)}
}

// ID returns the field for an object id. name is the name of the member. at returns a pointer to the id in a T.
func ID[T any](name string, at func(*T) *objstore.ID) Field[T] {
	return Field[T]{name, objectID[T](at)}
}

// OptionalID returns the field for an object id that may be missing. If the id is zero, the member is left out. name
// is the name of the member. at returns a pointer to the id in a T.
func OptionalID[T any](name string, at func(*T) *objstore.ID) Field[T] {
	return Field[T]{name, optionalID[T](at)}
}

// Set returns the field for a set of strings. The member is an array, sorted and with each string only once. name is
// the name of the member. at returns a pointer to the slice of strings in a T.
func Set[T any](name string, at func(*T) *[]string) Field[T] { return Field[T]{name, set[T](at)} }

// OptionalList returns the field for a list of strings, whose order is kept. If the list is empty, the member is left
// out. name is the name of the member. at returns a pointer to the slice of strings in a T.
func OptionalList[T any](name string, at func(*T) *[]string) Field[T] {
	return Field[T]{name, optionalList[T](at)}
}

// JSON returns the field for any JSON value, byte for byte as the user gave it. If the value is nil, the member is
// null. A kind with a JSON field must have [Kind.Valid]. name is the name of the member. at returns a pointer to the
// value in a T.
func JSON[T any](name string, at func(*T) *json.RawMessage) Field[T] {
	return Field[T]{name, rawJSON[T](at)}
}

// OptionalJSON returns the field for any JSON value, byte for byte as the user gave it. If the value is nil, the
// member is left out, but the JSON null is a value. A kind with such a field must have [Kind.Valid]. name is the name
// of the member. at returns a pointer to the value in a T.
func OptionalJSON[T any](name string, at func(*T) *json.RawMessage) Field[T] {
	return Field[T]{name, optionalJSON[T](at)}
}

// text is the value of a Text field. It is the function that returns a pointer to the variable of a T. The types below
// are functions with the same purpose.
type text[T any] func(*T) *string

func (at text[T]) put(b []byte, name string, of *T) []byte { return AppendText(b, name, *at(of)) }

func (at text[T]) take(r *Reader, name string, of *T) {
	r.Name(name)
	*at(of) = r.Text()
}

func (at text[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

// optionalText is the value of an OptionalText field.
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

// emptyIsNull is the value of an EmptyIsNull field.
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

// nullText is the value of a NullText field.
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

// number is the value of an Int field.
type number[T any, N integer] func(*T) *N

func (at number[T, N]) put(b []byte, name string, of *T) []byte {
	return AppendInt(b, name, int64(*at(of)))
}

func (at number[T, N]) take(r *Reader, name string, of *T) {
	r.Name(name)
	*at(of) = N(r.Int())
}

func (at number[T, N]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

// count is the value of a Count field.
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

// nullNumber is the value of a NullInt field.
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

// optionalNumber is the value of an OptionalInt field.
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

// boolean is the value of a Bool field.
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

// onlyTrue is the value of a True field.
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

// optionalBoolean is the value of an OptionalBool field.
type optionalBoolean[T any] func(*T) **bool

func (at optionalBoolean[T]) put(b []byte, name string, of *T) []byte {
	if p := *at(of); p != nil {
		return strconv.AppendBool(AppendName(b, name), *p)
	}
	return b
}

func (at optionalBoolean[T]) take(r *Reader, name string, of *T) {
	if r.Optional(name) {
		*at(of) = new(r.Bool())
	}
}

func (at optionalBoolean[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

// objectID is the value of an ID field.
type objectID[T any] func(*T) *objstore.ID

func (at objectID[T]) put(b []byte, name string, of *T) []byte { return appendID(b, name, *at(of)) }

func (at objectID[T]) take(r *Reader, name string, of *T) {
	r.Name(name)
	*at(of) = r.ID()
}

func (at objectID[T]) set(of *T, value json.RawMessage) error { return Into(value, at(of)) }

// optionalID is the value of an OptionalID field.
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

// set is the value of a Set field.
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

// IsSet reports whether values is sorted and has each value only once.
func IsSet(values []string) bool {
	for i := 1; i < len(values); i++ {
		if values[i-1] >= values[i] {
			return false
		}
	}
	return true
}

// optionalList is the value of an OptionalList field.
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

// rawJSON is the value of a JSON field.
type rawJSON[T any] func(*T) *json.RawMessage

func (at rawJSON[T]) put(b []byte, name string, of *T) []byte { return AppendRaw(b, name, *at(of)) }

func (at rawJSON[T]) take(r *Reader, name string, of *T) {
	r.Name(name)
	*at(of) = r.Raw()
}

// set stores value, without decoding it, in the variable that at returns for a T. Unlike the set of most fields, it
// also stores the value null. Kind.Adjust can replace the stored null by nil.
func (at rawJSON[T]) set(of *T, value json.RawMessage) error {
	*at(of) = value
	return nil
}

// optionalJSON is the value of an OptionalJSON field.
type optionalJSON[T any] func(*T) *json.RawMessage

func (at optionalJSON[T]) put(b []byte, name string, of *T) []byte {
	if value := *at(of); value != nil {
		return AppendRaw(b, name, value)
	}
	return b
}

func (at optionalJSON[T]) take(r *Reader, name string, of *T) {
	if r.Optional(name) {
		*at(of) = r.Raw()
	}
}

// set stores value, without decoding it, in the variable that at returns for a T. Unlike the set of most fields, it
// also stores the value null.
func (at optionalJSON[T]) set(of *T, value json.RawMessage) error {
	*at(of) = value
	return nil
}
