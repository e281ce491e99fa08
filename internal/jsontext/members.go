package jsontext

import (
	"bytes"
	"encoding/json"
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
	switch {
	case string(bytes.TrimSpace(data)) == "null":
		return nil
	case !json.Valid(data):
		return json.Unmarshal(data, new(json.RawMessage))
	case !IsObject(data):
		return &json.UnmarshalTypeError{Value: string(data[:min(1, len(data))])}
	}
	for m := range Spans(data) {
		*o = append(*o, Member{Unquote(data[m.Name:m.NameEnd]), bytes.Clone(data[m.Start:m.End])})
	}
	return nil
}
