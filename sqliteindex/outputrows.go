package sqliteindex

import (
	"encoding/json"
	"math"
	"strconv"
)

// rowEncoder encodes outputs of one run as rows of a table. A column that only other runs' schemas
// declare stays empty, so that a run's rows depend only on its own entries.
type rowEncoder struct {
	table    *outputTable
	declared []bool // for each column of the table
	members  bool   // at least one column holds a property
}

func newRowEncoder(t *outputTable, columns outputColumns) rowEncoder {
	type source struct {
		whole    bool
		property string
	}
	known := make(map[source]bool, len(columns))
	for _, c := range columns {
		known[source{c.whole, c.property}] = true
	}
	e := rowEncoder{table: t, declared: make([]bool, len(t.columns))}
	for i, c := range t.columns {
		e.declared[i] = known[source{c.whole, c.property}]
		e.members = e.members || e.declared[i] && !c.whole
	}
	return e
}

// values returns an output's values for the table's columns.
func (e rowEncoder) values(output []byte) []any {
	var members map[string]json.RawMessage
	if e.members {
		members = jsonObject(output)
	}
	values := make([]any, len(e.table.columns))
	for i, c := range e.table.columns {
		switch {
		case !e.declared[i]:
		case c.whole:
			values[i] = string(output)
		default:
			values[i] = columnValue(members[c.property], c.kind)
		}
	}
	return values
}

// columnValue returns a value for a column of a type: NULL for null and for none;
// text if the type cannot hold the value.
func columnValue(value json.RawMessage, kind columnType) any {
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	switch kind {
	case stringColumn:
		var text string
		if value[0] == '"' && json.Unmarshal(value, &text) == nil {
			return text
		}
	case booleanColumn:
		switch string(value) {
		case "true":
			return 1
		case "false":
			return 0
		}
	case integerColumn:
		if n, ok := integer(string(value)); ok {
			return n
		}
	case numberColumn:
		if f, err := strconv.ParseFloat(string(value), 64); err == nil {
			return f
		}
	case jsonColumn:
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
