package row

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/jsontext"
)

// errNotObject is the error about a JSON value that should be an object.
var errNotObject = errors.New("not a JSON object")

// EachMember calls visit for each member of a JSON object, in order, and ends with the first error. It adds the
// member's name as a prefix to an error of visit. If a name is repeated, or the value is not an object, EachMember
// returns an error. object must be valid JSON. The value given to visit shares memory with object.
func EachMember(object []byte, visit func(name string, value json.RawMessage) error) error {
	if !jsontext.IsObject(object) {
		return errNotObject
	}
	names := make(map[string]bool)
	for m := range jsontext.Spans(object) {
		name := jsontext.Unquote(object[m.Name:m.NameEnd])
		if names[name] {
			return fmt.Errorf("%s: given twice", name)
		}
		names[name] = true
		if err := visit(name, json.RawMessage(object[m.Start:m.End])); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// EachElement calls visit for each element of a JSON array, in order, and ends with the first error. It adds the
// element's index, i, as a prefix to an error of visit. If the value is not an array, EachElement returns an error.
// array must be valid JSON. The value given to visit shares memory with array.
func EachElement(array []byte, visit func(i int, value json.RawMessage) error) error {
	if i := jsontext.SkipSpace(array, 0); i >= len(array) || array[i] != '[' {
		return errors.New("not a JSON array")
	}
	n := 0
	for value := range jsontext.Elements(array) {
		if err := visit(n, json.RawMessage(value)); err != nil {
			return fmt.Errorf("[%d]: %w", n, err)
		}
		n++
	}
	return nil
}

// ErrUnknownField is the error about a member that the fields of an object do not declare.
var ErrUnknownField = errors.New("unknown field")

// Into decodes value, the JSON value of a member, into the variable that target points to. For the value null, it
// leaves the variable unchanged. If value has the wrong type, the error names the type of value.
func Into(value json.RawMessage, target any) error {
	if string(value) == "null" {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(value, target); errors.As(err, &wrong) {
		return fmt.Errorf("wrong JSON type: %s", wrong.Value)
	} else if err != nil {
		return err
	}
	return nil
}
