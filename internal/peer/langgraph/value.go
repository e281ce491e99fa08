package langgraph

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// typeJSON is the serializer's type of a value whose bytes are JSON.
const typeJSON = "json"

// Value is a value as the client's serializer has made it. The bytes are shared and must not be changed.
type Value struct {
	Type string
	Data []byte
}

// stored returns the JSON that a row has for v. coded is true if the JSON is a text in base64, which needs the type
// beside it: the value has another type than "json", or its bytes are not plain JSON.
func (v Value) stored() (text json.RawMessage, coded bool) {
	if v.Type == typeJSON && formatLimits.CheckValue(v.Data) == nil {
		return v.Data, false
	}
	out := make([]byte, 0, base64.StdEncoding.EncodedLen(len(v.Data))+2)
	out = append(out, '"')
	out = base64.StdEncoding.AppendEncode(out, v.Data)
	return append(out, '"'), true
}

// valueOf returns the value for which a row has the given JSON. coded says that the JSON is a text in base64.
func valueOf(text json.RawMessage, kind string, coded bool) (Value, error) {
	if !coded {
		return Value{typeJSON, text}, nil
	}
	var data []byte
	if err := json.Unmarshal(text, &data); err != nil {
		return Value{}, fmt.Errorf("%w: a value of type %q is not in base64: %w", objstore.ErrCorrupt, kind, err)
	}
	return Value{kind, data}, nil
}

// formatLimits are the limits of what a client hands in: those of the format. A client cannot leave out a value.
var formatLimits = snapshot.Limits{Depth: 1 << 30, Key: 1 << 30, Value: 1 << 30}

// isObject reports whether text is a JSON object.
func isObject(text json.RawMessage) bool {
	return len(text) > 0 && text[0] == '{' && jsontext.Valid(text)
}
