package sqliteindex

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// columnType is the type of an output table's column.
type columnType string

const (
	stringColumn  columnType = "string"
	numberColumn  columnType = "number"
	integerColumn columnType = "integer"
	booleanColumn columnType = "boolean"
	jsonColumn    columnType = "json"
)

// kind returns Smithers' word for the type.
func (t columnType) kind() string {
	if t == integerColumn {
		return string(numberColumn)
	}
	return string(t)
}

// merge returns a type that holds both.
func (t columnType) merge(other columnType) columnType {
	switch {
	case t == other || other == "":
		return t
	case t == "":
		return other
	case t.kind() == other.kind():
		return numberColumn
	}
	return jsonColumn
}

// outputColumn declares one column: a property of the output, or the whole output.
type outputColumn struct {
	whole    bool
	property string
	kind     columnType
}

func (c outputColumn) compare(other outputColumn) int {
	switch {
	case c.whole == other.whole:
		return strings.Compare(c.property, other.property)
	case c.whole:
		return -1
	}
	return 1
}

// outputColumns are sorted: the whole output first, then by property.
type outputColumns []outputColumn

// wholeOutput returns the columns of outputs without a schema.
func wholeOutput() outputColumns { return outputColumns{{whole: true, kind: jsonColumn}} }

// merge returns the columns of both.
func (c outputColumns) merge(other outputColumns) outputColumns {
	var merged outputColumns
	for len(c) > 0 && len(other) > 0 {
		switch order := c[0].compare(other[0]); {
		case order < 0:
			merged, c = append(merged, c[0]), c[1:]
		case order > 0:
			merged, other = append(merged, other[0]), other[1:]
		default:
			both := c[0]
			both.kind = both.kind.merge(other[0].kind)
			merged, c, other = append(merged, both), c[1:], other[1:]
		}
	}
	return append(append(merged, c...), other...)
}

// text returns the columns as stored in the database.
func (c outputColumns) text() (string, error) {
	pairs := make([][2]*string, len(c))
	for i, column := range c {
		pairs[i][1] = (*string)(&column.kind)
		if !column.whole {
			pairs[i][0] = &column.property
		}
	}
	text, err := json.Marshal(pairs)
	return string(text), err
}

var errNoType = errors.New("no type")

// parseColumns is the inverse of text.
func parseColumns(text string) (outputColumns, error) {
	var pairs [][2]*string
	if err := json.Unmarshal([]byte(text), &pairs); err != nil {
		return nil, err
	}
	columns := make(outputColumns, len(pairs))
	for i, pair := range pairs {
		if pair[1] == nil {
			return nil, errNoType
		}
		columns[i].kind = columnType(*pair[1])
		if columns[i].whole = pair[0] == nil; !columns[i].whole {
			columns[i].property = *pair[0]
		}
	}
	return columns, nil
}

// Limits of columns; SQLite has its own, too.
const (
	maxProperties   = 500 // of one schema; above, the output is stored as a whole
	maxPropertyName = 200 // bytes
)

// columnsOf returns the columns for a schema of outputs. If it declares no property, or
// only the property payload, outputs are stored as a whole.
func columnsOf(schema json.RawMessage) outputColumns {
	members := jsonObject(schema)
	if types := schemaTypes(members); !slices.Contains(types, "object") && len(types) > 0 {
		return wholeOutput()
	}
	properties := jsonObject(members["properties"])
	var columns outputColumns
	for name, of := range properties {
		if len(name) <= maxPropertyName {
			columns = append(columns, outputColumn{property: name, kind: typeOf(of)})
		}
	}
	_, payload := properties["payload"]
	if len(columns) == 0 || len(columns) > maxProperties || len(properties) == 1 && payload {
		return wholeOutput()
	}
	slices.SortFunc(columns, outputColumn.compare)
	return columns
}

// typeOf returns the column type for a property's schema. It ignores null.
func typeOf(schema json.RawMessage) columnType {
	members := jsonObject(schema)
	var merged columnType
	for _, name := range schemaTypes(members) {
		switch name {
		case "null":
		case "string", "number", "integer", "boolean":
			merged = merged.merge(columnType(name))
		default:
			return jsonColumn
		}
	}
	for _, value := range append(jsonArray(members["enum"]), members["const"]) {
		if _, typed := members["type"]; !typed {
			merged = merged.merge(typeOfValue(value))
		}
	}
	if merged == "" {
		for _, of := range append(jsonArray(members["anyOf"]), jsonArray(members["oneOf"])...) {
			if types := schemaTypes(jsonObject(of)); !slices.Equal(types, []string{"null"}) {
				merged = merged.merge(typeOf(of))
			}
		}
	}
	if merged == "" {
		return jsonColumn
	}
	return merged
}

// typeOfValue returns the column type for a value; none for null.
func typeOfValue(value json.RawMessage) columnType {
	if len(value) == 0 {
		return ""
	}
	switch value[0] {
	case 'n':
		return ""
	case '"':
		return stringColumn
	case 't', 'f':
		return booleanColumn
	case '{', '[':
		return jsonColumn
	}
	if bytes.ContainsAny(value, ".eE") {
		return numberColumn
	}
	return integerColumn
}

// schemaTypes returns the types that a schema allows; none if it does not say.
func schemaTypes(members map[string]json.RawMessage) []string {
	var name string
	if json.Unmarshal(members["type"], &name) == nil {
		return []string{name}
	}
	var names []string
	if json.Unmarshal(members["type"], &names) == nil {
		return names
	}
	return nil
}

// jsonObject returns the members of an object; none for other values.
func jsonObject(text json.RawMessage) (members map[string]json.RawMessage) {
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}

func jsonArray(text json.RawMessage) (elements []json.RawMessage) {
	if json.Unmarshal(text, &elements) != nil {
		return nil
	}
	return elements
}

// schemaCache caches the declarations of workflow definitions, because many runs share one. Safe for
// concurrent use.
type schemaCache struct {
	mu     sync.Mutex
	byTree map[objstore.ID]map[string]outputColumns
}

func newSchemaCache() *schemaCache {
	return &schemaCache{byTree: make(map[objstore.ID]map[string]outputColumns)}
}

// declared returns the declarations of outputs, by key: those of the workflow definitions, otherwise those of
// Smithers' own schema, otherwise whole outputs.
func (s *schemaCache) declared(r objstore.Reader, workflows []objstore.ID, tip *snapshot.Entry, state *snapshot.State) (map[string]outputColumns, error) {
	all := make(map[string]outputColumns)
	for _, id := range workflows {
		schemas, err := s.read(r, id)
		if err != nil {
			return nil, err
		}
		for key, columns := range schemas {
			all[key] = all[key].merge(columns)
		}
	}
	if err := addPeers(r, all, tip, state); err != nil {
		return nil, err
	}
	for _, key := range state.Tables() {
		if _, known := all[key]; !known {
			all[key] = wholeOutput()
		}
	}
	return all, nil
}

func (s *schemaCache) read(r objstore.Reader, id objstore.ID) (map[string]outputColumns, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.byTree[id]; ok {
		return known, nil
	}
	workflow, err := snapshot.ReadWorkflow(r, id)
	if err != nil {
		return nil, err
	}
	schemas := make(map[string]outputColumns, len(workflow.Schemas))
	for key, schema := range workflow.Schemas {
		schemas[key] = columnsOf(schema)
	}
	s.byTree[id] = schemas
	return schemas, nil
}
