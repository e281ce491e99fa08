package row

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// Reader reads canonical JSON from the front of Rest. After an error, Bad is true and every further value is zero.
type Reader struct {
	Rest   []byte
	Bad    bool
	inside bool // a member was read, so a comma comes before the next one
}

// Skip takes text off the front, and reports whether the text was there.
func (r *Reader) Skip(text string) bool {
	if r.Bad || len(r.Rest) < len(text) || string(r.Rest[:len(text)]) != text {
		return false
	}
	r.Rest = r.Rest[len(text):]
	return true
}

// Expect takes text off the front. If the text is not there, the input is bad.
func (r *Reader) Expect(text string) {
	if !r.Skip(text) {
		r.Bad = true
	}
}

// Optional takes the next member's name if it is the given one, and reports whether it is.
func (r *Reader) Optional(name string) bool {
	n := len(name)
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

// Name takes the name of the next member, which must be the given one.
func (r *Reader) Name(name string) {
	if !r.Optional(name) {
		r.Bad = true
	}
}

// Close ends an object.
func (r *Reader) Close() {
	r.Expect("}")
	r.inside = true
}

// Null takes the next value if it is null, and reports whether it is.
func (r *Reader) Null() bool { return r.Skip("null") }

// Text reads a string in its canonical spelling.
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

// escaped reads a string that has escapes.
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

// Int reads an integer within MaxInteger in its canonical spelling.
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

// shortest reports whether digits are the canonical spelling of n: without leading zeros or a signed zero.
func shortest(digits []byte, n int64) bool {
	if n < 0 {
		digits = digits[1:]
	}
	return digits[0] != '0' && digits[0] != '-' || len(digits) == 1
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	if r.Skip("true") {
		return true
	}
	r.Expect("false")
	return false
}

// ID reads an object id.
func (r *Reader) ID() objstore.ID {
	text := r.Text()
	id, err := objstore.ParseID(text)
	if err != nil || id.String() != text {
		r.Bad = true
	}
	return id
}

// Raw reads any JSON value.
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

// Elements reads an array.
func Elements[T any](r *Reader, read func(*Reader) T) []T {
	r.Expect("[")
	var out []T
	for !r.Bad && !r.Skip("]") {
		if len(out) > 0 {
			r.Expect(",")
		}
		r.inside = false
		out = append(out, read(r))
	}
	r.inside = true
	return out
}

// Done reports whether the input was canonical and only end is left.
func (r *Reader) Done(end string) bool {
	r.Expect(end)
	return !r.Bad && len(r.Rest) == 0
}
