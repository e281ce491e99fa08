package comparison

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// What a Difference is about.
const (
	DiffersState    = "state"    // of a step or a call
	DiffersAttempts = "attempts" // how many attempts of a step failed
	DiffersError    = "error"    // of a step that failed in both runs
	DiffersOutput   = "output"   // a member of an output of a step, or what a tool answered
	DiffersFiles    = "files"    // the files that a step changed
)

// A Difference is a difference between the outcomes of a step or a tool call in two runs.
type Difference struct {
	What string
	// Table and Member name the output, for DiffersOutput of a step. Member is "" if a value is no object.
	Table, Member string
	// From and To are the values in the two runs; nil if there is none. Of what a tool answered, they have the first line
	// that differs, as a string. They are nil for DiffersFiles.
	From, To json.RawMessage
	// Files are the paths whose contents differ after the step, sorted, for DiffersFiles.
	Files []string
}

// differentMembers returns a difference for each member of an output that differs in two runs, sorted by name. If a value is
// no object, the difference is about the whole value.
func differentMembers(table string, from, to json.RawMessage) []Difference {
	if bytes.Equal(Compact(from), Compact(to)) && (from == nil) == (to == nil) {
		return nil
	}
	was, is := objectOf(from), objectOf(to)
	if was == nil || is == nil {
		return []Difference{{What: DiffersOutput, Table: table, From: from, To: to}}
	}
	names := maps.Clone(was)
	maps.Copy(names, is)
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !bytes.Equal(Compact(was[name]), Compact(is[name])) {
			out = append(out, Difference{What: DiffersOutput, Table: table, Member: name, From: was[name], To: is[name]})
		}
	}
	return out
}

// objectOf returns the members of a JSON object, or nil if value is nil or no object.
func objectOf(value json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return nil
	}
	return members
}

// Compact returns a JSON value without white space between its tokens. A text that is not JSON stays unchanged.
func Compact(value json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return value
	}
	return b.Bytes()
}

// quoted returns text as a JSON string.
func quoted(text string) json.RawMessage {
	data, err := json.Marshal(text)
	if err != nil { // a string can always be encoded
		return nil
	}
	return data
}
