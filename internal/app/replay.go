package app

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	runsummary "github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Resets has the changes that turn the state of a frame into the state of its fork.
type Resets struct {
	Nodes     []string        // the nodes to reset, with the nodes that need them
	NoDeps    bool            // reset only Nodes
	NamedOnly bool            // make Nodes pending as Smithers does, and change nothing else
	Input     json.RawMessage // changes members of the parent's input; nil: none
	Edits     []timeline.Edit // change results of finished tasks; what needs these tasks is reset
	Label     string
	Effects   timeline.ConfirmEffects // see timeline.ForkRequest
}

// ReplayRequest asks to fork a run at a frame, and to execute the fork.
type ReplayRequest struct {
	From     string // an address; the run may be a prefix
	RunID    string // the id of the fork; "" for a generated id
	Workflow string // the workflow file; "" for the workflow stored in the frame
	Resets
	RestoreVCS bool   // run on the files of the frame, in a new working copy
	To         string // the folder of the new working copy; "" for a default folder
	// BringFiles tells people, in warnings, how to replay the frame on its own files.
	BringFiles string
	Settings
}

// ReplayResult describes a fork that was executed.
type ReplayResult struct {
	*Result
	Made *files.CheckoutResult // the fork's own working copy; nil if the fork has no own working copy
}

// Replay forks a frame, adapts the state of the fork to the workflow, and executes the fork. If req.RestoreVCS is true,
// Replay first makes a new working copy with the files of the frame, and the fork runs in it. If the fork cannot be
// made, Replay removes this working copy again.
//
// The result is not nil if the fork has finished, failed, was cancelled or waits. For the last three, the error is
// run_failed, run_cancelled or run_waiting. With any other error, the result is nil.
func (d *Desk) Replay(ctx context.Context, req ReplayRequest) (*ReplayResult, error) {
	id, err := newID(ctx, d.Store, req.RunID)
	if err != nil {
		return nil, err
	}
	at, wf, err := d.replayed(ctx, req)
	if err != nil {
		return nil, err
	}
	e := &execution{Desk: d, Settings: req.Settings, workflow: wf, ask: Agreed, file: req.Workflow}
	var made *files.CheckoutResult
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
	if err := made.Settle(); err != nil { // made may be nil; Settle then does nothing
		d.Teller.Warn(err)
	}
	d.Teller.Note(ctx, ForkedNote{id, at.Address})
	result, err := e.execute(ctx)
	if result == nil {
		return nil, err
	}
	return &ReplayResult{result, made}, err
}

// newID returns the id for a new run: id or, if id is "", a generated one. The error is that of timeline.CheckFree, so that nothing is made for a
// run that cannot be created.
func newID(ctx context.Context, s *timeline.Store, id string) (string, error) {
	if id == "" {
		return timeline.NewRunID(), nil
	}
	return id, timeline.CheckFree(ctx, s, id)
}

// replayed returns the frame to replay and the workflow to run. If req names a workflow file, replayed reads the
// workflow from this file. Otherwise it takes the workflow stored in the frame. It returns an error if the user does
// not consent, see filesCheck.agree.
//
// The error is no_working_copy if tasks would run inside git's own folder, see needWorkDir. With an error, the caller
// must not use the other results.
func (d *Desk) replayed(ctx context.Context, req ReplayRequest) (*timeline.LoadedEntry, *workflow.Workflow, error) {
	at, wf, err := d.toReplay(ctx, req)
	if err == nil {
		files := &filesCheck{Desk: d, FilesTrust: req.FilesTrust, entry: at.Entry, brought: req.RestoreVCS}
		err = files.agree(wf, req.Workflow != "", req.Consent)
	}
	return at, wf, err
}

// toReplay is replayed without the question.
func (d *Desk) toReplay(ctx context.Context, req ReplayRequest) (*timeline.LoadedEntry, *workflow.Workflow, error) {
	wf, err := d.Folder.namedWorkflow(ctx, req.Workflow)
	if err != nil && IsScript(req.Workflow) {
		err = explained(err).Hint("add `--engine smithers` to run a workflow that is a program")
	}
	if err != nil {
		return nil, nil, err
	}
	at, err := d.Store.Load(ctx, req.From)
	switch {
	case err != nil:
	case wf == nil:
		wf, err = frameWorkflow(at)
	default:
		var row snapshot.Run
		row, err = at.Entry.RunRow()
		wf = wf.AsStored(row.WorkflowHash)
	}
	if err == nil && wf.IsCourses() {
		err = notReplayed(at.Address.Run)
	}
	if err == nil && !req.RestoreVCS {
		err = d.needWorkDir(wf)
	}
	return at, wf, err
}

// notReplayed returns the error for a fork of a group of courses: its agents would go on in the folders and with the sessions of the courses that are there.
func notReplayed(group string) error {
	return fault.New(fault.InvalidInput, "%q is a group of courses, and a fork of it has no courses of its own; nothing was run", group).
		Hint("`%s` goes on with those that have not ended", fault.CommandLine(fault.Program, "resume", group)).
		Hint("`%s` makes new courses", fault.CommandLine(fault.Program+" session", "what-if", "SESSION:turn:N", "PROMPT", "--times", "3"))
}

// explained returns the result of timeline.Explain for err, as a *fault.Error. If this result has another type,
// explained returns an internal error that wraps err.
func explained(err error) *fault.Error {
	if known, ok := errors.AsType[*fault.Error](timeline.Explain(err)); ok {
		return known
	}
	return fault.New(fault.Internal, "%w", err)
}

// frameWorkflow returns the workflow stored in a frame. The error is usage if the frame stores no workflow of git
// smithers.
func frameWorkflow(at *timeline.LoadedEntry) (*workflow.Workflow, error) {
	kept, err := at.Entry.Workflow()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	var wf *workflow.Workflow
	if kept != nil {
		wf, err = workflow.Stored("the workflow of "+at.Address.String(), kept.Definition)
	}
	var engines []string
	if wf == nil && err == nil {
		engines, _ = at.Entry.ExtEngines() // only for the hints
	}
	if slices.Contains(engines, agent.EngineName) {
		return nil, ofSession(at.Entry, at.Address, "it has no workflow that could run again")
	}
	if wf == nil || err != nil {
		refused := fault.New(fault.Usage, "%s has no workflow of git smithers that could run again", at.Address)
		if slices.Contains(engines, langgraph.EngineName) {
			refused = refused.Hint("`%s` makes a thread that LangGraph continues from there", fault.CommandLine(fault.Program, "fork", at.Address.String()))
		}
		return nil, refused.Hint("name a workflow file: `%s`", fault.CommandLine(fault.Program, "replay", "WORKFLOW", at.Address.String()))
	}
	return wf, nil
}

// forkForReplay forks the frame at the address from into a run with the given id, and returns the tip of the fork. It
// adapts the state of the fork to the workflow wf, and stores wf in the fork. req has the tasks to reset and the
// input of the fork.
func (d *Desk) forkForReplay(ctx context.Context, wf *workflow.Workflow, from timeline.Address, id string, req ReplayRequest) (*timeline.Head, error) {
	return d.fork(ctx, d.replayFork(wf, from, id, req))
}

// replayFork returns the request of forkForReplay.
func (d *Desk) replayFork(wf *workflow.Workflow, from timeline.Address, id string, req ReplayRequest) timeline.ForkRequest {
	reset := engine.ReconcileRequest{Workflow: wf, Reset: req.Nodes, NoDeps: req.NoDeps || req.NamedOnly}
	fork := req.forkOf(from, id)
	fork.RestoreVCS = req.RestoreVCS
	fork.Prepare = func(state *snapshot.State, reveal snapshot.Reveal) ([]snapshot.Change, error) {
		return engine.Reconcile(state, reveal, reset)
	}
	fork.CheckInput = wf.ValidateInput
	fork.CheckOutput = func(n snapshot.Node, output json.RawMessage) error {
		return checkOutput(wf.Schema(n.OutputTable), n, output)
	}
	fork.Workflow, fork.KeepsWorkflow = wf.Snapshot(), req.Workflow == ""
	if req.Workflow != "" {
		fork.WorkflowPath = d.storedPath(req.Workflow)
	}
	return fork
}

// forkOf returns the request to fork the frame at the address from for a replay. The request has the id for the fork,
// and the changes in r: the reset tasks, the input and the label.
func (r Resets) forkOf(from timeline.Address, id string) timeline.ForkRequest {
	return timeline.ForkRequest{
		From: from.String(), RunID: id, Nodes: r.Nodes, NoDeps: r.NoDeps, NamedOnly: r.NamedOnly,
		Input: r.Input, Edits: r.Edits, Label: r.Label, Effects: r.Effects, Description: "Replay from " + from.String(), Replay: true,
	}
}

// hintAtReplay adds to the error run_failed the hint with the command that retries the failed tasks in a fork. It adds none after a
// denied approval, which a replay would only ask for again. file is the path of the workflow file, or "" if only the run has the
// workflow. Other errors are returned unchanged.
func (e *execution) hintAtReplay(err error, file string) error {
	failed, ok := errors.AsType[*fault.Error](err)
	if !ok || fault.CodeOf(err) != fault.RunFailed {
		return err
	}
	retry, readErr := runsummary.RetryOf(e.Store, e.head.Entry())
	if readErr != nil {
		e.Teller.Warn(readErr) // the run itself is told
	}
	if retry == nil || retry.Denied || e.workflow.IsCourses() {
		return err
	}
	args := []string{"replay"}
	how := "--input changes the run's input"
	if file != "" {
		args = append(args, file)
		how = "the workflow may be repaired, and --input changes the run's input"
	}
	command := fault.CommandLine(fault.Program, append(args, retry.Arguments(e.head.Row().ID)...)...)
	failed = failed.Hint("`%s` %s in a fork; %s", command, retry.Does(), how)
	if len(retry.Calls) > 0 {
		failed = failed.Hint("`%s` goes on in the called run, and keeps what succeeded there", fault.CommandLine(fault.Program, "resume", e.head.Row().ID))
	}
	return failed
}
