package comparison

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/timeline"
)

// The output of a turn of a session that has its prompt. The table has the answer, too.
const promptsTable, promptMember = "prompts", "prompt"

// A First says where a run first differs from the base.
type First struct {
	// Row is the step or the tool call; nil if there is no difference.
	Row *Row
	// Open reports whether there is no difference so far, and one of the runs has not ended.
	Open bool
}

// firstDifference returns the first step or tool call that differs in two courses. What only one of the courses has come to is no
// difference. If a step has tool calls, the first call that differs says more than the step, unless the prompt differs.
func firstDifference(ctx context.Context, s *timeline.Store, a, b *course) (First, error) {
	c := &comparer{s: s, a: a, b: b}
	var step *Row // differs, and its calls are still to come
	open := false
	for row, err := range c.rows(ctx) {
		if err != nil {
			return First{}, err
		}
		if step != nil && (row.A != step.A || row.B != step.B) {
			break
		}
		switch {
		case row.Same():
		case row.Open:
			open = true
		case row.CallA != nil || row.CallB != nil:
			return First{Row: &row}, nil
		default:
			step = &row
			if !row.InBoth() || slices.ContainsFunc(row.Differs, func(d Difference) bool { return d.Table == promptsTable && d.Member == promptMember }) {
				return First{Row: step}, nil
			}
		}
	}
	return First{Row: step, Open: step == nil && open}, nil
}
