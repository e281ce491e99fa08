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
	i := jsontext.SkipSpace(object, 0)
	if i >= len(object) || object[i] != '{' {
		return errNotObject
	}
	names := make(map[string]bool)
	i = jsontext.SkipSpace(object, i+1)
	for object[i] != '}' {
		end := jsontext.ValueEnd(object, i) // of the name
		var name string
		if err := json.Unmarshal(object[i:end], &name); err != nil {
			return err
		}
		if names[name] {
			return fmt.Errorf("%s: given twice", name)
		}
		names[name] = true
		start := jsontext.SkipSpace(object, jsontext.SkipSpace(object, end)+1) // of the value, behind the colon
		end = jsontext.ValueEnd(object, start)
		if err := visit(name, json.RawMessage(object[start:end])); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if i = jsontext.SkipSpace(object, end); object[i] == ',' {
			i = jsontext.SkipSpace(object, i+1)
		}
	}
	return nil
}

// EachElement calls visit for each element of a JSON array, in order, and ends with the first error. It adds the
// element's index, i, as a prefix to an error of visit. If the value is not an array, EachElement returns an error.
// array must be valid JSON. The value given to visit shares memory with array.
func EachElement(array []byte, visit func(i int, value json.RawMessage) error) error {
	i := jsontext.SkipSpace(array, 0)
	if i >= len(array) || array[i] != '[' {
		return errors.New("not a JSON array")
	}
	i = jsontext.SkipSpace(array, i+1)
	for n := 0; array[i] != ']'; n++ {
		end := jsontext.ValueEnd(array, i)
		if err := visit(n, json.RawMessage(array[i:end])); err != nil {
			return fmt.Errorf("[%d]: %w", n, err)
		}
		if i = jsontext.SkipSpace(array, end); array[i] == ',' {
			i = jsontext.SkipSpace(array, i+1)
		}
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
