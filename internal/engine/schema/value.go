package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/jsontext"
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
	f += 0          // -0 becomes 0
	if err != nil { // f is infinite, which JSON cannot express
		return math.Copysign(math.MaxFloat64, f)
	}
	return f
}

// ratOf returns a decoded number as the decimal that people write, and nil for any other value. So 19.99 is 1999/100, and not the double
// next to it.
func ratOf(value any) *big.Rat {
	switch v := value.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case uint64:
		return new(big.Rat).SetUint64(v)
	case float64:
		decimal, _ := new(big.Rat).SetString(strconv.FormatFloat(v, 'g', -1, 64))
		return decimal
	}
	return nil
}

// ratText returns a number as people write it.
func ratText(x *big.Rat) string {
	if x.IsInt() {
		return x.Num().String()
	}
	f, _ := x.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// keyOf returns a text that is the same for equal values only. 1 and 1.0 are equal.
func keyOf(value any) string {
	text, err := jsontext.Encode(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// kindOf returns the JSON Schema type of a decoded value.
func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v != math.Trunc(v) {
			return "number"
		}
	}
	return "integer"
}

// inexact returns the first integer in a value that a double does not hold exactly, for which canonical JSON has no text. path is the
// path from the value to the integer. Members are visited in the order of their names.
func inexact(value any) (path string, number json.Number) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if path, number := inexact(v[key]); number != "" {
				return "/" + key + path, number
			}
		}
	case []any:
		for i, item := range v {
			if path, number := inexact(item); number != "" {
				return "/" + strconv.Itoa(i) + path, number
			}
		}
	case json.Number:
		exact, ok := new(big.Int).SetString(v.String(), 10)
		if !ok { // it has a fraction or an exponent
			return "", ""
		}
		if f, err := v.Float64(); err != nil || new(big.Rat).SetFloat64(f).Num().Cmp(exact) != 0 {
			return "", v
		}
	}
	return "", ""
}
