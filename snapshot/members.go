package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
)

var errNotObject = errors.New("not a JSON object")

// eachMember calls use for every member of a JSON object in order. The object must
// be valid JSON. A name that comes twice is an error, as is what use returns, which
// is prefixed with the name.
func eachMember(object []byte, use func(name string, value json.RawMessage) error) error {
	i := skipSpace(object, 0)
	if i >= len(object) || object[i] != '{' {
		return errNotObject
	}
	names := make(map[string]bool)
	i = skipSpace(object, i+1)
	for object[i] != '}' {
		end := valueEnd(object, i)
		var name string
		if err := json.Unmarshal(object[i:end], &name); err != nil {
			return err
		}
		if names[name] {
			return fmt.Errorf("%s: given twice", name)
		}
		names[name] = true
		start := skipSpace(object, skipSpace(object, end)+1)
		end = valueEnd(object, start)
		if err := use(name, json.RawMessage(object[start:end])); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if i = skipSpace(object, end); object[i] == ',' {
			i = skipSpace(object, i+1)
		}
	}
	return nil
}

// eachElement calls use for every element of a JSON array, which must be valid JSON.
func eachElement(array []byte, use func(i int, value json.RawMessage) error) error {
	i := skipSpace(array, 0)
	if i >= len(array) || array[i] != '[' {
		return errors.New("not a JSON array")
	}
	i = skipSpace(array, i+1)
	for n := 0; array[i] != ']'; n++ {
		end := valueEnd(array, i)
		if err := use(n, json.RawMessage(array[i:end])); err != nil {
			return fmt.Errorf("[%d]: %w", n, err)
		}
		if i = skipSpace(array, end); array[i] == ',' {
			i = skipSpace(array, i+1)
		}
	}
	return nil
}

// valueEnd is the offset after the value that begins at i in valid JSON.
func valueEnd(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += stringEnd(b[i+1:])
		case '{', '[':
			depth++
		case '}', ']', ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
			if b[i] == '}' || b[i] == ']' {
				depth--
			}
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

var errUnknownField = errors.New("unknown field")

// field reads a member's value into target; null leaves target as it is.
func field(value json.RawMessage, target any) error {
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
