package inspect

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/app/comparison"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/snapshot"
)

// viewOf returns the view of runs with labels, and a ranking of them.
func viewOf(r comparison.Ranking, by *comparison.Column, labels ...string) *comparisonView {
	c := &comparison.Comparison{By: by, Ranking: r}
	for i, label := range labels {
		row := snapshot.Run{ID: "run-" + string(rune('a'+i)), Status: snapshot.RunFinished}
		if label != "" {
			row.Parent = &snapshot.Parent{Label: label}
		}
		c.Runs = append(c.Runs, &comparison.Run{Summary: &summary.Summary{Row: row}, Outputs: make(map[string]json.RawMessage)})
	}
	return &comparisonView{Comparison: c}
}

func TestWhatDecidedIsSaid(t *testing.T) {
	t.Parallel()
	by := &comparison.Column{Table: "v", Path: []string{"s"}}
	four := []string{"", "b", "c", "d"}
	for want, view := range map[string]*comparisonView{
		"best: b. It is ahead by v.s.": viewOf(comparison.Ranking{Best: []int{1}, Equal: []int{0, 1, 2, 3}, Decided: comparison.ByValue}, by, four...),
		"best: b. It ties with run-a and c in v.s. It is ahead by status: finished.": viewOf(
			comparison.Ranking{Best: []int{1}, Equal: []int{0, 1, 2}, Decided: comparison.ByStatus}, by, four...),
		"best: b. It is ahead by status: finished.":                              viewOf(comparison.Ranking{Best: []int{1}, Equal: []int{0, 1, 2}, Decided: comparison.ByStatus}, nil, four...),
		"best: b. It ties with c in status. It is ahead by fewer changed lines.": viewOf(comparison.Ranking{Best: []int{1}, Equal: []int{1, 2}, Decided: comparison.ByLines}, nil, four...),
		"best: b and c. They tie with d in v.s, status and lines. They are ahead by less time. They are equal in v.s, status, lines and time.": viewOf(
			comparison.Ranking{Best: []int{1, 2}, Equal: []int{1, 2, 3}, Decided: comparison.ByDuration}, by, four...),
		"best: run-a, b, c and 1 more. They are equal in status, lines and time.": viewOf(comparison.Ranking{Best: []int{0, 1, 2, 3}}, nil, four...),
	} {
		assert.Equal(t, want, view.bestLine())
	}
}

func TestForksOfOneLabelAreToldApart(t *testing.T) {
	t.Parallel()
	v := viewOf(comparison.Ranking{}, nil, "", "same", "same", "other")
	assert.Equal(t, []string{"run-a", "same (run-b)", "same (run-c)", "other"}, []string{v.name(0), v.name(1), v.name(2), v.name(3)})
}
