package sqliteindex

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/git-smithers/git-smithers/sqliteindex/columns"
)

// rowEncoder encodes outputs of one run as rows of a table. A column that only other runs' schemas
// declare stays empty, so that a run's rows depend only on its own entries.
type rowEncoder struct {
	table    *outputTable
	declared []bool // for each column of the table
	members  bool   // at least one column holds a property
}

// newRowEncoder returns the encoder for a run whose schema has the columns in list.
func newRowEncoder(t *outputTable, list columns.List) rowEncoder {
	type source struct {
		whole    bool
		property string
	}
	known := make(map[source]bool, len(list))
	for _, c := range list {
		known[source{c.Whole, c.Property}] = true
	}
	e := rowEncoder{table: t, declared: make([]bool, len(t.columns))}
	for i, c := range t.columns {
		e.declared[i] = known[source{c.Whole, c.Property}]
		e.members = e.members || e.declared[i] && !c.Whole
	}
	return e
}

// values returns an output's values for the table's columns.
func (e rowEncoder) values(output []byte) []any {
	var members map[string]json.RawMessage
	if e.members {
		members = columns.JSONObject(output)
	}
	values := make([]any, len(e.table.columns))
	for i, c := range e.table.columns {
		switch {
		case !e.declared[i]:
		case c.Whole:
			values[i] = string(output)
		default:
			values[i] = columnValue(members[c.Property], c.Type)
		}
	}
	return values
}

// columnValue returns a value for a column of a type: NULL for null and for none;
// text if the type cannot hold the value.
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
	case columns.JSON:
	}
	return string(value)
}

// integer parses a JSON number that an int64 holds exactly.
func integer(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	const exact = 1 << 53 // every integer up to it is exact as a float64
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= exact {
		return 0, false
	}
	return int64(f), true
}
