package comparison

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Step is a step of a run, with what came of it.
type Step struct {
	*summary.Step

	Outputs map[string]json.RawMessage // by output table, without the table usage
	Calls   []*Call                    // its tool calls, oldest first
}

// Failed returns how many attempts of the step failed.
func (s *Step) Failed() (n int) {
	for _, a := range s.Attempts {
		if a.State == snapshot.AttemptFailed {
			n++
		}
	}
	return n
}

// Ended reports whether the step has finished, has failed, was skipped or was cancelled.
func (s *Step) Ended() bool {
	switch s.State {
	case snapshot.NodeFinished, snapshot.NodeFailed, snapshot.NodeSkipped, snapshot.NodeCancelled:
		return true
	case snapshot.NodePending, snapshot.NodeInProgress,
		snapshot.NodeWaitingApproval, snapshot.NodeWaitingHuman, snapshot.NodeWaitingEvent, snapshot.NodeWaitingTimer:
	}
	return false
}

// A Call is a tool call of a step.
type Call struct {
	snapshot.ToolCall

	Number int // 1, 2, 3, … in the step
	// Said is what the tool was asked to do, with a dot for the folder of the agent; nil if it is unknown. It is set in the
	// rows of an Alignment.
	Said json.RawMessage

	row []byte // as stored
}

// A course is what happened in a run, step by step.
type course struct {
	*summary.Summary

	steps  []*Step
	texts  *agent.CallTexts
	frames map[int64]list.FrameInfo // by number
}

// newCourse reads the outputs and the tool calls of the steps of a run.
func newCourse(sum *summary.Summary) (*course, error) {
	c := &course{Summary: sum, frames: make(map[int64]list.FrameInfo, len(sum.Frames.Frames))}
	for _, f := range sum.Frames.Frames {
		c.frames[f.FrameNo] = f
	}
	byKey := make(map[string]*Step, len(sum.Steps))
	for i := range sum.Steps {
		step := &Step{Step: &sum.Steps[i], Outputs: make(map[string]json.RawMessage)}
		c.steps = append(c.steps, step)
		byKey[keyOf(step)] = step
	}
	if err := readOutputs(sum, byKey); err != nil {
		return nil, timeline.Explain(err)
	}
	if err := readCalls(sum, byKey); err != nil {
		return nil, timeline.Explain(err)
	}
	var err error
	c.texts, err = agent.NewCallTexts(sum.Entry, sum.Row.Workflow)
	return c, err
}

// keyOf returns the key by which a step is matched: the task and the iteration.
func keyOf(s *Step) string { return snapshot.Key(s.NodeID, s.Iteration) }

// readOutputs sets Outputs of the steps.
func readOutputs(sum *summary.Summary, steps map[string]*Step) error {
	state, err := sum.Entry.State()
	if err != nil {
		return err
	}
	for _, table := range state.Tables() {
		if table == summary.UsageTable {
			continue
		}
		for row, err := range state.Outputs(table).Rows() {
			if err != nil {
				return err
			}
			if step := steps[row.Key]; step != nil {
				step.Outputs[table] = row.Value
			}
		}
	}
	return nil
}

// readCalls sets Calls of the steps.
func readCalls(sum *summary.Summary, steps map[string]*Step) error {
	rows, err := sum.Entry.ToolCalls()
	if err != nil {
		return err
	}
	for row, err := range rows.Rows() {
		if err != nil {
			return err
		}
		call, err := snapshot.DecodeToolCall(row)
		if err != nil {
			return err
		}
		if step := steps[snapshot.Key(call.NodeID, call.Iteration)]; step != nil {
			step.Calls = append(step.Calls, &Call{ToolCall: call, row: row.Value})
		}
	}
	for _, step := range steps {
		slices.SortFunc(step.Calls, func(a, b *Call) int {
			return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Seq, b.Seq))
		})
		for i, call := range step.Calls {
			call.Number = i + 1
		}
	}
	return nil
}
