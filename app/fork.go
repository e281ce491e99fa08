package app

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline"
)

// ForkRequest asks for a run whose state is that of a frame, or of a run's newest one.
type ForkRequest struct {
	From string // an address; the run may be a prefix
	Resets
	Description string
	RunID       string // "" makes one up
}

// ForkResult is a fork that was made, and the entry that the address of the request means.
type ForkResult struct {
	Head *timeline.Head
	From *timeline.Loaded
}

// Fork makes a run of another one's frame. Nothing runs.
func (d *Desk) Fork(ctx context.Context, req ForkRequest) (*ForkResult, error) {
	out := &ForkResult{}
	var check func(json.RawMessage) error
	fork := timeline.ForkRequest{
		From: req.From, RunID: req.RunID, Nodes: req.Nodes, NoDeps: req.NoDeps, NamedOnly: req.NamedOnly,
		Input: req.Input, Label: req.Label, Description: req.Description,
		Found: func(at *timeline.Loaded) (err error) {
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

// keptInputCheck is the input check of the workflow that a frame keeps; nil if the frame keeps no workflow of ours.
func keptInputCheck(at *timeline.Loaded) (func(json.RawMessage) error, error) {
	kept, err := at.Entry.Workflow()
	if err != nil || kept == nil {
		return nil, err
	}
	wf, err := workflow.Parse("workflow of "+at.Address.String(), kept.Definition)
	if err != nil {
		return nil, nil //nolint:nilerr // another engine's definition is its own to check
	}
	return wf.ValidateInput, nil
}
