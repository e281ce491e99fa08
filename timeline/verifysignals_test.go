package timeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// signalled makes the run "run", or goes on with it, until it has received a number of signals,
// each in an entry of its own.
func signalled(t testing.TB, s *timeline.Store, from, to int) {
	t.Helper()
	ctx := context.Background()
	var series *timeline.Series
	if from == 0 {
		var err error
		series, err = timeline.NewSeries(ctx, s, seriesRow("run"), nil)
		require.NoError(t, err)
		_, err = series.Append(ctx, seriesFrame(0))
		require.NoError(t, err)
	} else {
		head, err := s.Head(ctx, "run")
		require.NoError(t, err)
		series = timeline.SeriesOf(head)
	}
	defer series.Close()
	for seq := from; seq < to; seq++ {
		row := snapshot.EncodeSignal(snapshot.Signal{
			Seq: int64(seq), Name: "tick", Payload: json.RawMessage(fmt.Sprintf(`{"n":%d}`, seq)), ReceivedAtMs: int64(seq),
		})
		_, err := series.Append(ctx, snapshot.Draft{AtMs: int64(seq), Mailbox: []snapshot.Change{
			{Op: snapshot.OpSet, Collection: snapshot.CollectionSignals, Key: row.Key, Value: row.Value},
		}})
		require.NoError(t, err)
	}
	_, err := series.Commit(ctx)
	require.NoError(t, err)
}
