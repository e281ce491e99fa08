package tables

import (
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

// provenanceRows returns the rows of _smithers_output_provenance.
func (f *Facts) provenanceRows() []source.Row {
	var rows []source.Row
	for _, p := range f.provenance() {
		rows = append(rows, source.Row{
			"output_table": dbrow.Text(p.Table), "node_id": dbrow.Text(p.NodeID),
			"iteration": dbrow.Int(int64(p.Iteration)), "seq": dbrow.Int(p.Seq),
		})
	}
	return rows
}
