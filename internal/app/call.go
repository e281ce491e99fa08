package app

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// call makes or continues the run that a task of e's run calls: see engine.Options.Call. The called run works on the files of the task.
func (e *execution) call(ctx context.Context, c engine.Call) (engine.Called, error) {
	child := &execution{Desk: e.Desk, Settings: e.Settings, workflow: c.Workflow, ask: Agreed, span: c.TraceParent}
	child.AskFiles = nil // nobody is asked while tasks run
	var plan *workflow.SweepPlan
	var err error
	if e.sweep != nil {
		plan = e.sweep.plan
		child.apart, err = e.worksApart(ctx, c.Caller.RunID, plan)
	}
	if err == nil {
		err = child.openCalled(ctx, c, plan)
	}
	if err == nil && (plan == nil || plan.From == "" && !child.apart) { // a variant with files of its own is asked about by itself
		err = child.trustAs(ctx, c.Caller.RunID)
	}
	if err != nil {
		return engine.Called{}, err
	}
	err = child.continueCalled(ctx, c)
	out := engine.Called{Status: child.head.Row().Status}
	switch code := fault.CodeOf(err); {
	case err == nil:
	case code == fault.RunWaiting:
		out.Waits, out.Hints = waitsOf(err, c.RunID)
		return out, nil
	case code == fault.RunOwned:
		return engine.Called{Waits: "the process that executes it", Status: snapshot.RunWaitingEvent}, nil
	case code == fault.RunFailed:
		out.Trouble = reasonOf(err, c.RunID)
		return out, nil
	case code == fault.RunCancelled:
		return out, nil
	default:
		return out, err
	}
	if out.Status != snapshot.RunFinished {
		return out, nil
	}
	out.Output, err = engine.Output(child.head, c.Workflow)
	return out, err
}

// openCalled sets e.head and e.files: it makes the called run, or opens the run that an earlier attempt of the task has made. If the id belongs to
// another run, the error is run_exists. plan is that of the sweep that calls the run, or nil.
func (e *execution) openCalled(ctx context.Context, c engine.Call, plan *workflow.SweepPlan) (err error) {
	switch root := rootOf(c.Files); {
	case e.apart: // the engine opens the worktree
	case root != "" && root != e.Store.Workspace().Root:
		e.files, err = files.WorkingCopyAt(ctx, e.Store, root)
	default:
		e.files = files.WorkingCopyOf(e.Store)
	}
	if err != nil {
		return err
	}
	e.head, err = e.Store.Head(ctx, c.RunID)
	if fault.CodeOf(err) == fault.RunNotFound {
		if plan != nil {
			return e.createVariant(ctx, c, plan)
		}
		e.captured = true
		return e.createCalled(ctx, c)
	}
	if err != nil {
		return err
	}
	by := e.head.Row().Caller
	if by == nil || by.RunID != c.Caller.RunID || by.NodeID != c.Caller.NodeID || by.Iteration != c.Caller.Iteration {
		return fault.New(fault.RunExists, "there is another run %s", c.RunID)
	}
	return nil
}

// trustAs notes that the user agreed to the files of the called run if they agreed to those of its caller, on whose files it works.
func (e *execution) trustAs(ctx context.Context, caller string) error {
	head, err := e.Store.Head(ctx, caller)
	if err != nil {
		return err
	}
	origin, err := e.Store.Origin(head.Entry())
	if err != nil || origin != timeline.Agreed {
		return err
	}
	return e.Store.Agree(e.head.Entry())
}

// createCalled makes the called run.
func (e *execution) createCalled(ctx context.Context, c engine.Call) error {
	now := e.Now()
	draft, err := engine.Initial(c.RunID, c.Workflow, c.Input, now)
	if err != nil {
		return err
	}
	row := snapshot.Run{ID: c.RunID, CreatedAtMs: now.UnixMilli(), Caller: &c.Caller}
	if _, own := c.Workflow.OwnWorktree(row.ID); own {
		e.head, err = e.create(ctx, c.Workflow, row, draft)
	} else {
		e.head, err = e.createOn(ctx, e.files, row, draft)
	}
	return err
}

// continueCalled claims the called run and runs its remaining tasks. It does nothing if the run has finished.
func (e *execution) continueCalled(ctx context.Context, c engine.Call) error {
	opts, err := e.options()
	if err != nil {
		return err
	}
	left, err := engine.Check(e.head, c.Workflow, opts)
	if err != nil || !left {
		return err
	}
	agreed, err := e.agree(e.head, c.Workflow, c.Named, Agreed, e.Settings, e.apart, opts)
	if err != nil {
		return err
	}
	if !c.Named {
		agreed = agreed.Unnamed() // its files are those of the caller
	}
	held, err := claim.ToExecute(ctx, e.head, claim.Request{})
	if err != nil {
		return err
	}
	var over func()
	opts.Lost, over = either(held.Lost(), c.Lost)
	defer over()
	e.confined = opts.SandboxRequired && !agreed.Named()
	_, err = engine.Run(ctx, e.head, agreed, opts)
	if released := held.Release(context.WithoutCancel(ctx)); released != nil {
		e.Teller.Warn(released)
	}
	e.Notify(ctx, e.head)
	return err
}

// either returns a channel that is closed when a or b is, and a function that ends the waiting for that.
func either(a, b <-chan struct{}) (<-chan struct{}, func()) {
	out, over := make(chan struct{}), make(chan struct{})
	go func() {
		select {
		case <-a:
		case <-b:
		case <-over:
			return
		}
		close(out)
	}()
	return out, func() { close(over) }
}

// rootOf returns the folder of a working copy; "" if there is none.
func rootOf(files engine.WorkingCopy) string {
	if files == nil {
		return ""
	}
	return files.Root()
}

// waitsOf returns what a run waits for, in words, and the hints at how people end these waits. err is the run_waiting error of the run.
func waitsOf(err error, run string) (waits string, hints []string) {
	waits = strings.TrimPrefix(err.Error(), "run "+run+" waits for ")
	if known, ok := err.(*fault.Error); ok && len(known.Hints) > 0 { //nolint:errorlint // the error itself, which the engine has made
		hints = known.Hints[:len(known.Hints)-1] // without how to resume the run, because the caller's resume does
	}
	return waits, hints
}

// reasonOf returns the reason of a run_failed error.
func reasonOf(err error, run string) error {
	return reasonError(strings.TrimPrefix(err.Error(), "run "+run+" failed: "))
}

type reasonError string

func (r reasonError) Error() string { return string(r) }

// CalledBy returns the run that has called a run, if it is still under way: then it continues the called run. It returns nil otherwise.
func CalledBy(ctx context.Context, store *timeline.Store, row snapshot.Run) (*timeline.Head, error) {
	if row.Caller == nil {
		return nil, nil //nolint:nilnil // no run has called it
	}
	caller, err := store.Head(ctx, row.Caller.RunID)
	if fault.CodeOf(err) == fault.RunNotFound {
		return nil, nil //nolint:nilnil // it is gone
	}
	if err != nil {
		return nil, err
	}
	if status := caller.Row().Status; status != snapshot.RunRunning && !status.Waiting() {
		return nil, nil //nolint:nilnil // it has ended
	}
	return caller, nil
}
