package tables

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
)

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
