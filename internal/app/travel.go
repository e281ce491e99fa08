package app

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Sequel describes how a run continues after it went back.
type Sequel struct {
	Workflow string // the workflow file with which the run continues; "" for its own workflow
	Resume   bool   // continue the run at once
	Settings
	// Effects is asked about effects that are stepped over; see travel.Request. With UndoEffects, the commands that undo them run once the
	// run has gone back, before it continues.
	Effects     timeline.ConfirmEffects
	UndoEffects bool
}

// stepped returns the function to ask about effects, and the list that it fills with those that are stepped over.
func (q Sequel) stepped() (timeline.ConfirmEffects, *[]snapshot.ToolCall) {
	over := new([]snapshot.ToolCall)
	if q.Effects == nil {
		return nil, over
	}
	return func(ctx context.Context, effects []snapshot.ToolCall) error {
		*over = effects
		return q.Effects(ctx, effects)
	}, over
}

// undoEffects runs the commands that undo effects which a run has gone back over. What cannot be undone is a warning.
func (d *Desk) undoEffects(ctx context.Context, run string, effects []snapshot.ToolCall) error {
	head, err := d.Store.Head(ctx, run)
	if err != nil {
		return err
	}
	opts, err := d.besideOptions(head.Entry())
	if err != nil {
		return err
	}
	return engine.UndoEffects(ctx, head, effects, opts, func(call snapshot.ToolCall, err error) {
		if err != nil {
			d.Teller.Warn(fmt.Errorf("task %s: the effect of %s was not undone: %w", call.NodeID, call.ToolName, err))
		}
	})
}

// TravelRequest asks to take a run back and, with Resume, to continue it. The desk sets the Redefinition.
type TravelRequest struct {
	travel.Request
	Sequel
}

// ResetRequest asks to reset a run to its beginning or to a frame and, with Resume, to continue it. The desk sets
// the Redefinition.
type ResetRequest struct {
	travel.ResetRequest
	Sequel
}

// TravelResult describes a run that went back.
type TravelResult struct {
	*travel.Result
	Resumed *Result // how the resumed run ended or waits; nil if it was not resumed, or did not end
}

// Travel sets a run back to an earlier state, as travel.Travel describes. With req.Resume, it then resumes the run. If
// req names a workflow file, the run is adapted to this workflow. The result is nil if the run was not set back. If the
// result is not nil, an error comes from resuming the run.
func (d *Desk) Travel(ctx context.Context, req TravelRequest) (*TravelResult, error) {
	head, file, err := d.beforeSequel(ctx, req.Run, req.Sequel)
	if err != nil {
		return nil, err
	}
	req.Redefinition = d.redefinition(head, req.Sequel, req.fit(file), !req.NoFiles && !req.NoDeps)
	over := d.Teller.While(GoingBack)
	req.Confirm = confirming(req.Confirm, over)
	ask, effects := req.stepped()
	if ask != nil {
		req.Request.Effects = func(ctx context.Context, effects []snapshot.ToolCall) error {
			over()
			return ask(ctx, effects)
		}
	}
	done, err := travel.Travel(ctx, d.Store, req.Request)
	over()
	if err == nil && req.UndoEffects {
		err = d.undoEffects(ctx, done.Run, *effects)
	}
	if err != nil {
		d.CancelCalled(ctx, head, "")
		return nil, err
	}
	d.CancelCalled(ctx, head, "")
	return d.goOn(ctx, done, file, req.Sequel)
}

// fit returns how the run is adapted to the workflow in the file that the request names; nil names none.
func (req TravelRequest) fit(file *workflow.Workflow) engine.ReconcileRequest {
	fit := engine.ReconcileRequest{Workflow: file, NoDeps: req.NoDeps}
	if req.Node != "" { // the run goes back to before an attempt of this node, so the node must run again
		fit.Reset = []string{snapshot.Key(req.Node, req.Iteration)}
	}
	return fit
}

// Reset sets a run back to its beginning or to a frame. With req.Resume, it then resumes the run. If req names a
// workflow file, the run is adapted to this workflow. The result is nil if the run was not set back. If the result is
// not nil, an error comes from resuming the run.
func (d *Desk) Reset(ctx context.Context, req ResetRequest) (*TravelResult, error) {
	head, file, err := d.beforeSequel(ctx, req.Run, req.Sequel)
	if err != nil {
		return nil, err
	}
	req.Redefinition = d.redefinition(head, req.Sequel, engine.ReconcileRequest{Workflow: file}, false)
	var effects *[]snapshot.ToolCall
	req.ResetRequest.Effects, effects = req.stepped()
	done, err := travel.Reset(ctx, d.Store, req.ResetRequest)
	if err == nil && req.UndoEffects {
		err = d.undoEffects(ctx, done.Run, *effects)
	}
	if err != nil {
		d.CancelCalled(ctx, head, "")
		return nil, err
	}
	d.CancelCalled(ctx, head, "")
	return d.goOn(ctx, done, file, req.Sequel)
}

// Undo takes back the newest operation on a run, for example a restore. If the request names no run, Undo takes back
// the newest operation in this clone. See travel.Undo for the operations that cannot be taken back, and for the codes
// of errors.
func (d *Desk) Undo(ctx context.Context, req travel.UndoRequest) (*travel.Result, error) {
	over := d.Teller.While(GoingBack)
	defer over()
	req.Confirm = confirming(req.Confirm, over)
	return travel.Undo(ctx, d.Store, req)
}

// confirming returns a function that calls over, and then returns the result of ask. over must end the progress
// display, so that ask can show a question. confirming returns nil if ask is nil.
func confirming(ask files.ConfirmRemoval, over func()) files.ConfirmRemoval {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, removals []files.Removal) error {
		over()
		return ask(ctx, removals)
	}
}

// beforeSequel returns the run that goes back, and the workflow in the file that next names, or nil if next names no file. If next names a file or
// resumes the run, beforeSequel returns foreign_run if another engine runs the run, and in any case if a coding agent does. address is
// the address of the run or of one of its frames.
func (d *Desk) beforeSequel(ctx context.Context, address string, next Sequel) (*timeline.Head, *workflow.Workflow, error) {
	file, err := d.Folder.namedWorkflow(ctx, next.Workflow)
	if err != nil {
		return nil, nil, err
	}
	at, err := d.Store.Load(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	head, err := d.Store.Head(ctx, at.Address.Run)
	if err != nil {
		return nil, nil, err
	}
	if !next.Resume && next.Workflow == "" {
		return head, nil, RefuseSession(head, "its conversation does not go back with the run; `session replay` puts the files of a frame back")
	}
	return head, file.AsStored(head.Row().WorkflowHash), refuseForeign(head)
}

// redefinition returns how the run of head changes while it is set back. There are two cases:
//   - fit.Workflow is not nil. It must be the workflow in the file next.Workflow. The run is adapted to this workflow
//     as fit says. The file itself is not restored.
//   - fit.Workflow is nil. The run keeps its workflow. If next resumes the run, the user is asked for consent to the
//     commands of this workflow.
//
// If next resumes the run, the user is also asked for consent to its files. restores says that the working copy gets files of the run.
func (d *Desk) redefinition(head *timeline.Head, next Sequel, fit engine.ReconcileRequest, restores bool) travel.Redefinition {
	out := travel.Redefinition{Agree: d.agreeToSequel(head, next, fit.Workflow, restores)}
	if fit.Workflow == nil {
		return out
	}
	out.Workflow, out.WorkflowPath, out.File = fit.Workflow.Snapshot(), d.storedPath(next.Workflow), d.Folder.Path(next.Workflow)
	out.Prepare = func(state *snapshot.State, reveal snapshot.Reveal) ([]snapshot.Change, error) {
		return engine.Reconcile(state, reveal, fit)
	}
	return out
}

// agreeToSequel returns the function that asks for consent to the workflow stored in a run, unless the user has named the workflow file, and to
// the files of the run. The function allows a workflow that it cannot parse. agreeToSequel returns nil if next does not resume the run.
func (d *Desk) agreeToSequel(head *timeline.Head, next Sequel, named *workflow.Workflow, restores bool) func(*snapshot.Workflow) error {
	if !next.Resume {
		return nil
	}
	files := &filesCheck{Desk: d, FilesTrust: next.FilesTrust, entry: head.Entry(), brought: restores}
	return func(kept *snapshot.Workflow) error {
		wf := named
		if wf == nil {
			var err error
			if wf, err = workflow.Stored("the run's workflow", kept.Definition); err != nil {
				return nil //nolint:nilerr // resume reports the error and runs nothing
			}
		}
		own, err := d.brings(head, wf)
		if err != nil {
			return err
		}
		files.brought = restores || own
		return files.agree(wf, named != nil, next.Consent)
	}
}

// goOn resumes the run that was set back, if next asks for it. done describes how the run was set back. file is the
// workflow in the file that next names, or nil. The result is never nil, even with an error. Its Resumed is the result
// of execution.resume: nil if next does not resume the run, or if the error is not run_failed, run_cancelled or
// run_waiting.
func (d *Desk) goOn(ctx context.Context, done *travel.Result, file *workflow.Workflow, next Sequel) (*TravelResult, error) {
	out := &TravelResult{Result: done}
	if !next.Resume {
		return out, nil
	}
	d.Teller.Note(ctx, WentBackNote{done})
	head, err := d.Store.Head(ctx, done.Run)
	if err != nil {
		return out, err
	}
	e := &execution{Desk: d, Settings: next.Settings, head: head, file: next.Workflow}
	out.Resumed, err = e.resume(ctx, file)
	return out, err
}
