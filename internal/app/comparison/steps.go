package comparison

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/diff/align"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Row is a row of an alignment: a step or a tool call that two runs have, or one of them.
type Row struct {
	// A and B are the step in the two runs; nil in the run that does not have it.
	A, B *Step
	// CallA and CallB are the tool call of the step; both are nil if the row is about the step itself.
	CallA, CallB *Call
	Differs      []Difference // sorted as the constants are; empty if only one run has the step or call
	// Open reports whether the runs differ, as far as they differ, only because one of them has not come to the step or call, or has
	// not ended it.
	Open bool
}

// InBoth reports whether both runs have the step or the call.
func (r *Row) InBoth() bool {
	if r.CallA != nil || r.CallB != nil {
		return r.CallA != nil && r.CallB != nil
	}
	return r.A != nil && r.B != nil
}

// Same reports whether both runs have the step or the call, with the same outcome.
func (r *Row) Same() bool { return r.InBoth() && len(r.Differs) == 0 }

// A comparer compares two courses.
type comparer struct {
	s    *timeline.Store
	a, b *course
	said bool // set Said of all calls
}

// rows yields the rows of the alignment of two courses, and ends with the first error. The calls of a step follow the step.
func (c *comparer) rows(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, p := range align.Unordered(keysOf(c.a.steps), keysOf(c.b.steps)) {
			row := Row{}
			if p.A != align.None {
				row.A = c.a.steps[p.A]
			}
			if p.B != align.None {
				row.B = c.b.steps[p.B]
			}
			var err error
			if row.InBoth() {
				row.Differs, err = c.steps(ctx, row.A, row.B)
			}
			row.Open = !row.A.hasCome() && !c.a.Row.Status.Ended() || !row.B.hasCome() && !c.b.Row.Status.Ended()
			if !yield(row, err) || err != nil || !c.calls(row, yield) {
				return
			}
		}
	}
}

// hasCome reports whether the step is there and has ended. s may be nil.
func (s *Step) hasCome() bool { return s != nil && s.Ended() }

// keysOf returns the keys of steps.
func keysOf(steps []*Step) []string {
	keys := make([]string, len(steps))
	for i, step := range steps {
		keys[i] = keyOf(step)
	}
	return keys
}

// steps returns the differences between the outcomes of a step in the two courses.
func (c *comparer) steps(ctx context.Context, a, b *Step) ([]Difference, error) {
	var out []Difference
	if a.State != b.State {
		out = append(out, Difference{What: DiffersState, From: quoted(string(a.State)), To: quoted(string(b.State))})
	}
	if a.Failed() != b.Failed() {
		out = append(out, Difference{What: DiffersAttempts, From: fmt.Appendf(nil, "%d", a.Failed()), To: fmt.Appendf(nil, "%d", b.Failed())})
	}
	if errA, errB := a.error(), b.error(); a.State == b.State && errA != errB {
		out = append(out, Difference{What: DiffersError, From: quoted(errA), To: quoted(errB)})
	}
	tables := maps.Clone(a.Outputs)
	maps.Copy(tables, b.Outputs)
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		out = append(out, differentMembers(table, a.Outputs[table], b.Outputs[table])...)
	}
	files, err := c.files(ctx, a, b)
	if len(files) > 0 {
		out = append(out, Difference{What: DiffersFiles, Files: files})
	}
	return out, err
}

// error returns the error of the last attempt, or "".
func (s *Step) error() string {
	if last := s.Last(); last != nil {
		return last.Error
	}
	return ""
}
