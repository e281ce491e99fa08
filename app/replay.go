package app

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Resets are how a fork's state differs from that of its frame.
type Resets struct {
	Nodes     []string
	NoDeps    bool            // reset the named nodes alone
	NamedOnly bool            // make the named nodes pending as Smithers does, and change nothing else
	Input     json.RawMessage // laid over the parent's; nil: nothing
	Label     string
}

// ReplayRequest asks to fork a run at a frame, and to execute the fork.
type ReplayRequest struct {
	From     string // an address; the run may be a prefix
	Workflow string // the file; "": the definition that the frame keeps
	Resets
	RestoreVCS bool   // run on the files of the frame, in a new working copy
	To         string // where the working copy is made; "" chooses a folder
	// BringFiles says to people, in warnings, how the frame is replayed on its own files.
	BringFiles string
	Settings
}

// ReplayResult is a fork that was executed.
type ReplayResult struct {
	*Result
	Made *code.CheckedOut // the fork's own working copy; nil if it has none
}

// Replay forks a frame, fits its state to the workflow, and executes the fork. The result is nil if the fork was not made,
// or not left in order.
func (d *Desk) Replay(ctx context.Context, req ReplayRequest) (*ReplayResult, error) {
	at, wf, err := d.replayed(ctx, req)
	if err != nil {
		return nil, err
	}
	id := timeline.NewRunID()
	e := &execution{Desk: d, Settings: req.Settings, workflow: wf, ask: Agreed, file: req.Workflow}
	var made *code.CheckedOut
	if req.RestoreVCS {
		if made, err = d.checkOutFor(ctx, id, at.Address, req.To); err != nil {
			return nil, err
		}
		e.files = made.WorkingCopy
	} else {
		e.baseFiles, e.bringFiles = true, req.BringFiles
	}
	if e.head, err = d.forkForReplay(ctx, wf, at.Address, id, req); err != nil {
		return nil, errors.Join(err, discard(ctx, made))
	}
	if err := made.Settle(); err != nil {
		d.Teller.Warn(err)
	}
	d.Teller.Note(ctx, ForkedNote{id, at.Address})
	result, err := e.execute(ctx)
	if result == nil {
		return nil, err
	}
	return &ReplayResult{result, made}, err
}

// replayed finds the frame that is replayed and the workflow that runs: the file that the request names, or
// the definition that the frame keeps, once a person agreed to it.
func (d *Desk) replayed(ctx context.Context, req ReplayRequest) (*timeline.Loaded, *workflow.Workflow, error) {
	wf, err := d.Folder.namedWorkflow(ctx, req.Workflow)
	if err != nil && IsScript(req.Workflow) {
		err = explained(err).Hint("add `--engine smithers` to run a workflow that is a program")
	}
	if err != nil {
		return nil, nil, err
	}
	at, err := d.Store.Load(ctx, req.From)
	if err == nil && wf == nil {
		wf, err = frameWorkflow(at)
	}
	if err == nil && !req.RestoreVCS {
		err = d.needWorkDir(wf)
	}
	if err == nil && req.Workflow == "" {
		_, err = askConsent(d.Store, wf, req.Consent)
	}
	return at, wf, err
}

// explained returns the coded error in err.
func explained(err error) *fault.Error {
	if known, ok := errors.AsType[*fault.Error](timeline.Explain(err)); ok {
		return known
	}
	return fault.New(fault.Internal, "%w", err)
}

// frameWorkflow is the workflow that a frame keeps.
func frameWorkflow(at *timeline.Loaded) (*workflow.Workflow, error) {
	kept, err := at.Entry.Workflow()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	var wf *workflow.Workflow
	if kept != nil {
		wf, err = workflow.Parse("the workflow of "+at.Address.String(), kept.Definition)
	}
	if wf == nil || err != nil {
		return nil, fault.New(fault.Usage, "%s has no workflow of git smithers that could run again", at.Address).
			Hint("name a workflow file: `%s`", fault.CommandLine(fault.Program, "replay", "WORKFLOW", at.Address.String()))
	}
	return wf, nil
}

// forkForReplay forks a frame into the run id, fitted to the workflow.
func (d *Desk) forkForReplay(ctx context.Context, wf *workflow.Workflow, from timeline.Address, id string, req ReplayRequest) (*timeline.Head, error) {
	reset := engine.ReconcileRequest{Workflow: wf, Reset: req.Nodes, NoDeps: req.NoDeps || req.NamedOnly}
	fork := req.forkOf(from, id)
	fork.RestoreVCS = req.RestoreVCS
	fork.Prepare = func(state *snapshot.State) ([]snapshot.Change, error) { return engine.Reconcile(state, reset) }
	fork.CheckInput = wf.ValidateInput
	fork.Workflow, fork.KeepsWorkflow = wf.Snapshot(), req.Workflow == ""
	if req.Workflow != "" {
		fork.WorkflowPath = d.storedPath(req.Workflow)
	}
	return d.Store.Fork(ctx, fork)
}

// forkOf is a replay's fork of a frame into the run id.
func (r Resets) forkOf(from timeline.Address, id string) timeline.ForkRequest {
	return timeline.ForkRequest{
		From: from.String(), RunID: id, Nodes: r.Nodes, NoDeps: r.NoDeps, NamedOnly: r.NamedOnly,
		Input: r.Input, Label: r.Label, Description: "Replay from " + from.String(), Replay: true,
	}
}
