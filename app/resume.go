package app

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
)

// ResumeRequest asks to continue a run from its newest frame.
type ResumeRequest struct {
	Run          string              // its whole id
	Workflow     string              // the file; "" for the file that the run remembers
	AcceptChange bool                // continue although the workflow file has changed
	Force        bool                // take the run over from a process that is running it
	Input        json.RawMessage     // laid over the run's input; nil: nothing
	Restore      bool                // bring the files of the newest frame back first
	Confirm      code.ConfirmRemoval // of untracked files that Restore removes; nil: they are removed unasked
	Settings
}

// ResumeResult is a run that was continued.
type ResumeResult struct {
	*Result
	Restored []*code.Restored // the working copies whose files were brought back
}

// Resume executes the rest of a run. The result is nil unless the run has finished, failed, was cancelled or waits.
func (d *Desk) Resume(ctx context.Context, req ResumeRequest) (*ResumeResult, error) {
	head, err := OpenRun(ctx, d.Store, req.Run)
	if err == nil {
		err = refuseForeign(head)
	}
	if err != nil {
		return nil, err
	}
	file, err := d.Folder.namedWorkflow(ctx, req.Workflow)
	if err != nil {
		return nil, err
	}
	e := &execution{Desk: d, Settings: req.Settings, head: head, file: req.Workflow, acceptChange: req.AcceptChange, force: req.Force, input: req.Input}
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

// resume executes the rest of a run. file is the workflow file that the request names, as it was when the request began, or
// nil if the request names no file.
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

// OpenRun opens the tip of a run for a request that changes the run. run must be the whole id.
func OpenRun(ctx context.Context, store *timeline.Store, run string) (*timeline.Head, error) {
	id, err := store.ResolveRunToChange(ctx, run)
	if err != nil {
		return nil, err
	}
	return store.Head(ctx, id)
}
