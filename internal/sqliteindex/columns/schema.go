// Package columns derives the index's columns for an output, and their names, from the schema that declares the output.
package columns

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

// Type is the type of an output table's column.
type Type string

// The types of columns. JSON holds any value as JSON text. Mixed is the type of a column to which runs give different
// kinds: each row holds its value as the type of its own run does.
const (
	String  Type = "string"
	Number  Type = "number"
	Integer Type = "integer"
	Boolean Type = "boolean"
	JSON    Type = "json"
	Mixed   Type = "mixed"
)

// Kind returns Smithers' word for the type: number for Integer, json for Mixed, and otherwise the type itself.
func (t Type) Kind() string {
	switch t {
	case Integer:
		return string(Number)
	case Mixed:
		return string(JSON)
	default:
		return string(t)
	}
}

// merge returns a type that can hold the values of both types. The empty type merges into the other type.
func (t Type) merge(other Type) Type {
	switch {
	case t == other || other == "":
		return t
	case t == "":
		return other
	case t.Kind() == other.Kind():
		return Number
	}
	return JSON
}

// union returns the type of a column to which some runs give the type t, and others the type other.
func (t Type) union(other Type) Type {
	switch {
	case t == other:
		return t
	case t.Kind() == string(Number) && other.Kind() == string(Number):
		return Number
	}
	return Mixed
}

// Column declares one column. It holds a property of the output or, if Whole is true, the whole output.
type Column struct {
	Whole    bool
	Property string
	Type     Type
}

// Source returns what the column holds: c without its type.
func (c Column) Source() Column { return Column{Whole: c.Whole, Property: c.Property} }

// compare returns a negative number if c comes before other, 0 if both hold the same, and a positive number if
// c comes after other. The column for the whole output comes first; the others are sorted by property.
func (c Column) compare(other Column) int {
	switch {
	case c.Whole == other.Whole:
		return strings.Compare(c.Property, other.Property)
	case c.Whole:
		return -1
	}
	return 1
}

// List is the list of columns for the outputs of one schema key. The column for the whole output comes first;
// the others are sorted by property.
type List []Column

// Whole returns the columns for outputs without a schema: one column for the whole output.
func Whole() List { return List{{Whole: true, Type: JSON}} }

// Merge returns the columns that are in c or in other, which definitions of one run declare. A column in both lists gets
// a type that can hold the values of both.
func (c List) Merge(other List) List { return c.merge(other, Type.merge) }

// Union returns the columns that are in c or in other, which different runs declare.
func (c List) Union(other List) List { return c.merge(other, Type.union) }

// merge returns the columns that are in c or in other. Both lists must be sorted, and so is the result. A column in both
// lists gets the type that typeOfBoth returns.
func (c List) merge(other List, typeOfBoth func(Type, Type) Type) List {
	var merged List
	for len(c) > 0 && len(other) > 0 {
		switch order := c[0].compare(other[0]); {
		case order < 0:
			merged, c = append(merged, c[0]), c[1:]
		case order > 0:
			merged, other = append(merged, other[0]), other[1:]
		default:
			both := c[0]
			both.Type = typeOfBoth(both.Type, other[0].Type)
			merged, c, other = append(merged, both), c[1:], other[1:]
		}
	}
	return append(append(merged, c...), other...)
}

// Text returns the form in which the database stores c: a JSON array of pairs of property and type. The
// property is null for the whole output.
func (c List) Text() (string, error) {
	pairs := make([][2]*string, len(c))
	for i, column := range c {
		pairs[i][1] = (*string)(&column.Type)
		if !column.Whole {
			pairs[i][0] = &column.Property
		}
	}
	text, err := json.Marshal(pairs)
	return string(text), err
}

var errNoType = errors.New("no type")

// Parse returns the list that [List.Text] encoded as text. It returns an error if text is not such a list.
func Parse(text string) (List, error) {
	var pairs [][2]*string
	if err := json.Unmarshal([]byte(text), &pairs); err != nil {
		return nil, err
	}
	columns := make(List, len(pairs))
	for i, pair := range pairs {
		if pair[1] == nil {
			return nil, errNoType
		}
		columns[i].Type = Type(*pair[1])
		if columns[i].Whole = pair[0] == nil; !columns[i].Whole {
			columns[i].Property = *pair[0]
		}
	}
	return columns, nil
}

// These constants limit the columns of one schema.
const (
	maxProperties   = 500 // number of properties; with more properties, the output is stored as a whole
	maxPropertyName = 200 // bytes; a property with a longer name gets no column
)

// columnsOf returns the columns for outputs with a JSON schema, one for each property. It leaves out a property with a
// name longer than maxPropertyName. In these cases, the result is one column for the whole output: the schema allows no
// object, or it declares no usable property, too many properties, or only the property payload.
func columnsOf(schema json.RawMessage) List {
	members := JSONObject(schema)
	if types := schemaTypes(members); !slices.Contains(types, "object") && len(types) > 0 {
		return Whole()
	}
	properties := JSONObject(members["properties"])
	var columns List
	for name, of := range properties {
		if len(name) <= maxPropertyName {
			columns = append(columns, Column{Property: name, Type: typeOf(of)})
		}
	}
	_, payload := properties["payload"]
	if len(columns) == 0 || len(columns) > maxProperties || len(properties) == 1 && payload {
		return Whole()
	}
	slices.SortFunc(columns, Column.compare)
	return columns
}

// typeOf returns the column type for a property with the given JSON schema. If the schema has the member type, this
// member determines the column type. Otherwise, the values of enum and const determine it. If these give no type, the
// schemas in anyOf and oneOf determine it. If these give no type either, the result is JSON. The type null does not
// count, because every column can be NULL.
func typeOf(schema json.RawMessage) Type {
	members := JSONObject(schema)
	var merged Type
	for _, name := range schemaTypes(members) {
		switch name {
		case "null": // does not count
		case "string", "number", "integer", "boolean":
			merged = merged.merge(Type(name))
		default:
			return JSON // an object, an array or an unknown type
		}
	}
	for _, value := range append(jsonArray(members["enum"]), members["const"]) {
		if _, typed := members["type"]; !typed {
			merged = merged.merge(typeOfValue(value))
		}
	}
	if merged == "" {
		for _, of := range append(jsonArray(members["anyOf"]), jsonArray(members["oneOf"])...) {
			if types := schemaTypes(JSONObject(of)); !slices.Equal(types, []string{"null"}) {
				merged = merged.merge(typeOf(of))
			}
		}
	}
	if merged == "" {
		return JSON
	}
	return merged
}

// typeOfValue returns the column type for a JSON value, or "" for null and for a missing value. A number with a
// decimal point or an exponent has the type Number; any other number has the type Integer.
func typeOfValue(value json.RawMessage) Type {
	if len(value) == 0 {
		return ""
	}
	switch value[0] {
	case 'n':
		return ""
	case '"':
		return String
	case 't', 'f':
		return Boolean
	case '{', '[':
		return JSON
	}
	if bytes.ContainsAny(value, ".eE") {
		return Number
	}
	return Integer
}

// schemaTypes returns the types in the member type of a schema with these members. It returns nil if the member is
// missing or is neither a string nor a list of strings.
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

// JSONObject returns the members of the JSON object in text, or nil if text is not a JSON object.
func JSONObject(text json.RawMessage) (members map[string]json.RawMessage) {
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}

// jsonArray returns the elements of the JSON array in text, or nil if text is not a JSON array.
func jsonArray(text json.RawMessage) (elements []json.RawMessage) {
	if json.Unmarshal(text, &elements) != nil {
		return nil
	}
	return elements
}

// Cache caches the declarations of workflow definitions, because many runs share a definition. It is safe for
// concurrent use.
type Cache struct {
	mu     sync.Mutex
	byTree map[objstore.ID]map[string]List
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{byTree: make(map[objstore.ID]map[string]List)}
}

// Declared returns the columns of each output table in the state at the entry tip, as a map from schema keys to
// columns. workflows holds the ids of workflow definitions. If several definitions declare a table, Declared merges
// their columns. If no definition declares a table, the schema that Smithers stored gives the columns. If there is no
// such schema, the table has one column for the whole output.
func (s *Cache) Declared(r objstore.Reader, workflows []objstore.ID, tip *snapshot.Entry, state *snapshot.State) (map[string]List, error) {
	all := make(map[string]List)
	for _, id := range workflows {
		schemas, err := s.read(r, id)
		if err != nil {
			return nil, err
		}
		for key, columns := range schemas {
			all[key] = all[key].Merge(columns)
		}
	}
	if err := addPeers(r, all, tip, state); err != nil {
		return nil, err
	}
	for _, key := range state.Tables() {
		if _, known := all[key]; !known {
			all[key] = Whole()
		}
	}
	return all, nil
}

// read returns the columns that the workflow definition with the tree id declares, by schema key. The map
// belongs to the cache: the caller must not change it.
func (s *Cache) read(r objstore.Reader, id objstore.ID) (map[string]List, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.byTree[id]; ok {
		return known, nil
	}
	workflow, err := snapshot.ReadWorkflow(r, id)
	if err != nil {
		return nil, err
	}
	schemas := make(map[string]List, len(workflow.Schemas))
	for key, schema := range workflow.Schemas {
		schemas[key] = columnsOf(schema)
	}
	s.byTree[id] = schemas
	return schemas, nil
}
