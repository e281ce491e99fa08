package snapshot_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// scoresOf returns the scores in the journal of an entry.
func scoresOf(t *testing.T, e *snapshot.Entry) (all []snapshot.Score) {
	t.Helper()
	for s, err := range e.AllScores() {
		require.NoError(t, err)
		all = append(all, s)
	}
	return all
}

func TestScoresAreInTheJournal(t *testing.T) {
	t.Parallel()
	store := new(objstoretest.Memory)
	first := startRun(t, store)
	assert.Empty(t, scoresOf(t, first))
	live := snapshot.Score{
		NodeID: "a", Attempt: 1, Source: snapshot.ScoreLive, ScorerID: "a::b%3A", Score: json.RawMessage("0.50"), ScoredAtMs: 5,
		Reason: "too long", LatencyMs: new(int64(0)), Meta: json.RawMessage(`{"n": 1.0}`),
	}
	batch := live
	batch.Source, batch.ScorerName = snapshot.ScoreBatch, "A name"
	scored := journaled(t, store, first, snapshot.SetScore(live), snapshot.SetScore(batch))
	assert.Equal(t, []snapshot.Score{batch, live}, scoresOf(t, scored))
	assert.Equal(t, first.ContentHash, scored.ContentHash, "a score does not change the state")
	assert.Equal(t, "a::b%3A", live.Name())
	assert.Equal(t, "A name", batch.Name())
	assert.InDelta(t, 0.5, live.Value(), 0)

	again := live
	again.Score = json.RawMessage("1")
	scored = journaled(t, store, scored, snapshot.SetScore(again))
	assert.Equal(t, []snapshot.Score{batch, again}, scoresOf(t, scored), "a newer score replaces the older one")
}

func TestAScoreIsAFiniteNumber(t *testing.T) {
	t.Parallel()
	store := new(objstoretest.Memory)
	first := startRun(t, store)
	for _, text := range []string{"", "NaN", "Infinity", "1e999", `"1"`, "true", "null", "0x1p3", "+1", "1_000"} {
		bad := snapshot.Score{NodeID: "a", Attempt: 1, Source: snapshot.ScoreLive, ScorerID: "s", Score: json.RawMessage(text)}
		_, err := snapshot.DecodeScore(snapshot.EncodeScore(bad))
		require.ErrorIs(t, err, objstore.ErrCorrupt, text)
		_, err = snapshot.Append(store, nil, first, snapshot.Draft{Journal: []snapshot.Change{snapshot.SetScore(bad)}})
		require.ErrorIs(t, err, snapshot.ErrInvalid, text)
	}
}

func TestTheIDOfAScoreIsThatOfSmithers(t *testing.T) {
	t.Parallel()
	// From a row of _smithers_scorers that Smithers 0.32.0 wrote.
	s := snapshot.Score{NodeID: "scored", Attempt: 1, Source: snapshot.ScoreLive, ScorerID: "half"}
	assert.Equal(t, "scorer_255f028a53a24bdb29adb22a2add1f75621468b6b82d133d620ed91823898de0", s.ID("m1"))
}

func FuzzKeysOfScoresGoBothWays(f *testing.F) {
	f.Add("a::0::1::live::s")
	f.Add("a::b::0::1::batch::%3A%25")
	f.Add("a::0::1::live::%2525")
	f.Fuzz(func(t *testing.T, key string) {
		nodeID, iteration, attempt, source, scorer, err := snapshot.SplitScoreKey(key)
		if err != nil {
			require.ErrorIs(t, err, snapshot.ErrInvalid)
			return
		}
		assert.Equal(t, key, snapshot.ScoreKey(nodeID, iteration, attempt, source, scorer))
	})
}
