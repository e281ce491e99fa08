package cli

import (
	"bytes"
	"encoding/json"
)

// orderedMembers are the members of a JSON object in the order in which they are written.
type orderedMembers []member

type member struct {
	name  string
	value json.RawMessage
}

// UnmarshalJSON reads an object and keeps its order.
func (o *orderedMembers) UnmarshalJSON(data []byte) error {
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
		*o = append(*o, member{name, value})
	}
	return nil
}
