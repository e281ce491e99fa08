package columns

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/smithersnames"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// These constants name the file of an entry that has Smithers' own schema: the file schema of the engine smithers.
const (
	peerEngine = "smithers"
	peerSchema = "schema"
)

// peerTable is a table in Smithers' own schema: one line of the file. docs/smithers.md describes the file.
type peerTable struct {
	Table   string      `json:"table"`
	Columns [][2]string `json:"columns"` // names and kinds
}

// addPeers adds the columns of output tables that no workflow definition declares to the map declared. state is the
// state at the entry tip. Such a table gets the columns in Smithers' own schema, which peerTables reads. addPeers
// leaves out a table that this schema lacks, an empty table, and a table whose first output is not a JSON object.
func addPeers(r objstore.Reader, declared map[string]List, tip *snapshot.Entry, state *snapshot.State) error {
	var keys []string
	for _, key := range state.Tables() {
		if _, ours := declared[key]; !ours {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	tables, err := peerTables(r, tip, keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		t, known := tables[smithersnames.SnakeName(key)]
		if !known {
			continue
		}
		row, err := firstOutput(state, key)
		if err != nil {
			return err
		}
		if output := JSONObject(row); output != nil {
			declared[key] = t.columns(output)
		}
	}
	return nil
}

// peerTables returns the tables that Smithers' schemas declare, by name. It reads the schema at e first. It then reads
// the schema at the frame from which the run of e was forked, and so on, because a new fork has no tables of its own.
// peerTables stops when it has a table for each key in keys, or at an entry without Smithers' data. Each line of a
// schema is the JSON of a peerTable; peerTables ignores a line that is invalid, or has no columns or too many.
func peerTables(r objstore.Reader, e *snapshot.Entry, keys []string) (map[string]peerTable, error) {
	tables := make(map[string]peerTable)
	unknown := func(key string) bool { _, known := tables[smithersnames.SnakeName(key)]; return !known }
	for e != nil && slices.ContainsFunc(keys, unknown) {
		engines, err := e.ExtEngines()
		if err != nil || !slices.Contains(engines, peerEngine) {
			return tables, err
		}
		text, err := e.ExtFile(peerEngine, peerSchema)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			var t peerTable
			if json.Unmarshal([]byte(line), &t) != nil || len(t.Columns) == 0 || len(t.Columns) > maxProperties {
				continue
			}
			if unknown(t.Table) {
				tables[t.Table] = t
			}
		}
		if e, err = forkedFrom(r, e); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// forkedFrom returns the frame that the run of e was forked from, or nil if the run is not a fork.
func forkedFrom(r objstore.Reader, e *snapshot.Entry) (*snapshot.Entry, error) {
	row, err := e.RunRow()
	if err != nil || row.Parent == nil {
		return nil, err
	}
	return snapshot.ReadEntry(r, row.Parent.Commit)
}

// firstOutput returns the first output of the table whose schema key is key, or nil if the table is empty.
func firstOutput(state *snapshot.State, key string) ([]byte, error) {
	for row, err := range state.Outputs(key).Rows() {
		return row.Value, err
	}
	return nil, nil
}

// columns returns the columns of t. The schema has only column names, and several property names could become the same
// column name. So columns takes the property names from output, the members of any output of the table: all outputs
// have the same properties. If t has no usable column, columns returns one column for the whole output.
func (t peerTable) columns(output map[string]json.RawMessage) List {
	properties := make(map[string]string, len(output))
	for _, name := range slices.Sorted(maps.Keys(output)) {
		properties[smithersnames.SnakeName(name)] = name
	}
	var columns List
	for _, c := range t.Columns { // c[0] is the name, c[1] the type
		name, known := properties[c[0]]
		if !known {
			name = c[0]
		}
		if len(name) > maxPropertyName {
			continue
		}
		kind := Type(c[1])
		if !slices.Contains([]Type{String, Number, Boolean}, kind) {
			kind = JSON
		}
		columns = append(columns, Column{Property: name, Type: kind})
	}
	slices.SortFunc(columns, Column.compare)
	columns = slices.CompactFunc(columns, func(a, b Column) bool { return a.Property == b.Property })
	if len(columns) == 0 {
		return Whole()
	}
	return columns
}
