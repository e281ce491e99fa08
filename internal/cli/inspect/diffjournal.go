package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// journalDifference is what the journals of two entries have not both: tool calls and scores. The journal of a run only grows, so something is
// removed only between runs.
type journalDifference struct {
	ToolCallsAdded   int        `json:"toolCallsAdded"`
	ToolCallsChanged int        `json:"toolCallsChanged"` // both have them, and know other things of them: most have ended in between
	ToolCallsFailed  int        `json:"toolCallsFailed"`  // of those that were added or changed
	ToolCallsRemoved int        `json:"toolCallsRemoved"`
	ScoresAdded      []scoreKey `json:"scoresAdded"`
	ScoresRemoved    []scoreKey `json:"scoresRemoved"`

	changedFailed int // how many of ToolCallsFailed were changed
}

// scoreKey is a score without what the scorer said.
type scoreKey struct {
	NodeID    string  `json:"nodeId"`
	Iteration int     `json:"iteration"`
	Attempt   int     `json:"attempt"`
	Source    string  `json:"source"`
	ScorerID  string  `json:"scorerId"`
	Score     float64 `json:"score"`
}

// maxScoresShown is how many scores of a difference are shown.
const maxScoresShown = 50

// compareJournals returns the difference of the journals of two entries. A nil entry has an empty journal.
func compareJournals(from, to *snapshot.Entry) (d journalDifference, err error) {
	before, err := only(from, to, (*snapshot.Entry).ToolCalls, snapshot.DecodeToolCall)
	if err != nil {
		return d, err
	}
	after, err := only(to, from, (*snapshot.Entry).ToolCalls, snapshot.DecodeToolCall)
	if err != nil {
		return d, err
	}
	d.takeCalls(before, after)
	if d.ScoresAdded, err = onlyScores(to, from); err != nil {
		return d, err
	}
	d.ScoresRemoved, err = onlyScores(from, to)
	return d, err
}

// takeCalls counts the calls that only one side has, or has in another form.
func (d *journalDifference) takeCalls(before, after []snapshot.ToolCall) {
	had := make(map[string]snapshot.ToolCall, len(before))
	for _, call := range before {
		had[callKey(call)] = call
	}
	for _, call := range after {
		was, both := had[callKey(call)]
		if both = both && was.CallToken == call.CallToken && was.ToolName == call.ToolName; both {
			d.ToolCallsChanged++
		} else {
			d.ToolCallsAdded++
		}
		if call.Status == snapshot.ToolCallFailed && (!both || was.Status != call.Status) {
			d.ToolCallsFailed++
			if both {
				d.changedFailed++
			}
		}
	}
	d.ToolCallsRemoved = len(before) - d.ToolCallsChanged
}

// callKey returns the key of a tool call's row.
func callKey(c snapshot.ToolCall) string {
	return snapshot.ToolCallKey(c.NodeID, c.Iteration, c.Attempt, c.Seq)
}

// onlyScores returns the scores that one entry has and the other has not. The result is never nil.
func onlyScores(of, other *snapshot.Entry) ([]scoreKey, error) {
	scores, err := only(of, other, (*snapshot.Entry).Scores, snapshot.DecodeScore)
	keys := make([]scoreKey, len(scores))
	for i, s := range scores {
		keys[i] = scoreKey{s.NodeID, s.Iteration, s.Attempt, s.Source, s.ScorerID, s.Value()}
	}
	return keys, err
}

// only returns the rows of a collection that one entry has and the other has not, or has with another value. A nil entry has no rows.
func only[T any](of, other *snapshot.Entry, rowsOf func(*snapshot.Entry) (*page.Collection, error), decode func(page.Row) (T, error)) (list []T, err error) {
	if of == nil {
		return nil, nil
	}
	rows, err := rowsOf(of)
	if err != nil {
		return nil, err
	}
	var had *page.Collection
	if other != nil {
		if had, err = rowsOf(other); err != nil {
			return nil, err
		}
	}
	for row, err := range rows.Rows() {
		if err != nil {
			return nil, err
		}
		if had != nil {
			value, found, err := had.Get(row.Key)
			if err != nil {
				return nil, err
			}
			if found && slices.Equal(value, row.Value) {
				continue
			}
		}
		one, err := decode(row)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// empty reports whether the journals have the same tool calls and scores.
func (d journalDifference) empty() bool {
	return d.ToolCallsAdded+d.ToolCallsChanged+d.ToolCallsRemoved+len(d.ScoresAdded)+len(d.ScoresRemoved) == 0
}

// text returns the difference for people; "" if there is none.
func (d journalDifference) text(p display.Painter) string {
	var b strings.Builder
	b.WriteString(d.callsText(p))
	if len(d.ScoresAdded)+len(d.ScoresRemoved) > 0 {
		b.WriteString("Scores:\n")
	}
	for _, side := range []struct {
		sign   string
		color  string
		scores []scoreKey
	}{{"+ ", term.Green, d.ScoresAdded}, {"- ", term.Red, d.ScoresRemoved}} {
		for _, s := range side.scores[:min(len(side.scores), maxScoresShown)] {
			line := fmt.Sprintf("%s gave %s %s", plain.Text(plain.Cut(s.ScorerID, titleShown)), display.AttemptName(plain.Text(s.NodeID), s.Iteration), display.Score(s.Score))
			b.WriteString("  " + p.Paint(side.color, side.sign+line) + "\n")
		}
		if more := len(side.scores) - maxScoresShown; more > 0 {
			b.WriteString("  " + side.sign + plain.Count(more, "more score") + "\n")
		}
	}
	return b.String()
}

// callsText returns the difference of the tool calls for people; "" if there is none.
func (d journalDifference) callsText(p display.Painter) string {
	var b strings.Builder
	for _, part := range []struct {
		sign, color   string
		count, failed int
	}{
		{"+ ", term.Green, d.ToolCallsAdded, d.ToolCallsFailed - d.changedFailed},
		{"~ ", term.Yellow, d.ToolCallsChanged, d.changedFailed},
		{"- ", term.Red, d.ToolCallsRemoved, 0},
	} {
		if part.count == 0 {
			continue
		}
		line := part.sign + plain.Count(part.count, "call")
		if part.failed > 0 {
			line += fmt.Sprintf(", %d failed", part.failed)
		}
		b.WriteString("  " + p.Paint(part.color, line) + "\n")
	}
	if b.Len() == 0 {
		return ""
	}
	return "Tool calls:\n" + b.String()
}
