package sqliteindex

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
)

// rowEncoder encodes outputs of one run as rows of a table. A value has the type that the run's own schema declares, and
// a column that only the schemas of other runs declare stays empty. So a run's rows depend only on the run's own entries.
type rowEncoder struct {
	table   *outputTable
	types   []columns.Type // for each column of the table: the type that the run's schema declares, or ""
	members bool           // whether at least one declared column holds a property
}

// newRowEncoder returns the encoder for table t and a run whose schema declares the columns in list.
func newRowEncoder(t *outputTable, list columns.List) rowEncoder {
	known := make(map[columns.Column]columns.Type, len(list))
	for _, c := range list {
		known[c.Source()] = c.Type
	}
	e := rowEncoder{table: t, types: make([]columns.Type, len(t.columns))}
	for i, c := range t.columns {
		e.types[i] = known[c.Source()]
		e.members = e.members || e.types[i] != "" && !c.Whole
	}
	return e
}

// values returns the values of an output for the table's columns, in their order. An undeclared column is nil
// (NULL).
func (e rowEncoder) values(output []byte) []any {
	var members map[string]json.RawMessage
	if e.members {
		members = columns.JSONObject(output)
	}
	values := make([]any, len(e.table.columns))
	for i, c := range e.table.columns {
		switch {
		case e.types[i] == "":
		case c.Whole:
			values[i] = string(output)
		default:
			values[i] = columnValue(members[c.Property], e.types[i])
		}
	}
	return values
}

// withoutBookkeeping returns an output without the members in which Smithers notes its own: their names begin with "__smithers".
func withoutBookkeeping(output []byte) []byte {
	var members jsontext.Members
	if !bytes.Contains(output, []byte(`"__smithers`)) || json.Unmarshal(output, &members) != nil {
		return output
	}
	var kept []string
	for _, m := range members {
		if !strings.HasPrefix(m.Name, "__smithers") {
			name, _ := jsontext.Encode(m.Name) // a text encodes always
			kept = append(kept, string(name)+":"+string(m.Value))
		}
	}
	if len(kept) == len(members) {
		return output
	}
	return []byte("{" + strings.Join(kept, ",") + "}")
}

// columnValue returns value, a JSON text, as a value for a column of type kind: a string, 1 or 0 for a boolean, an
// integer or a float. It returns nil (NULL) for null and for a missing value. If the type cannot hold the value, or is
// JSON, columnValue returns the JSON text.
func columnValue(value json.RawMessage, kind columns.Type) any {
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	switch kind {
	case columns.String:
		var text string
		if value[0] == '"' && json.Unmarshal(value, &text) == nil {
			return text
		}
	case columns.Boolean:
		switch string(value) {
		case "true":
			return 1
		case "false":
			return 0
		}
	case columns.Integer:
		if n, ok := integer(string(value)); ok {
			return n
		}
	case columns.Number:
		if f, err := strconv.ParseFloat(string(value), 64); err == nil {
			return f
		}
	case columns.JSON, columns.Mixed:
	}
	return string(value)
}

// integer returns the value of a JSON number. ok is false if the number has a fraction or is too large to be
// exact.
func integer(text string) (n int64, ok bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	const exact = 1 << 53 // every integer up to 2^53 is exact as a float64
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= exact {
		return 0, false
	}
	return int64(f), true
}
