package summary

import (
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Scorer is what a scorer gave the tasks of a run. Each task counts once, by its newest attempt that the scorer has scored.
type Scorer struct {
	Name  string  `json:"scorer"` // its id
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
}

// ScorersOf returns the scorers of the journal of an entry, sorted by their names.
func ScorersOf(entry *snapshot.Entry) ([]Scorer, error) {
	rows, err := entry.Scores()
	if err != nil || rows.Len() == 0 {
		return []Scorer{}, err
	}
	type place struct {
		scorer, node string
		iteration    int
	}
	newest := make(map[place]snapshot.Score)
	for score, err := range entry.AllScores() {
		if err != nil {
			return nil, err
		}
		at := place{score.ScorerID, score.NodeID, score.Iteration}
		if had, ok := newest[at]; !ok || score.Attempt > had.Attempt || score.Attempt == had.Attempt && score.ScoredAtMs >= had.ScoredAtMs {
			newest[at] = score
		}
	}
	byName := make(map[string]*Scorer)
	for at, score := range newest {
		s, value := byName[at.scorer], score.Value()
		if s == nil {
			s = &Scorer{Name: at.scorer, Min: value, Max: value}
			byName[at.scorer] = s
		}
		s.Count++
		s.Mean += (value - s.Mean) / float64(s.Count)
		s.Min, s.Max = min(s.Min, value), max(s.Max, value)
	}
	out := make([]Scorer, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, *byName[name])
	}
	return out, nil
}
