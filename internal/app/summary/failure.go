package summary

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Failure says why a run failed.
type Failure struct {
	// Error is the reason: that of the failed attempt or, if no step failed, that of the run.
	Error string `json:"error"`
	// NodeID, Iteration and Number name the last attempt of the step that failed first. They are nil if no step failed.
	NodeID    *string `json:"nodeId"`
	Iteration *int    `json:"iteration"`
	Number    *int    `json:"attempt"`
	// Tries is how many attempts of the step failed.
	Tries int `json:"tries"`
	// Also are the other steps that failed the run, in the order in which they failed.
	Also []FailedStep `json:"also"`
	// Log has the last lines of the log of the attempt, without control characters, and LogLines is the number of all its lines. Only
	// Describe reads them.
	Log      []string `json:"log"`
	LogLines int      `json:"logLines"`
	// Change is the last change of files before the step began; nil if there is none in the run's timeline.
	Change *Change `json:"change"`
	// RetryFrame, RetryNodes and Denied are Frame, Nodes and Denied of Retry. RetryFrame is nil if Retry is nil.
	RetryFrame *int64   `json:"retryFrame"`
	RetryNodes []string `json:"retryNodes"`
	Denied     bool     `json:"denied"`

	// Step is the step that failed first, and Attempt its last attempt. Both are nil if no step failed.
	Step    *Step    `json:"-"`
	Attempt *Attempt `json:"-"`
	// Retry says how the failed steps are tried again; nil if there is no frame from which a replay tries them.
	Retry *Retry `json:"-"`
}

// A FailedStep is a step that failed its run, and the error of its last attempt.
type FailedStep struct {
	*Step `json:"-"`

	NodeID    string `json:"nodeId"`
	Iteration int    `json:"iteration"`
	Error     string `json:"error"`
}

// A Change is a frame that changed files.
type Change struct {
	Frame  int64 `json:"frame"`  // the number of the frame
	Before int64 `json:"before"` // the number of the frame on which it is based
	// Step is the name of the step whose attempt ended with the frame; nil if it is unknown or there are several.
	Step *string `json:"step"`
	Code
}

// readFailure sets Failure if the run has failed. If several steps failed, the first is the cause.
func (sum *Summary) readFailure(ctx context.Context, s *timeline.Store) error {
	if sum.Row.Status != snapshot.RunFailed {
		return nil
	}
	f := &Failure{Error: sum.Row.Error, Also: []FailedStep{}, Log: []string{}, RetryNodes: []string{}}
	sum.Failure = f // without what cannot be read
	failed, err := FailedNodes(sum.Entry)
	if err != nil {
		return err
	}
	for _, n := range failed {
		i := slices.IndexFunc(sum.Steps, func(s Step) bool { return s.NodeID == n.NodeID && s.Iteration == n.Iteration })
		switch {
		case i < 0 || sum.Steps[i].Last() == nil: // a part that cannot be read
		case f.Step == nil:
			f.Step, f.Attempt = &sum.Steps[i], sum.Steps[i].Last()
			f.NodeID, f.Iteration, f.Number = &f.Attempt.NodeID, &f.Attempt.Iteration, &f.Attempt.Number
		default:
			f.Also = append(f.Also, FailedStep{&sum.Steps[i], n.NodeID, n.Iteration, sum.Steps[i].Last().Error})
		}
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
		if f.Change, err = sum.changeBefore(ctx, s, f.Step); err != nil {
			return err
		}
	}
	if f.Retry, err = RetryOf(s, sum.Entry); f.Retry != nil {
		f.RetryFrame, f.RetryNodes, f.Denied = &f.Retry.Frame, append(f.RetryNodes, f.Retry.Nodes...), f.Retry.Denied
	}
	return err
}

// changeBefore returns the last frame of the timeline that changed files before a step began, or nil if there is none. The frames at
// which attempts of the step ended are not before it.
func (sum *Summary) changeBefore(ctx context.Context, s *timeline.Store, step *Step) (*Change, error) {
	own := make(map[int64]bool)     // the frames at which attempts of the step ended
	by := make(map[int64]*Attempt)  // by frame: the attempt that changed the files; nil if several did
	changed := make(map[int64]bool) // the frames at which attempts changed files
	for _, a := range sum.Attempts {
		if a.Frame == nil || a.Inherited {
			continue
		}
		own[*a.Frame] = own[*a.Frame] || a.NodeID == step.NodeID && a.Iteration == step.Iteration
		if a.Changed {
			by[*a.Frame] = a
			if changed[*a.Frame] || a.Together {
				by[*a.Frame] = nil
			}
			changed[*a.Frame] = true
		}
	}
	for _, f := range slices.Backward(sum.Frames.Frames) {
		no := f.FrameNo
		if f.CreatedAtMs > step.StartMs() || own[no] || f.BasedOn == nil || !sum.effects[no].Changed && !changed[no] {
			continue
		}
		change := &Change{Frame: no, Before: *f.BasedOn}
		if a := by[no]; a != nil {
			change.Step = new(sum.nameOf(a))
		}
		from, err := s.Load(ctx, timeline.Address{Run: sum.Row.ID, Frame: change.Before}.String())
		if err != nil {
			return change, err
		}
		to, err := s.Load(ctx, timeline.Address{Run: sum.Row.ID, Frame: no}.String())
		if err != nil {
			return change, err
		}
		change.Code, err = changesBetween(ctx, s, from.Entry, to.Entry)
		return change, err
	}
	return nil, nil
}

// nameOf returns the name of the step of an attempt.
func (sum *Summary) nameOf(a *Attempt) string {
	for i := range sum.Steps {
		if step := &sum.Steps[i]; step.NodeID == a.NodeID && step.Iteration == a.Iteration {
			return step.Name()
		}
	}
	return snapshot.Key(a.NodeID, a.Iteration)
}

// Log returns the last most lines of the stored log of an attempt, and the number of all its lines. The lines have no colours and no
// control characters.
func (sum *Summary) Log(a *Attempt, most int) (lines []string, total int, err error) {
	text, ok, err := sum.StoredLog(a)
	if err != nil || !ok {
		return nil, 0, err
	}
	lines = plain.Lines(plain.Uncolored(text))
	return lines[max(0, len(lines)-most):], len(lines), nil
}
