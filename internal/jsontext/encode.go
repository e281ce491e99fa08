package jsontext

import (
	"bytes"
	"encoding/json"
)

// Encode returns value as JSON, like json.Marshal, but does not escape the characters <, > and &.
func Encode(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
