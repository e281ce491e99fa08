package comparison

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// An Alignment has the steps and tool calls of two runs, matched with each other.
type Alignment struct {
	A, B *summary.Summary
	// Shared is the newest frame that both runs have, as the frame of the run in which it was made; nil if there is none.
	Shared *timeline.Address
	Rows   []Row
}

// Align aligns two runs step by step. Steps are matched by task and iteration, and the tool calls of a matched step by the
// tool and its input.
func Align(ctx context.Context, s *timeline.Store, a, b *summary.Summary) (*Alignment, error) {
	out := &Alignment{A: a, B: b}
	var err error
	if out.Shared, err = sharedFrame(s, a, b); err != nil {
		return nil, timeline.Explain(err)
	}
	c := &comparer{s: s, said: true}
	if c.a, err = newCourse(a); err != nil {
		return nil, err
	}
	if c.b, err = newCourse(b); err != nil {
		return nil, err
	}
	for row, err := range c.rows(ctx) {
		if err != nil {
			return nil, err
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// sharedFrame returns the newest frame that two runs have in common, or nil if there is none.
func sharedFrame(s *timeline.Store, a, b *summary.Summary) (*timeline.Address, error) {
	lineA, err := lineOf(s, a)
	if err != nil {
		return nil, err
	}
	lineB, err := lineOf(s, b)
	if err != nil {
		return nil, err
	}
	var shared *timeline.Address
	for i := range min(len(lineA), len(lineB)) {
		if lineA[i].Run != lineB[i].Run {
			break
		}
		shared = &timeline.Address{Run: lineA[i].Run, Frame: min(lineA[i].Frame, lineB[i].Frame)}
		if lineA[i].Frame != lineB[i].Frame {
			break
		}
	}
	return shared, nil
}

// lineOf returns the runs that a run descends from, oldest first and the run itself last, each with the newest of its
// frames that the run has.
func lineOf(s *timeline.Store, sum *summary.Summary) ([]timeline.Address, error) {
	line := []timeline.Address{{Run: sum.Row.ID, Frame: sum.Row.Frame}}
	for row := sum.Row; row.Parent != nil; {
		line = append([]timeline.Address{{Run: row.Parent.RunID, Frame: row.Parent.Frame}}, line...)
		entry, err := snapshot.ReadEntry(s.Objects(), row.Parent.Commit)
		if err != nil {
			return nil, err
		}
		if row, err = entry.RunRow(); err != nil {
			return nil, err
		}
	}
	return line, nil
}
