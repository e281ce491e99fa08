package smithers_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/snapshot"
)

// allScores reads everything that a database has of scores.
const allScores = `SELECT * FROM _smithers_scorers ORDER BY run_id, node_id, iteration, attempt, scorer_id, source`

func TestScoresOfSmithersAreImportedAndComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "calls-scores-human.db")
	w.importAll()
	head, err := w.store.Head(t.Context(), "m1")
	require.NoError(t, err)
	scores := make(map[string]snapshot.Score)
	for s, err := range head.Entry().AllScores() {
		require.NoError(t, err)
		scores[s.NodeID+" "+s.ScorerID] = s
	}
	require.Len(t, scores, 5)
	half := scores["scored half"]
	assert.InDelta(t, 0.5, half.Value(), 0)
	assert.Equal(t, "Half", half.Name())
	assert.Equal(t, "because", half.Reason)
	assert.Equal(t, int64(55), *half.LatencyMs, "the attempt took 54.6 ms")
	assert.JSONEq(t, `{"text":"want"}`, string(half.GroundTruth))
	for entry, err := range w.store.Chain(head.Entry()) { // an earlier entry has no score that was given after it
		require.NoError(t, err)
		for s, err := range entry.AllScores() {
			require.NoError(t, err)
			assert.LessOrEqual(t, s.ScoredAtMs, entry.AtMs)
		}
	}

	to := filepath.Join(t.TempDir(), "smithers.db")
	exported, err := smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: "/srv/model/w"})
	require.NoError(t, err)
	for _, run := range exported.Runs {
		assert.True(t, run.Exact, run.RunID)
	}
	assert.Equal(t, query(t, w.source, allScores), query(t, to, allScores))
	assertSound(t, to)

	tip := w.tip("m1")
	w.importAll()
	assert.Equal(t, tip, w.tip("m1"), "the same database again changes nothing")
}

func TestScoresOfOursAreExported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, jjFixture)
	journal := []snapshot.Change{snapshot.SetScore(snapshot.Score{
		NodeID: "scored", Attempt: 1, Source: snapshot.ScoreBatch, ScorerID: "judge", Score: []byte("2"), ScoredAtMs: 7, Reason: "fine",
		LatencyMs: new(int64(4)), Meta: []byte(`{"n": 1}`),
	})}
	_, err := w.store.Create(t.Context(), snapshot.Run{ID: "ours", Status: snapshot.RunRunning, CreatedAtMs: 1}, snapshot.Draft{Journal: journal})
	require.NoError(t, err)
	to, _ := w.export("ours")
	assert.Equal(t, [][]string{
		{"ours", "scored", "0", "1", "judge", "judge", "batch", "2", "fine", `{"n": 1}`, "4", "7", ""},
	}, query(t, to, `SELECT run_id, node_id, iteration, attempt, scorer_id, scorer_name, source, score, reason, meta_json,
		latency_ms, scored_at_ms, duration_ms FROM _smithers_scorers`))
	assertSound(t, to)
}
