package app

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline"
)

// ForkRequest asks for a run whose state is that of a frame, or of a run's newest one.
type ForkRequest struct {
	From string // an address; the run may be a prefix
	Resets
	Description string
	RunID       string // "" makes one up
}

// ForkMade is a fork that was made, and the entry that the address of the request means.
type ForkMade struct {
	Head *timeline.Head
	From *timeline.Loaded
}

// Fork makes a run of another one's frame. Nothing runs.
func (d *Desk) Fork(ctx context.Context, req ForkRequest) (*ForkMade, error) {
	from, err := d.Store.Load(ctx, req.From)
	if err != nil {
		return nil, err
	}
	fork := timeline.ForkRequest{
		From: req.From, RunID: req.RunID, Nodes: req.Nodes, NoDeps: req.NoDeps, NamedOnly: req.NamedOnly,
		Input: req.Input, Label: req.Label, Description: req.Description,
	}
	if req.Input != nil {
		if fork.CheckInput, err = keptInputCheck(from); err != nil {
			return nil, err
		}
	}
	head, err := d.Store.Fork(ctx, fork)
	return &ForkMade{head, from}, err
}

// keptInputCheck is the input check of the workflow that a frame keeps; nil if the frame keeps no workflow of ours.
func keptInputCheck(at *timeline.Loaded) (func(json.RawMessage) error, error) {
	kept, err := at.Entry.Workflow()
	if err != nil || kept == nil {
		return nil, err
	}
	wf, err := engine.Parse("workflow of "+at.Address.String(), kept.Definition)
	if err != nil {
		return nil, nil //nolint:nilerr // another engine's definition is its own to check
	}
	return wf.ValidateInput, nil
}
