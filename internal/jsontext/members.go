package jsontext

import (
	"bytes"
	"encoding/json"
)

// Members are the members of a JSON object in the order in which they are written.
type Members []Member

// A Member is a name of a JSON object and its value, as they are written.
type Member struct {
	Name  string
	Value json.RawMessage
}

// UnmarshalJSON reads an object and keeps its order.
func (o *Members) UnmarshalJSON(data []byte) error {
	in := json.NewDecoder(bytes.NewReader(data))
	if _, err := in.Token(); err != nil {
		return err
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
