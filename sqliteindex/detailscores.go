package sqliteindex

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	sqlSetScore = `INSERT OR REPLACE INTO _smithers_scorers (id, run_id, node_id, iteration, attempt, scorer_id, scorer_name, source, score,
		reason, meta_json, input_json, output_json, ground_truth_json, context_json, latency_ms, scored_at_ms, duration_ms)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlDropScore = `DELETE FROM _smithers_scorers
		WHERE run_id = ? AND node_id = ? AND iteration = ? AND attempt = ? AND scorer_id = ? AND source = ?`
)

// scores writes the new and changed scores in d.
func (w *detailWriter) scores(ctx context.Context, d *detail) error {
	return applyDeltas(d.scores, func(s snapshot.Score) error {
		return w.exec(ctx, sqlDropScore, d.runID, s.NodeID, s.Iteration, s.Attempt, s.ScorerID, s.Source)
	}, func(s snapshot.Score) error {
		return w.exec(ctx, sqlSetScore, s.ID(d.runID), d.runID, s.NodeID, s.Iteration, s.Attempt, s.ScorerID, s.Name(), s.Source, s.Value(),
			nullable(s.Reason), jsonText(s.Meta), jsonText(s.Input), jsonText(s.Output), jsonText(s.GroundTruth), jsonText(s.Context),
			s.LatencyMs, s.ScoredAtMs, s.DurationMs)
	})
}
