package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// The sources of a score.
const (
	ScoreLive  = "live"  // a scorer of the workflow gave the score when the attempt had ended
	ScoreBatch = "batch" // the score was given after the fact
)

// Score is the score that a scorer gave an attempt. The key of its row in the journal's collection "scores" is its ScoreKey, so a
// scorer has at most one score of each source for an attempt. An optional field is zero if the writer of the row left it
// out.
type Score struct {
	NodeID    string `json:"nodeId"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt"` // 1, 2, 3, …
	Source    string `json:"source"`
	ScorerID  string `json:"scorerId"` // not empty

	ScorerName string          `json:"scorerName,omitempty"` // for people; "" if it is the scorer's id
	Score      json.RawMessage `json:"score"`                // a finite number, byte for byte
	Reason     string          `json:"reason,omitempty"`
	ScoredAtMs int64           `json:"scoredAtMs"`
	LatencyMs  *int64          `json:"latencyMs,omitempty"`  // how long the attempt took
	DurationMs *int64          `json:"durationMs,omitempty"` // how long the scorer took

	// What the scorer was given and said beside its score: any JSON values, byte for byte.
	Meta        json.RawMessage `json:"meta,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	GroundTruth json.RawMessage `json:"groundTruth,omitempty"`
	Context     json.RawMessage `json:"context,omitempty"`

	// Carried has the members of the row that this version does not know. They are written back with the row.
	Carried row.CarriedMembers `json:"-"`
}

// scoreKind declares the rows of the collection "scores".
var scoreKind = row.Kind[Score]{
	Name: "score",
	Key: row.Key[Score]{
		Of: func(s *Score) string { return ScoreKey(s.NodeID, s.Iteration, s.Attempt, s.Source, s.ScorerID) },
		Split: func(s *Score, key string) (err error) {
			s.NodeID, s.Iteration, s.Attempt, s.Source, s.ScorerID, err = SplitScoreKey(key)
			return err
		},
		Fields: []row.Field[Score]{
			row.Text("nodeId", func(s *Score) *string { return &s.NodeID }),
			row.Int("iteration", func(s *Score) *int { return &s.Iteration }),
			row.Int("attempt", func(s *Score) *int { return &s.Attempt }),
			row.Text("source", func(s *Score) *string { return &s.Source }),
			row.Text("scorerId", func(s *Score) *string { return &s.ScorerID }),
		},
		Missing: func(*Score) error {
			_, _, _, _, _, err := SplitScoreKey("")
			return err
		},
	},
	Fields: []row.Field[Score]{
		row.OptionalJSON("context", func(s *Score) *json.RawMessage { return &s.Context }),
		row.OptionalInt("durationMs", func(s *Score) **int64 { return &s.DurationMs }),
		row.OptionalJSON("groundTruth", func(s *Score) *json.RawMessage { return &s.GroundTruth }),
		row.OptionalJSON("input", func(s *Score) *json.RawMessage { return &s.Input }),
		row.OptionalInt("latencyMs", func(s *Score) **int64 { return &s.LatencyMs }),
		row.OptionalJSON("meta", func(s *Score) *json.RawMessage { return &s.Meta }),
		row.OptionalJSON("output", func(s *Score) *json.RawMessage { return &s.Output }),
		row.OptionalText("reason", func(s *Score) *string { return &s.Reason }),
		row.Required(row.JSON("score", func(s *Score) *json.RawMessage { return &s.Score })),
		row.Required(row.Int("scoredAtMs", func(s *Score) *int64 { return &s.ScoredAtMs })),
		row.OptionalText("scorerName", func(s *Score) *string { return &s.ScorerName }),
	},
	Carried: func(s *Score) *row.CarriedMembers { return &s.Carried },
	Check:   Score.check,
	Valid:   checkRaw,
}

// Scorers' ids are free texts, so the parts of a key must be told apart.
var (
	escapeScorer   = strings.NewReplacer("%", "%25", ":", "%3A")
	unescapeScorer = strings.NewReplacer("%25", "%", "%3A", ":")
)

// ScoreKey returns the key of the row of a score: "nodeId::iteration::attempt::source::scorerId". In the scorer's id, "%" is
// "%25" and ":" is "%3A".
func ScoreKey(nodeID string, iteration, attempt int, source, scorerID string) string {
	return AttemptKey(nodeID, iteration, attempt) + keySeparator + source + keySeparator + escapeScorer.Replace(scorerID)
}

// SplitScoreKey returns the parts of a key that ScoreKey returned. If ScoreKey cannot have returned the key, the error wraps
// ErrInvalid.
func SplitScoreKey(key string) (nodeID string, iteration, attempt int, source, scorerID string, err error) {
	of, scorer, hasScorer := cutLast(key)
	of, source, hasSource := cutLast(of)
	scorerID = unescapeScorer.Replace(scorer)
	if hasScorer && hasSource && escapeScorer.Replace(scorerID) == scorer {
		if nodeID, iteration, attempt, err = SplitAttemptKey(of); err == nil {
			return nodeID, iteration, attempt, source, scorerID, nil
		}
	}
	return "", 0, 0, "", "", invalid("key %q: not nodeId::iteration::attempt::source::scorerId", key)
}

// SetScore returns the change of the journal that sets the row of a score.
func SetScore(s Score) Change { return SetRow(CollectionScores, EncodeScore(s)) }

// EncodeScore returns the row of a score, without checking the score.
func EncodeScore(s Score) page.Row { return scoreKind.Encode(s) }

// DecodeScore decodes the row of a score. If EncodeScore would not have written the row, or the score is invalid, the error
// wraps objstore.ErrCorrupt. Members that this version does not know are in Carried.
func DecodeScore(r page.Row) (Score, error) { return scoreKind.Decode(r) }

// Scores returns the journal's collection of scores. DecodeScore decodes its rows.
func (e *Entry) Scores() (*page.Collection, error) { return e.journalRows(CollectionScores) }

// AllScores yields the scores of the entry's journal in the order of their keys, and ends with the first error.
func (e *Entry) AllScores() iter.Seq2[Score, error] {
	return journalOf(e, CollectionScores, DecodeScore)
}

// Value returns the number of a valid score.
func (s Score) Value() float64 {
	value, _ := parseScore(s.Score)
	return value
}

// ID returns the id that Smithers gives the score in the run with the given id: "scorer_" and the SHA-256, in hex, of what
// identifies the score, as a JSON array in the form of JSON.stringify.
func (s Score) ID(runID string) string {
	text := page.AppendString([]byte{'['}, runID)
	text = page.AppendString(append(text, ','), s.NodeID)
	text = fmt.Appendf(text, ",%d,%d,", s.Iteration, s.Attempt)
	text = page.AppendString(text, s.ScorerID)
	text = append(page.AppendString(append(text, ','), s.Source), ']')
	return fmt.Sprintf("scorer_%x", sha256.Sum256(text))
}

// Name returns the scorer's name for people.
func (s Score) Name() string { return cmp.Or(s.ScorerName, s.ScorerID) }

// parseScore parses text as a JSON number. It returns false if text is anything else or the number is not finite.
func parseScore(text json.RawMessage) (float64, bool) {
	value, err := strconv.ParseFloat(string(text), 64)
	return value, err == nil && !math.IsInf(value, 0) && !math.IsNaN(value) && json.Valid(text)
}

// IsScore reports whether text is a JSON number that a score can have: a finite one.
func IsScore(text json.RawMessage) bool {
	_, ok := parseScore(text)
	return ok
}

// check returns an error if the score cannot be stored.
func (s Score) check() error {
	if !IsScore(s.Score) {
		return errors.New("score: not a finite number")
	}
	if s.ScorerID == "" {
		return errors.New("scorerId: missing")
	}
	for _, took := range []*int64{s.LatencyMs, s.DurationMs} {
		if took != nil && (*took < 0 || *took > row.MaxInteger) {
			return fmt.Errorf("latencyMs or durationMs: %d: out of range", *took)
		}
	}
	return cmp.Or(
		checkWord("source", s.Source, ScoreLive, ScoreBatch),
		checkTimes(&s.ScoredAtMs),
		checkTexts(&s.ScorerID, &s.ScorerName, &s.Reason),
	)
}
