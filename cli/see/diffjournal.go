package see

import (
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/cli/display"
	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// journalDifference is what the journals of two entries have not both: tool calls and scores. The journal of a run only grows, so something is
// removed only between runs.
type journalDifference struct {
	ToolCallsAdded   int        `json:"toolCallsAdded"`
	ToolCallsFailed  int        `json:"toolCallsFailed"` // of those that were added
	ToolCallsRemoved int        `json:"toolCallsRemoved"`
	ScoresAdded      []scoreKey `json:"scoresAdded"`
	ScoresRemoved    []scoreKey `json:"scoresRemoved"`
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
	d.ScoresAdded, d.ScoresRemoved = []scoreKey{}, []scoreKey{}
	for _, side := range []struct {
		of, other *snapshot.Entry
		calls     *int
		scores    *[]scoreKey
	}{{to, from, &d.ToolCallsAdded, &d.ScoresAdded}, {from, to, &d.ToolCallsRemoved, &d.ScoresRemoved}} {
		if side.of == nil {
			continue
		}
		calls, err := only(side.of, side.other, (*snapshot.Entry).ToolCalls, snapshot.DecodeToolCall)
		if err != nil {
			return d, err
		}
		*side.calls = len(calls)
		for _, call := range calls {
			if call.Status == snapshot.ToolCallFailed && side.of == to {
				d.ToolCallsFailed++
			}
		}
		scores, err := only(side.of, side.other, (*snapshot.Entry).Scores, snapshot.DecodeScore)
		if err != nil {
			return d, err
		}
		for _, s := range scores {
			*side.scores = append(*side.scores, scoreKey{s.NodeID, s.Iteration, s.Attempt, s.Source, s.ScorerID, s.Value()})
		}
	}
	return d, nil
}

// only returns the rows of a collection that one entry has and the other has not, or has with another value.
func only[T any](of, other *snapshot.Entry, rowsOf func(*snapshot.Entry) (*page.Collection, error), decode func(page.Row) (T, error)) (list []T, err error) {
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
	return d.ToolCallsAdded+d.ToolCallsRemoved+len(d.ScoresAdded)+len(d.ScoresRemoved) == 0
}

// text returns the difference for people; "" if there is none.
func (d journalDifference) text(p display.Painter) string {
	var b strings.Builder
	if d.ToolCallsAdded+d.ToolCallsRemoved > 0 {
		b.WriteString("Tool calls:\n")
	}
	if d.ToolCallsAdded > 0 {
		line := "+ " + plain.Count(d.ToolCallsAdded, "call")
		if d.ToolCallsFailed > 0 {
			line += fmt.Sprintf(", %d failed", d.ToolCallsFailed)
		}
		b.WriteString("  " + p.Paint(term.Green, line) + "\n")
	}
	if d.ToolCallsRemoved > 0 {
		b.WriteString("  " + p.Paint(term.Red, "- "+plain.Count(d.ToolCallsRemoved, "call")) + "\n")
	}
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
