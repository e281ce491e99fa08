package summary

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Fork is a fork of a run, in the summary of the run.
type Fork struct {
	list.Branch `json:"-"`

	RunID         string             `json:"runId"`
	BranchLabel   *string            `json:"branchLabel"`
	ParentFrameNo int64              `json:"parentFrameNo"`
	Status        snapshot.RunStatus `json:"status"`
	Stale         bool               `json:"stale"`   // the row says running, and no live process owns the run
	Error         *string            `json:"error"`   // of the run; nil if it has not failed
	Differs       []InputValue       `json:"differs"` // the members of its input that differ from the run's, sorted by name
	// StepState is the state in the fork of the step that failed in the run; nil if there is none. Better reports whether it has finished.
	StepState *snapshot.NodeState `json:"stepState"`
	Better    bool                `json:"better"`
	Code      Code                `json:"code"` // how the files have changed since the first frame of the line

	Waits []mailbox.Waiting `json:"-"`
}

// An InputValue is a member of an input.
type InputValue struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"` // nil if the input does not have the member
}

// Forks returns the forks of the run, oldest first, at most most of them, and the number of all forks. A fork that cannot be read is left
// out with a warning.
func (sum *Summary) Forks(ctx context.Context, s *timeline.Store, most int, now time.Time) (forks []Fork, total int, err error) {
	branches, err := list.Branches(ctx, s, sum.Row.ID)
	if err != nil {
		return nil, 0, err
	}
	branches = slices.DeleteFunc(branches, func(b list.Branch) bool { return b.ParentFrameNo > sum.Row.Frame }) // appended meanwhile
	for _, branch := range branches[:min(most, len(branches))] {
		fork, err := sum.fork(ctx, s, branch, now)
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if err != nil {
			s.Warn(err)
			continue
		}
		forks = append(forks, fork)
	}
	return forks, len(branches), nil
}

// fork reads a fork.
func (sum *Summary) fork(ctx context.Context, s *timeline.Store, branch list.Branch, now time.Time) (Fork, error) {
	head, err := branch.Head(s)
	if err != nil {
		return Fork{}, err
	}
	row := head.Row()
	f := Fork{
		Branch: branch, RunID: branch.RunID, BranchLabel: branch.BranchLabel, ParentFrameNo: branch.ParentFrameNo,
		Status: row.Status, Error: orNull(row.Error), Stale: Stale(s, row, head.Entry()),
	}
	if f.Waits, err = mailbox.WaitsOf(head, now); err != nil {
		return f, err
	}
	input, err := head.State().Input()
	if err != nil {
		return f, timeline.Explain(err)
	}
	f.Differs = append([]InputValue{}, DifferentInputs(sum.Input, input)...)
	if sum.First != nil { // else the code is in Unread
		if f.Code, err = changesBetween(ctx, s, sum.First, head.Entry()); err != nil {
			return f, err
		}
	}
	if sum.Failure != nil && sum.Failure.Step != nil {
		step := sum.Failure.Step
		is, ok, err := mailbox.ReadRow(head.State().Nodes(), snapshot.Key(step.NodeID, step.Iteration), snapshot.DecodeNode)
		if err != nil {
			return f, timeline.Explain(err)
		}
		if ok {
			f.StepState, f.Better = &is.State, is.State == snapshot.NodeFinished
		}
	}
	return f, nil
}

// DifferentInputs returns the members of the input is that differ from the input was, sorted by name. An input that is no
// object has one member with the name "". A member that only was has is in the result without a value.
func DifferentInputs(was, is json.RawMessage) []InputValue {
	before, after := inputMembers(was), inputMembers(is)
	var out []InputValue
	for name, value := range after {
		if !sameJSON(before[name], value) {
			out = append(out, InputValue{name, value})
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			out = append(out, InputValue{name, nil})
		}
	}
	slices.SortFunc(out, func(a, b InputValue) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// inputMembers returns the members of an input by name. An input that is no object is the value of the name "".
func inputMembers(input json.RawMessage) map[string]json.RawMessage {
	if input == nil {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil || members == nil {
		return map[string]json.RawMessage{"": input}
	}
	return members
}

// sameJSON reports whether two values have the same text, apart from white space.
func sameJSON(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
