package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
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
// smithers, Fork checks the new input against the schema of this workflow. It checks edited outputs against the schemas that the frame stores. With an error,
// the result is nil. Code, besides those of timeline.Store.Fork: foreign_run if another engine's run cannot be edited.
func (d *Desk) Fork(ctx context.Context, req ForkRequest) (*ForkResult, error) {
	out := &ForkResult{}
	var check func(json.RawMessage) error
	var schemas func(table string) *schema.Schema
	fork := timeline.ForkRequest{
		From: req.From, RunID: req.RunID, Nodes: req.Nodes, NoDeps: req.NoDeps, NamedOnly: req.NamedOnly,
		Input: req.Input, Edits: req.Edits, Label: req.Label, Description: req.Description, Effects: req.Effects,
		// Store.Fork calls Found before CheckInput and CheckOutput.
		Found: func(at *timeline.LoadedEntry) (err error) {
			if out.From = at; req.Input != nil {
				check, err = keptInputCheck(at)
			}
			if err == nil && len(req.Edits) > 0 {
				schemas, err = keptSchemas(at)
			}
			return err
		},
		CheckOutput: func(n snapshot.Node, output json.RawMessage) error {
			return checkOutput(schemas(n.OutputTable), n, output)
		},
		CheckInput: func(input json.RawMessage) error {
			if check == nil {
				return nil
			}
			return check(input)
		},
	}
	head, err := d.fork(ctx, fork)
	if err != nil {
		return nil, err
	}
	out.Head = head
	return out, nil
}

// fork forks a run and notes the fork as the newest run of the working copy.
func (d *Desk) fork(ctx context.Context, req timeline.ForkRequest) (*timeline.Head, error) {
	head, err := d.Store.Fork(ctx, req)
	if err == nil {
		list.NoteHere(d.Store, head.Row().ID)
	}
	return head, err
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

// keptSchemas returns the function that returns the schema of an output table in the workflow that a frame stores, or nil if there is none. at is the frame. Code:
// foreign_run if the frame is another engine's, which has results of its own beside those of the frame.
func keptSchemas(at *timeline.LoadedEntry) (func(table string) *schema.Schema, error) {
	kept, err := at.Entry.Workflow()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if kept != nil {
		if wf, err := workflow.Stored("workflow of "+at.Address.String(), kept.Definition); err == nil {
			return wf.Schema, nil
		}
	}
	engines, err := at.Entry.ExtEngines()
	switch {
	case err != nil:
		return nil, timeline.Explain(err)
	case slices.Contains(engines, agent.EngineName):
		return nil, ofSession(at.Entry, at.Address, "its turns have no results that could be edited")
	case len(engines) > 0:
		return nil, fault.New(fault.ForeignRun, "run %q is a run of %s, which keeps the results in a form of its own", at.Address.Run, EngineName(engines[0])).
			Detail("runId", at.Address.Run).Detail("engine", engines[0]).
			Hint("change the input or reset tasks in place of results: `%s` has the flags", fault.CommandLine(fault.Program, "fork", "--help"))
	}
	return func(table string) *schema.Schema {
		if kept == nil {
			return nil
		}
		compiled, _ := schema.Compile(kept.Schemas[table], new(schema.Bounds)) // nil if there is none, or it is not one of ours
		return compiled
	}, nil
}

// checkOutput checks the edited output of a node against a schema, which may be nil. Codes: invalid_input, limit_exceeded.
func checkOutput(s *schema.Schema, n snapshot.Node, output json.RawMessage) error {
	if s == nil {
		return nil
	}
	if _, err := s.CheckOutput("outputs."+n.NodeID, output); err != nil {
		return schema.Misfit(fmt.Errorf("the edited result does not fit the schema of table %s: %w", n.OutputTable, err)).Detail("nodeId", n.NodeID).Detail("table", n.OutputTable)
	}
	return nil
}
