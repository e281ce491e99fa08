package app

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/timeline"
)

// ResumeRequest asks to continue a run from its newest frame.
type ResumeRequest struct {
	Run          string               // the whole id of the run
	Workflow     string               // the workflow file; "" for the file named in the run's row
	AcceptChange bool                 // continue although the workflow file has changed
	Change       ChangeConsenter      // asked if the workflow file has changed; nil refuses
	Force        bool                 // take the run over from a process that is running it
	Input        json.RawMessage      // changes members of the run's input; nil: none
	Restore      bool                 // restore the files of the newest frame first
	Confirm      files.ConfirmRemoval // asked before Restore removes untracked files; nil: they are removed unasked
	Settings
}

// A ChangeConsenter decides whether the run with the given id continues with of.Workflow. of.Known is its own definition, whose commands were
// run or confirmed in this clone. The one who decides has seen what changed, and the lines of what is new, and so has agreed to the new commands.
type ChangeConsenter func(run string, of Commands) bool

// ResumeResult describes a run that was continued.
type ResumeResult struct {
	*Result
	Restored []*files.RestoreResult // the working copies whose files were restored
}

// Resume executes the remaining tasks of a run. If req.Restore is true, it first restores the files of the run's newest
// frame. It reads the workflow from the file req.Workflow. If req.Workflow is "", workflowOf finds the workflow.
//
// The result is not nil if the run has finished, failed, was cancelled or waits. For the last three, the error is
// run_failed, run_cancelled or run_waiting. With any other error, the result is nil. The error is foreign_run if
// another engine runs the run.
func (d *Desk) Resume(ctx context.Context, req ResumeRequest) (*ResumeResult, error) {
	head, file, err := d.toResume(ctx, req)
	if err != nil {
		return nil, err
	}
	e := &execution{Desk: d, Settings: req.Settings, head: head, file: req.Workflow, acceptChange: req.AcceptChange, change: req.Change, force: req.Force, input: req.Input}
	if req.Restore {
		if e.back, err = newFilesBack(d, head, req.Confirm); err != nil {
			return nil, err
		}
		e.back.file = d.workflowFile(head.Row(), req.Workflow)
	}
	result, err := e.resume(ctx, file)
	if result == nil {
		return nil, err
	}
	out := &ResumeResult{Result: result}
	if e.back != nil {
		out.Restored = e.back.done
	}
	return out, err
}

// toResume returns the run that req names, and its workflow file, parsed, or nil if req names none. Code: foreign_run if another engine runs the run.
func (d *Desk) toResume(ctx context.Context, req ResumeRequest) (*timeline.Head, *workflow.Workflow, error) {
	head, err := OpenRun(ctx, d.Store, req.Run)
	if err == nil {
		err = refuseForeign(head)
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := d.Folder.namedWorkflow(ctx, req.Workflow)
	return head, file.AsStored(head.Row().WorkflowHash), err
}

// resume executes the remaining tasks of the run. file is the parsed workflow file that the request names, or nil if
// the request names none. If file is nil, resume finds the workflow of the run with workflowOf, and asks e.Consent
// about the commands of this workflow. resume returns the results of execute.
func (e *execution) resume(ctx context.Context, file *workflow.Workflow) (_ *Result, err error) {
	e.workflow, e.ask = file, Agreed
	if file == nil {
		if e.workflow, err = e.workflowOf(ctx, e.head, e.acceptChange); err != nil {
			return nil, err
		}
		e.ask = e.Consent
	}
	if err := e.needWorkDir(e.workflow); err != nil {
		return nil, err
	}
	e.resumes = true
	return e.execute(ctx)
}

// OpenRun opens the tip of a run for a request that changes the run. run must be the whole id of the run. The error is
// run_not_found if no run has this id.
func OpenRun(ctx context.Context, store *timeline.Store, run string) (*timeline.Head, error) {
	id, err := store.ResolveRunToChange(ctx, run)
	if err != nil {
		return nil, err
	}
	return store.Head(ctx, id)
}
