package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Members lists the members of a JSON object in their written order. A name may occur more than once.
type Members []Member

// A Member is one member of a JSON object: its decoded name, and its value as written.
type Member struct {
	Name  string
	Value json.RawMessage
}

// MarshalJSON returns the JSON object with the members of o, in their order. Each value must be JSON.
func (o Members) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o {
		name, err := Encode(m.Name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), m.Value...)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON appends the members of the JSON object data to o, in their written order. If data is null,
// UnmarshalJSON does nothing. If data is another JSON value, the error is a *json.UnmarshalTypeError.
func (o *Members) UnmarshalJSON(data []byte) error {
	in := json.NewDecoder(bytes.NewReader(data))
	switch open, err := in.Token(); {
	case err != nil:
		return err
	case open == nil:
		return nil
	case open != json.Delim('{'):
		return &json.UnmarshalTypeError{Value: fmt.Sprint(open), Offset: in.InputOffset()}
	}
	for in.More() {
		token, err := in.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return &json.UnmarshalTypeError{Value: "array", Offset: in.InputOffset()}
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return err
		}
		*o = append(*o, Member{name, value})
	}
	return nil
}
