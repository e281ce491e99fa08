package summary

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Failure says why a run failed.
type Failure struct {
	// Error is the reason: that of the failed attempt or, if no step failed, that of the run.
	Error string
	// Step is the step that failed, and Attempt its last attempt. Both are nil if no step failed.
	Step    *Step
	Attempt *Attempt
	// Tries is how many attempts of the step failed.
	Tries int
	// Change is the last change of files before the failed attempt began; nil if there is none in the run's timeline.
	Change *Change
}

// A Change is a frame that changed files.
type Change struct {
	Frame  int64 // the number of the frame
	Before int64 // the number of the frame on which it is based
	// Step is the name of the step whose attempt ended with the frame; "" if it is unknown or there are several.
	Step string
	Code Code
}

// readFailure sets Failure if the run has failed. If several steps failed, it takes the step that failed last.
func (sum *Summary) readFailure(ctx context.Context, s *timeline.Store) error {
	if sum.Row.Status != snapshot.RunFailed {
		return nil
	}
	f := &Failure{Error: sum.Row.Error}
	for i := range sum.Steps {
		step := &sum.Steps[i]
		last := step.Last()
		if step.State != snapshot.NodeFailed || last == nil || f.Attempt != nil && last.EndMs < f.Attempt.EndMs {
			continue
		}
		f.Step, f.Attempt = step, last
	}
	if f.Step != nil {
		if f.Attempt.Error != "" {
			f.Error = f.Attempt.Error
		}
		for _, a := range f.Step.Attempts {
			if a.State == snapshot.AttemptFailed {
				f.Tries++
			}
		}
		var err error
		if f.Change, err = sum.changeBefore(ctx, s, f.Step.StartMs()); err != nil {
			return err
		}
	}
	sum.Failure = f
	return nil
}

// changeBefore returns the last frame of the timeline that changed files and is not later than atMs, or nil if there is
// none.
func (sum *Summary) changeBefore(ctx context.Context, s *timeline.Store, atMs int64) (*Change, error) {
	frames := sum.Frames.Frames
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		if f.CreatedAtMs > atMs || !sum.effects[f.FrameNo].Changed || f.BasedOn == nil {
			continue
		}
		change := &Change{Frame: f.FrameNo, Before: *f.BasedOn}
		for _, a := range sum.Attempts {
			if a.Frame != nil && *a.Frame == f.FrameNo && !a.Inherited && !a.Together {
				change.Step = (&Step{Node: snapshot.Node{NodeID: a.NodeID, Iteration: a.Iteration, RalphID: new("")}}).Name()
			}
		}
		from, err := s.Load(ctx, timeline.Address{Run: sum.Row.ID, Frame: change.Before}.String())
		if err != nil {
			return nil, err
		}
		to, err := s.Load(ctx, timeline.Address{Run: sum.Row.ID, Frame: change.Frame}.String())
		if err != nil {
			return nil, err
		}
		change.Code, err = changesBetween(ctx, s, from.Entry, to.Entry)
		return change, err
	}
	return nil, nil
}

// Log returns the last most lines of the stored log of an attempt, and the number of all its lines. The lines have no control characters.
func (sum *Summary) Log(a *Attempt, most int) (lines []string, total int, err error) {
	logs, err := sum.Entry.Logs()
	if err != nil {
		return nil, 0, timeline.Explain(err)
	}
	key := snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt.Attempt)
	value, ok, err := logs.Get(key)
	if err != nil || !ok {
		return nil, 0, timeline.Explain(err)
	}
	text, err := snapshot.DecodeLog(page.Row{Key: key, Value: value})
	if err != nil {
		return nil, 0, timeline.Explain(err)
	}
	lines = plain.Lines(text)
	return lines[max(0, len(lines)-most):], len(lines), nil
}
