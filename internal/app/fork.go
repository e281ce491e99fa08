package app

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline"
)

// ForkRequest asks to fork a run at a frame, by default at its newest state.
type ForkRequest struct {
	From string // an address; the run may be a prefix
	Resets
	Description string
	RunID       string // the id of the fork; "" for a generated id
}

// ForkResult has the tip of a new fork, and the entry from which it was forked.
type ForkResult struct {
	Head *timeline.Head
	From *timeline.LoadedEntry
}

// Fork forks a run at a frame, and runs no task. If req.Input is not nil, and the frame stores a workflow of git
// smithers, Fork checks the new input against the schema of this workflow. With an error, the result is nil.
func (d *Desk) Fork(ctx context.Context, req ForkRequest) (*ForkResult, error) {
	out := &ForkResult{}
	var check func(json.RawMessage) error
	fork := timeline.ForkRequest{
		From: req.From, RunID: req.RunID, Nodes: req.Nodes, NoDeps: req.NoDeps, NamedOnly: req.NamedOnly,
		Input: req.Input, Label: req.Label, Description: req.Description, Effects: req.Effects,
		// Store.Fork calls Found before CheckInput.
		Found: func(at *timeline.LoadedEntry) (err error) {
			if out.From = at; req.Input != nil {
				check, err = keptInputCheck(at)
			}
			return err
		},
		CheckInput: func(input json.RawMessage) error {
			if check == nil {
				return nil
			}
			return check(input)
		},
	}
	head, err := d.Store.Fork(ctx, fork)
	if err != nil {
		return nil, err
	}
	out.Head = head
	return out, nil
}

// keptInputCheck returns the function that checks an input against the workflow that a frame stores. at is the
// frame. The function is nil if the frame stores no workflow, or a workflow of another engine.
func keptInputCheck(at *timeline.LoadedEntry) (func(json.RawMessage) error, error) {
	kept, err := at.Entry.Workflow()
	if err != nil || kept == nil {
		return nil, err
	}
	wf, err := workflow.Stored("workflow of "+at.Address.String(), kept.Definition)
	if err != nil {
		return nil, nil //nolint:nilerr // another engine checks the input of its own workflow
	}
	return wf.ValidateInput, nil
}
