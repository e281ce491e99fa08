package tables

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/smithersnames"
)

// OutputColumn is a row of _smithers_output_schema_columns: Kind is the kind of the values in a column of an output
// table.
type OutputColumn struct{ Table, Column, Kind string }

// IsOutputs reports whether a table has the outputs of tasks. Such a table has the columns run_id, node_id and
// iteration, which form a node's key. Its name does not begin with ownPrefix.
func IsOutputs(table source.Table) bool {
	for _, name := range []string{"run_id", "node_id", "iteration"} {
		if !slices.ContainsFunc(table.Columns, func(c source.Column) bool { return c.Name == name }) {
			return false
		}
	}
	return !strings.HasPrefix(table.Name, ownPrefix)
}

// provenanceMember is the member of an output row that has the output's number. Outputs and signals of a run share
// one sequence of numbers.
const provenanceMember = "__smithersProvenanceSeq"

// provenance is a row of _smithers_output_provenance.
type provenance struct {
	Table, NodeID string
	Iteration     int
	Seq           int64
}

// provenance returns the rows of _smithers_output_provenance, derived from the outputs. The number of an output is its
// member provenanceMember. provenance leaves out an output that has no number or is not a JSON object.
func (f *Facts) provenance() []provenance {
	var all []provenance
	for _, o := range f.Whole.Outputs {
		members, err := jsonobject.Read(o.Value)
		if err != nil {
			continue
		}
		seq, err := strconv.ParseInt(jsonobject.RawOf(members, provenanceMember), 10, 64)
		if err == nil {
			all = append(all, provenance{smithersnames.SnakeName(o.Table), o.NodeID, o.Iteration, seq})
		}
	}
	return all
}

// NextSeq returns the greatest number of an output plus 1, or 0 if no output has a number.
func (f *Facts) NextSeq() int64 {
	next := int64(0)
	for _, p := range f.provenance() {
		next = max(next, p.Seq+1)
	}
	return next
}

// predictProvenance returns the predicted rows of _smithers_output_provenance.
func (f *Facts) predictProvenance() []source.Row {
	var rows []source.Row
	for _, p := range f.provenance() {
		rows = append(rows, source.Row{
			"output_table": dbrow.Text(p.Table), "node_id": dbrow.Text(p.NodeID),
			"iteration": dbrow.Int(int64(p.Iteration)), "seq": dbrow.Int(p.Seq),
		})
	}
	return rows
}

// predictOutputs returns the predicted rows of an output table, or nil if waitsForStart returns true. columns gives
// the kinds of the columns of output tables: see kindsOf.
func (f *Facts) predictOutputs(table source.Table, columns []OutputColumn) []source.Row {
	if f.waitsForStart() {
		return nil
	}
	kinds := kindsOf(table, columns)
	var rows []source.Row
	for _, o := range f.Whole.Outputs {
		if smithersnames.SnakeName(o.Table) != table.Name {
			continue
		}
		row := outputRow(o.Value, kinds)
		row["node_id"], row["iteration"] = dbrow.Text(o.NodeID), dbrow.Int(int64(o.Iteration))
		rows = append(rows, row)
	}
	return rows
}

// predictInput returns the predicted row of the table input, or nil if the run has no input or waitsForStart returns
// true. columns gives the kinds of the table's columns: see kindsOf.
func (f *Facts) predictInput(table source.Table, columns []OutputColumn) []source.Row {
	if f.waitsForStart() || f.Whole.Input == nil {
		return nil
	}
	return []source.Row{outputRow(f.Whole.Input, kindsOf(table, columns))}
}

// kindsOf returns the kinds of a table's columns, by name. The parameter columns has the kinds of known columns. For
// any other column, the kind follows from the column's type in the database: REAL becomes number, INTEGER becomes
// boolean, and any other type becomes string.
func kindsOf(table source.Table, columns []OutputColumn) map[string]string {
	kinds := make(map[string]string, len(table.Columns))
	for _, c := range table.Columns {
		switch strings.ToUpper(c.Type) {
		case "REAL":
			kinds[c.Name] = "number"
		case "INTEGER":
			kinds[c.Name] = "boolean"
		default:
			kinds[c.Name] = "string"
		}
	}
	for _, c := range columns {
		if c.Table == table.Name && kinds[c.Column] != "" {
			kinds[c.Column] = c.Kind
		}
	}
	return kinds
}

// outputRow converts the JSON object value to a row. kinds has the kind of each column, by name. A member without a
// column is left out. If value is not a JSON object, the row is empty.
func outputRow(value json.RawMessage, kinds map[string]string) source.Row {
	row := source.Row{}
	members, _ := jsonobject.Read(value)
	for _, m := range members {
		if column := smithersnames.SnakeName(m.Name); kinds[column] != "" {
			row[column] = outputValue(m.Value, kinds[column])
		}
	}
	return row
}

// outputValue returns the value that Smithers stores for a JSON value in a column of the given kind:
//   - null becomes NULL. In a column of kind json, any other value becomes its JSON text.
//   - A string becomes its text. true and false become 1 and 0.
//   - An object, a list and a number beyond float64 become their JSON text.
//   - Any other number becomes a REAL. But in a column of kind boolean, an integer becomes an INTEGER.
func outputValue(value []byte, kind string) source.Value {
	text := string(value)
	switch {
	case text == "null":
		return source.Value{}
	case kind == "json":
		return dbrow.Text(text)
	case text == "true" || text == "false":
		return dbrow.Bool(text == "true")
	case slices.Contains([]byte{'{', '['}, text[0]):
		return dbrow.Text(text)
	case text[0] == '"':
		var s string
		if json.Unmarshal(value, &s) != nil {
			return source.Value{}
		}
		return dbrow.Text(s)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && kind == "boolean" {
		return dbrow.Int(n)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return dbrow.Text(text)
	}
	return source.Value{Kind: source.Real, Real: f}
}
