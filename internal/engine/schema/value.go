package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/snapshot"
)

var (
	errEmpty   = errors.New("the text is empty; expected one JSON value")
	errNotUTF8 = errors.New("not valid UTF-8")
	errMore    = errors.New("text follows the JSON value")
)

// DecodeValue decodes exactly one JSON value. It returns the value's bytes without surrounding white space, and the
// decoded value for schemas and conditions. A number becomes an int64 or uint64 if possible, otherwise the nearest
// float64. Empty data, invalid UTF-8, deep nesting and further text are errors.
func DecodeValue(data []byte) (json.RawMessage, any, error) {
	text := bytes.Trim(data, " \t\r\n")
	switch {
	case len(text) == 0:
		return nil, nil, errEmpty
	case !utf8.Valid(text):
		return nil, nil, errNotUTF8
	}
	if err := snapshot.CheckDepth(text); err != nil {
		return nil, nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, nil, describeSyntax(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errMore
	}
	return text, plainNumbers(value), nil
}

// describeSyntax returns an error for people from an error of the JSON decoder. For a syntax error, the text has
// the offset in bytes.
func describeSyntax(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON: %w (at byte %d)", err, syntax.Offset)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not JSON: the text ends in the middle of a value")
	}
	return fmt.Errorf("not JSON: %w", err)
}

// plainNumbers returns a value with every json.Number replaced by the result of plainNumber. It changes maps and
// lists in place.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = plainNumbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plainNumbers(item)
		}
	case json.Number:
		return plainNumber(v.String())
	}
	return value
}

// plainNumber returns the JSON number in text as an int64 or uint64 if possible, otherwise as the nearest float64. A
// number beyond float64 becomes the largest float64 with the same sign.
func plainNumber(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil { // f is infinite, which JSON cannot express
		return math.Copysign(math.MaxFloat64, f)
	}
	return f
}
