package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/jsontext"
)

// Default is the default of a member of an object.
type Default struct {
	Path  string // the names of the members that lead to it, with dots between them
	Value json.RawMessage
}

// Defaults returns the defaults that Fill uses for a schema with the given text, which may be nil, each before those in it.
func Defaults(text json.RawMessage) []Default { return defaults(text, "", maxFillDepth) }

// defaults returns the defaults of members, whose names stand behind start.
func defaults(text json.RawMessage, start string, depth int) (all []Default) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if depth == 0 || json.Unmarshal(text, &s) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		var p struct {
			Default json.RawMessage `json:"default"`
		}
		if json.Unmarshal(s.Properties[name], &p) == nil && p.Default != nil {
			all = append(all, Default{start + name, p.Default})
		}
		all = append(all, defaults(s.Properties[name], start+name+".", depth-1)...)
	}
	return all
}

// Fill returns a JSON object with the defaults of the members that it lacks, as the keyword properties says, also in objects in it. What the
// object has stays as it is, byte for byte; the defaults follow, by name. A value that is no object is returned unchanged.
func (s *Schema) Fill(value json.RawMessage) json.RawMessage {
	return fill(s.Text, value, maxFillDepth)
}

// maxFillDepth is the depth to which objects are filled.
const maxFillDepth = 100

// fill fills the value from the text of its schema.
func fill(schema, value json.RawMessage, depth int) json.RawMessage {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var members map[string]json.RawMessage
	if depth == 0 || json.Unmarshal(schema, &s) != nil || len(s.Properties) == 0 || json.Unmarshal(value, &members) != nil || members == nil {
		return value
	}
	out := fillMembers(s.Properties, value, depth)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		var p struct {
			Default json.RawMessage `json:"default"`
		}
		if _, has := members[name]; has || json.Unmarshal(s.Properties[name], &p) != nil || p.Default == nil {
			continue
		}
		key, err := json.Marshal(name)
		if err != nil {
			continue
		}
		before := bytes.TrimRight(bytes.TrimSuffix(bytes.TrimSpace(out), []byte("}")), " \t\r\n")
		next := bytes.Clone(before)
		if !bytes.HasSuffix(before, []byte("{")) {
			next = append(next, ',')
		}
		out = slices.Concat(next, key, []byte(":"), fill(s.Properties[name], p.Default, depth-1), []byte("}"))
	}
	return out
}

// fillMembers fills the objects among the members of the object value.
func fillMembers(properties map[string]json.RawMessage, value json.RawMessage, depth int) json.RawMessage {
	var out []byte
	copied := 0
	for m := range jsontext.Spans(value) {
		if schema := properties[jsontext.Unquote(value[m.Name:m.NameEnd])]; schema != nil {
			out = append(append(out, value[copied:m.Start]...), fill(schema, value[m.Start:m.End], depth-1)...)
			copied = m.End
		}
	}
	return append(out, value[copied:]...)
}
