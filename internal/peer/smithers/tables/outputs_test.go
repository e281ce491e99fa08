package tables

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestAnOutputBecomesTheRowOfItsTable(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "ship_decision", Columns: []source.Column{
		{Name: "run_id", Type: "TEXT", Key: 1},
		{Name: "node_id", Type: "TEXT", Key: 2},
		{Name: "iteration", Type: "INTEGER", Key: 3},
		{Name: "approved", Type: "INTEGER"},
		{Name: "decided_by", Type: "TEXT"},
		{Name: "score", Type: "REAL"},
		{Name: "steps", Type: "TEXT"},
		{Name: "either", Type: "TEXT"},
		{Name: "note", Type: "TEXT"},
	}}
	columns := []OutputColumn{
		{"ship_decision", "approved", "boolean"},
		{"ship_decision", "decided_by", "string"},
		{"ship_decision", "score", "number"},
		{"ship_decision", "steps", "json"},
		{"ship_decision", "either", "json"},
		{"ship_decision", "note", "string"},
		{"other", "score", "string"},
	}
	f := &Facts{Run: snapshot.Run{ID: "r"}, Whole: snapshot.Whole{Outputs: []snapshot.Output{
		{Table: "ship_decision", NodeID: "n", Iteration: 1, Value: []byte(
			`{"approved":true,"decidedBy":"ü\n","score":1,"steps":["a", 1.0],"either":"text","note":null,"unknown":1,"__smithersProvenanceSeq":4}`)},
		{Table: "shipDecision", NodeID: "m", Value: []byte(`{"score":0.1}`)},
		{Table: "report", NodeID: "n", Value: []byte(`{}`)},
	}}}
	rows, err := Predict(f, table, columns)
	require.NoError(t, err)
	require.Equal(t, []source.Row{
		{
			"node_id": dbrow.Text("n"), "iteration": dbrow.Int(1), "approved": dbrow.Int(1), "decided_by": dbrow.Text("ü\n"), "score": realValue(1),
			"steps": dbrow.Text(`["a", 1.0]`), "either": dbrow.Text(`"text"`), "note": {},
		},
		{
			"node_id": dbrow.Text("m"), "iteration": dbrow.Int(0), "approved": {}, "decided_by": {}, "score": realValue(0.1),
			"steps": {}, "either": {}, "note": {},
		},
	}, rows)
}

func TestOutputsOfAnyShapeArePredictedWithoutHarm(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "t", Columns: []source.Column{
		{Name: "run_id", Key: 1}, {Name: "node_id", Key: 2}, {Name: "iteration", Key: 3}, {Name: "v", Type: "REAL"},
	}}
	for _, value := range []string{
		`1`, `null`, `[]`, `""`, `{"v":"text"}`, `{"v":1e999}`, `{"v":{"a":1}}`, `{"v":true}`, `{"v":"\ud800"}`, `{"v":1,"v":2}`, `{"V":1}`,
		`{"__smithersProvenanceSeq":1.5}`, `{"__smithersProvenanceSeq":99999999999999999999}`, `{"__smithersProvenanceSeq":"1"}`,
	} {
		f := &Facts{Run: snapshot.Run{ID: "r"}, Whole: snapshot.Whole{Outputs: []snapshot.Output{{Table: "t", NodeID: "n", Value: []byte(value)}}}}
		actual := []source.Row{{"run_id": dbrow.Text("r"), "node_id": dbrow.Text("n"), "iteration": dbrow.Int(0), "v": dbrow.Text("actual")}}
		for _, table := range []source.Table{table, {Name: Provenance, Columns: table.Columns}, {Name: Signals, Columns: table.Columns}} {
			predicted, err := Predict(f, table, nil)
			require.NoError(t, err)
			rows, _ := roundTrip(t, table, predicted, actual)
			requireRows(t, value, rows, actual)
		}
	}
}

func TestSignalsTakeTheNumbersThatNoOutputHas(t *testing.T) {
	t.Parallel()
	f := &Facts{Whole: snapshot.Whole{
		Outputs: []snapshot.Output{
			{Table: "t", NodeID: "a", Value: []byte(`{"__smithersProvenanceSeq":0}`)}, {Table: "t", NodeID: "b", Value: []byte(`{"__smithersProvenanceSeq":2}`)},
		},
		Signals: []snapshot.Signal{{Seq: 1, Name: "second"}, {Seq: 0, Name: "first"}},
	}}
	var got []any
	for _, s := range f.peerSignals() {
		got = append(got, s.Name, s.Seq)
	}
	require.Equal(t, []any{"first", int64(1), "second", int64(3)}, got)
	require.Equal(t, int64(1), f.Whole.Signals[0].Seq, "the state keeps its numbers")
}
