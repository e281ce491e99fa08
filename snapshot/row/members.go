package row

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/jsontext"
)

var errNotObject = errors.New("not a JSON object")

// EachMember calls use for every member of a JSON object, in order. The object must be valid JSON. A repeated name
// is an error. An error of use gets the member's name as a prefix.
func EachMember(object []byte, use func(name string, value json.RawMessage) error) error {
	i := jsontext.SkipSpace(object, 0)
	if i >= len(object) || object[i] != '{' {
		return errNotObject
	}
	names := make(map[string]bool)
	i = jsontext.SkipSpace(object, i+1)
	for object[i] != '}' {
		end := jsontext.ValueEnd(object, i)
		var name string
		if err := json.Unmarshal(object[i:end], &name); err != nil {
			return err
		}
		if names[name] {
			return fmt.Errorf("%s: given twice", name)
		}
		names[name] = true
		start := jsontext.SkipSpace(object, jsontext.SkipSpace(object, end)+1)
		end = jsontext.ValueEnd(object, start)
		if err := use(name, json.RawMessage(object[start:end])); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if i = jsontext.SkipSpace(object, end); object[i] == ',' {
			i = jsontext.SkipSpace(object, i+1)
		}
	}
	return nil
}

// EachElement calls use for every element of a JSON array, which must be valid JSON.
func EachElement(array []byte, use func(i int, value json.RawMessage) error) error {
	i := jsontext.SkipSpace(array, 0)
	if i >= len(array) || array[i] != '[' {
		return errors.New("not a JSON array")
	}
	i = jsontext.SkipSpace(array, i+1)
	for n := 0; array[i] != ']'; n++ {
		end := jsontext.ValueEnd(array, i)
		if err := use(n, json.RawMessage(array[i:end])); err != nil {
			return fmt.Errorf("[%d]: %w", n, err)
		}
		if i = jsontext.SkipSpace(array, end); array[i] == ',' {
			i = jsontext.SkipSpace(array, i+1)
		}
	}
	return nil
}

// ErrUnknownField means that a member is unknown in its row.
var ErrUnknownField = errors.New("unknown field")

// Into decodes a member's value into target. Null does not change target.
func Into(value json.RawMessage, target any) error {
	if string(value) == "null" {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(value, target); errors.As(err, &wrong) {
		return fmt.Errorf("is not what belongs there: %s", wrong.Value)
	} else if err != nil {
		return err
	}
	return nil
}
