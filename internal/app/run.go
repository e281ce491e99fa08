package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// RunRequest asks to run a workflow.
type RunRequest struct {
	Workflow string          // the workflow file
	RunID    string          // the id of the run; "" for a generated id
	Input    json.RawMessage // nil: no input
	Settings

	scheduled bool // a schedule names the file, and not the user
}

// Run creates a run with the workflow in the file req.Workflow, and executes the run. If req.RunID is "", the run gets
// a new id. The result is not nil if the run has finished, failed, was cancelled or waits. For the last three, the
// error is run_failed, run_cancelled or run_waiting. With any other error, the result is nil.
func (d *Desk) Run(ctx context.Context, req RunRequest) (*Result, error) {
	wf, err := d.toRun(ctx, req)
	if err != nil {
		return nil, err
	}
	id := req.RunID
	if id == "" {
		id = timeline.NewRunID()
	}
	now := d.Now()
	draft, err := engine.Initial(id, wf, req.Input, now)
	if err != nil {
		return nil, err
	}
	row := snapshot.Run{ID: id, WorkflowPath: d.storedPath(req.Workflow), CreatedAtMs: now.UnixMilli()}
	head, err := d.create(ctx, wf, row, draft)
	if err != nil {
		return nil, err
	}
	d.Teller.Note(ctx, CreatedNote{id})
	e := &execution{Desk: d, Settings: req.Settings, head: head, workflow: wf, ask: Agreed, file: req.Workflow, scheduled: req.scheduled, captured: true}
	return e.execute(ctx)
}

// toRun returns the workflow in the file req.Workflow, if it can run here.
func (d *Desk) toRun(ctx context.Context, req RunRequest) (*workflow.Workflow, error) {
	wf, err := d.Folder.ReadWorkflow(ctx, req.Workflow)
	if err == nil {
		err = d.needWorkDir(wf)
	}
	if err == nil {
		err = d.needPrograms(ctx, wf)
	}
	return wf, err
}

// create creates a run and returns its tip. row is the row of the run, and draft is the content of frame 0. Frame 0
// also gets the files of the desk's working copy, if the desk has a working copy.
//
// If the workflow asks for a worktree of the run, and the desk works in a working copy, create makes the worktree
// first. Frame 0 then has the files of the worktree. If the run cannot be created, create removes the worktree again.
func (d *Desk) create(ctx context.Context, wf *workflow.Workflow, row snapshot.Run, draft snapshot.Draft) (*timeline.Head, error) {
	spec, own := wf.OwnWorktree(row.ID)
	if !own || d.Store.Workspace().Root == "" {
		return d.createOn(ctx, files.WorkingCopyOf(d.Store), row, draft)
	}
	opened, err := files.OpenFirstWorktree(ctx, d.Store, row.ID, spec)
	if err != nil {
		return nil, err
	}
	head, err := d.createOn(ctx, opened.WorkingCopy, row, draft)
	if err != nil {
		return nil, errors.Join(err, discard(ctx, opened))
	}
	if err := opened.Settle(); err != nil {
		d.Teller.Warn(err)
	}
	return head, nil
}

// createOn creates a run whose frame 0 has the files of the working copy wc, and returns the run's tip. row is the row
// of the run, and draft is the content of frame 0 without the files. If wc has no files to capture, createOn creates
// the run without files. If the capture fails, createOn warns, and also creates the run without files. If ctx has
// ended, it creates no run and returns the error of ctx.
func (d *Desk) createOn(ctx context.Context, wc *files.WorkingCopy, row snapshot.Run, draft snapshot.Draft) (*timeline.Head, error) {
	over := d.Teller.While(ReadingFiles)
	captured, err := wc.For(row.ID, callerOf(row)).Capture(ctx)
	over()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		d.Teller.Warn(fmt.Errorf("the working copy could not be captured: %w", err))
	case captured != nil:
		defer func() {
			if err := captured.Close(); err != nil {
				d.Teller.Warn(err)
			}
		}()
		draft.VCS, draft.Objects = &captured.VCS, captured.Objects
	}
	return d.Store.Create(ctx, row, draft)
}
