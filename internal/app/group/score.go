package group

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Score is what a command has given a variant. The run of the group has it, as a score of the task of the variant: so no fork inherits it, and the
// variant's own scores stay what they are.
type Score struct {
	Scorer string  `json:"scorer"`
	Value  float64 `json:"value"`
	Reason string  `json:"reason,omitempty"`
	Frame  int64   `json:"frame"`      // of the variant's run, whose files were scored
	Status int     `json:"exitStatus"` // of the command; if it is not 0, the variant is no winner
	AtMs   int64   `json:"scoredAtMs"`
}

// scoreMeta is the member meta of the row of a score.
type scoreMeta struct {
	Frame  int64 `json:"frame"`
	Status int   `json:"exitStatus"`
}

// counts reports whether the command has ended well on the newest frame of the variant.
func (s *Score) counts(v *Variant) bool {
	return s != nil && s.Status == 0 && v.head != nil && s.Frame == v.head.Row().Frame
}

// Row returns the row of the score for the run of the group. A later score of the scorer takes its place.
func (s *Score) Row(number int) (snapshot.Score, error) {
	value, err := jsontext.Encode(s.Value)
	if err != nil {
		return snapshot.Score{}, err
	}
	meta, err := jsontext.Encode(scoreMeta{s.Frame, s.Status})
	return snapshot.Score{
		NodeID: workflow.VariantTask(number), Attempt: 1, Source: snapshot.ScoreBatch, ScorerID: s.Scorer,
		Score: value, Reason: s.Reason, Meta: meta, ScoredAtMs: s.AtMs,
	}, err
}

// readScores sets the scores of the variants to those of the scorer that has scored the group last, and returns the expression that reads them, or "" if no
// command has scored the group.
func (g *Group) readScores(head *timeline.Head) (by string, err error) {
	var newest *snapshot.Score
	rows := make(map[string][]snapshot.Score) // by scorer
	for row, err := range head.Entry().AllScores() {
		if err != nil {
			return "", timeline.Explain(err)
		}
		if n := workflow.VariantOf(row.NodeID); row.Source != snapshot.ScoreBatch || n < 1 || n > len(g.Variants) {
			continue
		}
		if rows[row.ScorerID] = append(rows[row.ScorerID], row); newest == nil || row.ScoredAtMs > newest.ScoredAtMs {
			newest = &row
		}
	}
	if newest == nil {
		return "", nil
	}
	for _, row := range rows[newest.ScorerID] {
		var meta scoreMeta
		if json.Unmarshal(row.Meta, &meta) != nil {
			meta.Frame = snapshot.NoFrame // another writer's row
		}
		g.Variants[workflow.VariantOf(row.NodeID)-1].Score = &Score{row.ScorerID, row.Value(), row.Reason, meta.Frame, meta.Status, row.ScoredAtMs}
	}
	return By(newest.ScorerID), nil
}

// By returns the expression that reads the scores of a scorer.
func By(scorer string) string {
	if plainName.MatchString(scorer) {
		return "scores." + scorer
	}
	quoted, _ := jsontext.Encode(scorer) // a text
	return "scores[" + string(quoted) + "]"
}

// plainName matches the names that an expression reads without quotation marks.
var plainName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
