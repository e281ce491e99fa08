package tables

import (
	"encoding/json"
	"math"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ReadScore converts a row of _smithers_scorers to a score. ok is false if the row lacks what a score needs, or if a run cannot store the
// score.
func ReadScore(row source.Row) (s snapshot.Score, ok bool) {
	nodeID, hasNode := dbrow.ColumnText(row, "node_id")
	iteration, hasIteration := dbrow.ColumnNumber(row, "iteration")
	attempt, hasAttempt := dbrow.ColumnNumber(row, "attempt")
	scored, hasTime := dbrow.ColumnNumber(row, "scored_at_ms")
	value, hasScore := realIn(row, "score")
	if !hasNode || !hasIteration || !hasAttempt || !hasTime || !hasScore {
		return s, false
	}
	number, err := json.Marshal(value)
	if err != nil { // it is not finite
		return s, false
	}
	s = snapshot.Score{
		NodeID: nodeID, Iteration: int(iteration), Attempt: int(attempt), Source: dbrow.TextOf(row, "source"), ScorerID: dbrow.TextOf(row, "scorer_id"),
		Score: number, Reason: dbrow.TextOf(row, "reason"), ScoredAtMs: scored, LatencyMs: wholeIn(row, "latency_ms"), DurationMs: wholeIn(row, "duration_ms"),
		Meta: dbrow.ColumnJSON(row, "meta_json"), Input: dbrow.ColumnJSON(row, "input_json"), Output: dbrow.ColumnJSON(row, "output_json"),
		GroundTruth: dbrow.ColumnJSON(row, "ground_truth_json"), Context: dbrow.ColumnJSON(row, "context_json"),
	}
	if name := dbrow.TextOf(row, "scorer_name"); name != s.ScorerID {
		s.ScorerName = name
	}
	_, err = snapshot.DecodeScore(snapshot.EncodeScore(s))
	return s, err == nil
}

// scoreRows returns the rows of _smithers_scorers for the run's own scores: for a fork, those that were given after the fork
// was created.
func (f *Facts) scoreRows() []source.Row {
	var rows []source.Row
	for _, s := range f.Scores {
		if f.Run.Parent != nil && s.ScoredAtMs < f.Run.CreatedAtMs {
			continue
		}
		rows = append(rows, source.Row{
			"id": dbrow.Text(s.ID(f.Run.ID)), "node_id": dbrow.Text(s.NodeID), "iteration": dbrow.Int(int64(s.Iteration)), "attempt": dbrow.Int(int64(s.Attempt)),
			"scorer_id": dbrow.Text(s.ScorerID), "scorer_name": dbrow.Text(s.Name()), "source": dbrow.Text(s.Source), "score": double(s.Value()),
			"reason": dbrow.OptionalText(s.Reason), "meta_json": dbrow.OptionalText(string(s.Meta)), "input_json": dbrow.OptionalText(string(s.Input)),
			"output_json": dbrow.OptionalText(string(s.Output)), "ground_truth_json": dbrow.OptionalText(string(s.GroundTruth)),
			"context_json": dbrow.OptionalText(string(s.Context)), "latency_ms": nullableReal(s.LatencyMs), "scored_at_ms": dbrow.Int(s.ScoredAtMs),
			"duration_ms": nullableReal(s.DurationMs),
		})
	}
	return rows
}

// realIn returns the number in a column. ok is false if the column holds no number.
func realIn(row source.Row, column string) (value float64, ok bool) {
	switch v := row[column]; v.Kind {
	case source.Real:
		return v.Real, true
	case source.Int:
		return float64(v.Int), true
	default:
		return 0, false
	}
}

// wholeIn returns the number in a column, rounded, or nil if the column holds no duration in milliseconds.
func wholeIn(row source.Row, column string) *int64 {
	value, ok := realIn(row, column)
	if !ok || !(value >= 0 && value <= dbrow.MaxTime) { // also if it is NaN
		return nil
	}
	return new(int64(math.Round(value)))
}

// double returns a number that is stored as a double.
func double(value float64) source.Value { return source.Value{Kind: source.Real, Real: value} }

// nullableReal returns a number that is stored as a double, or NULL.
func nullableReal(n *int64) source.Value {
	if n == nil {
		return source.Value{}
	}
	return double(float64(*n))
}
