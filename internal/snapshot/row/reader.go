package row

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// Reader reads canonical JSON from the front of Rest. After an error, Bad is true, and every later call returns
// the zero value and reads nothing.
type Reader struct {
	Rest   []byte
	Bad    bool
	inside bool    // the current object already has a member, so a comma precedes the next name
	others *others // collects the members that fields do not declare; nil if such members set Bad
}

// Skip removes text from the front of Rest, and reports whether Rest began with text. If not, Skip changes
// nothing.
func (r *Reader) Skip(text string) bool {
	if r.Bad || len(r.Rest) < len(text) || string(r.Rest[:len(text)]) != text {
		return false
	}
	r.Rest = r.Rest[len(text):]
	return true
}

// Expect removes text from the front of Rest. If Rest does not begin with text, Expect sets Bad.
func (r *Reader) Expect(text string) {
	if !r.Skip(text) {
		r.Bad = true
	}
}

// Optional reports whether the next member has the given name. If so, it reads everything up to the member's value:
// the brace or comma before the name, the name, and the colon. Otherwise, it changes nothing.
func (r *Reader) Optional(name string) bool {
	n := len(name) // the brace or comma, two quotes and the colon are four more bytes
	rest := r.Rest
	before := byte('{')
	if r.inside {
		before = ','
	}
	if r.Bad || len(rest) < n+4 || rest[0] != before || rest[1] != '"' || rest[n+2] != '"' || rest[n+3] != ':' || string(rest[2:n+2]) != name {
		return false
	}
	r.Rest, r.inside = rest[n+4:], true
	return true
}

// Name reads everything up to the next member's value: see Optional. If the next member does not have the given name,
// Name sets Bad.
func (r *Reader) Name(name string) {
	if !r.Optional(name) {
		r.Bad = true
	}
}

// Close reads the closing brace of an object. Afterwards, a comma must precede the next member of the enclosing
// object.
func (r *Reader) Close() {
	r.Expect("}")
	r.inside = true
}

// Null reports whether the next value is null. If so, it reads null. Otherwise, it changes nothing.
func (r *Reader) Null() bool { return r.Skip("null") }

// Text reads a string and returns its text. If the next value is not a string in its canonical spelling, Text sets
// Bad and returns "".
func (r *Reader) Text() string {
	if r.Bad || len(r.Rest) == 0 || r.Rest[0] != '"' {
		r.Bad = true
		return ""
	}
	for i := 1; i < len(r.Rest); i++ {
		switch c := r.Rest[i]; {
		case c == '"':
			s := string(r.Rest[1:i])
			r.Rest = r.Rest[i+1:]
			return s
		case c == '\\':
			return r.escaped()
		case c < ' ':
			r.Bad = true
			return ""
		}
	}
	r.Bad = true
	return ""
}

// escaped reads a string that contains an escape and returns its text. If the string is not in its canonical
// spelling, escaped sets Bad and returns "".
func (r *Reader) escaped() string {
	var s string
	end := jsontext.StringEnd(r.Rest, 0)
	if end < 0 || json.Unmarshal(r.Rest[:end], &s) != nil || !bytes.Equal(page.AppendString(nil, s), r.Rest[:end]) {
		r.Bad = true
		return ""
	}
	r.Rest = r.Rest[end:]
	return s
}

// Int reads and returns an integer from -MaxInteger to MaxInteger. If the next value is not such an integer in its
// canonical spelling, Int sets Bad and returns 0.
func (r *Reader) Int() int64 {
	end := 0
	for end < len(r.Rest) && (r.Rest[end] == '-' || r.Rest[end] >= '0' && r.Rest[end] <= '9') {
		end++
	}
	digits := r.Rest[:end]
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if r.Bad || err != nil || n > MaxInteger || n < -MaxInteger || !shortest(digits, n) {
		r.Bad = true
		return 0
	}
	r.Rest = r.Rest[end:]
	return n
}

// shortest reports whether digits, a decimal spelling of n, is the shortest spelling: without leading zeros or
// a signed zero.
func shortest(digits []byte, n int64) bool {
	if n < 0 {
		digits = digits[1:]
	}
	return digits[0] != '0' && digits[0] != '-' || len(digits) == 1
}

// Bool reads and returns true or false. If the next value is neither, Bool sets Bad and returns false.
func (r *Reader) Bool() bool {
	if r.Skip("true") {
		return true
	}
	r.Expect("false")
	return false
}

// ID reads a string and returns the object id in the string. If the string is not the canonical spelling of an object
// id, ID sets Bad.
func (r *Reader) ID() objstore.ID {
	text := r.Text()
	id, err := objstore.ParseID(text)
	if err != nil || id.String() != text {
		r.Bad = true
	}
	return id
}

// Raw reads any JSON value, canonical or not, and returns its bytes, which share memory with Rest. If the JSON is
// invalid, Raw sets Bad and returns nil.
func (r *Reader) Raw() json.RawMessage {
	end := jsontext.ValueEnd(r.Rest, 0)
	if r.Bad || end < 0 {
		r.Bad = true
		return nil
	}
	value := json.RawMessage(r.Rest[:end:end])
	r.Rest = r.Rest[end:]
	return value
}

// Elements reads an array and returns its elements. It calls read for each element. If the array is empty, the result
// is nil. If the input is not an array in canonical form, Elements sets r.Bad.
func Elements[T any](r *Reader, read func(*Reader) T) []T {
	r.Expect("[")
	var out []T
	for !r.Bad && !r.Skip("]") {
		if len(out) > 0 {
			r.Expect(",")
		}
		r.inside = false // an element that is an object has no member yet
		out = append(out, read(r))
	}
	r.inside = true
	return out
}

// Done reports whether all input so far was canonical and the rest of the input is exactly end. It removes end from
// Rest, or sets Bad if Rest does not begin with end.
func (r *Reader) Done(end string) bool {
	r.Expect(end)
	return !r.Bad && len(r.Rest) == 0
}
