package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/thrown"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/claim"
	"github.com/git-smithers/git-smithers/timeline/consent"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// SuperviseRequest asks to find runs that no process executes, and to execute them.
type SuperviseRequest struct {
	Runs     []string      // whole ids; none: all runs that were executed in this repository on this machine
	Once     bool          // look once, and return when every resumed run has ended or waits
	Interval time.Duration // the longest time between two searches for runs; a due timer starts a search earlier
	MaxRuns  int           // how many runs are executed at once
	// Report is called for each run that was resumed, ended or left, from one goroutine. Its error ends the
	// supervision.
	Report func(SupervisorReport) error
	Settings
}

// SupervisorReport describes one action of a supervisor on a run.
type SupervisorReport struct {
	Action SupervisorAction
	Run    string
	Status snapshot.RunStatus
	Frame  int64
	Err    error // why the run was left or stopped; nil otherwise
	Failed error // why a run that has ended failed; nil if it did not fail
}

// A SupervisorAction is the kind of an action of a supervisor on a run.
type SupervisorAction string

// The actions of a supervisor.
const (
	RunResumed SupervisorAction = "resumed" // the supervisor continues the run
	RunEnded   SupervisorAction = "ended"   // the run has ended, or waits: see its status
	RunLeft    SupervisorAction = "left"    // the run was not resumed
	RunStopped SupervisorAction = "stopped" // an error stopped the run, which can be resumed
)

// Supervise resumes runs whose process died and runs that no longer have to wait. With Once, it looks for such runs
// once, and returns nil after the resumed runs have ended or wait. Otherwise it continues until an error ends it.
//
// The error is that of ctx after ctx has ended, that of Report, a panic of a run, or an error of the search for runs.
// It is run_not_found if one of req.Runs does not exist. Before Supervise returns, it stops the runs that it still
// executes; they can be resumed.
func (d *Desk) Supervise(ctx context.Context, req SuperviseRequest) error {
	for i, run := range req.Runs {
		id, err := d.Store.ResolveRunToChange(ctx, run)
		if err != nil {
			return err
		}
		req.Runs[i] = id
	}
	return newSupervisor(d, req).supervise(ctx)
}

// A supervisor finds runs that no process executes, and executes them. One goroutine looks for runs and reports;
// each run is executed by its own goroutine.
type supervisor struct {
	*Desk
	req SuperviseRequest

	running map[string]bool      // the ids of the runs that are being executed
	ended   chan executionEnd    // has room for all runs that are being executed
	quit    chan struct{}        // closed to stop these runs in a state that can be resumed
	pauses  map[string]pausedRun // by run id: the pauses of runs that could not be executed
	due     time.Time            // when the next known timer is due; zero: no timer
}

// executionEnd describes how the execution of a run ended.
type executionEnd struct {
	row   snapshot.Run
	err   error
	taken bool // another process took the run over
}

// pausedRun is the pause after a run could not be executed. The supervisor does not try again at once, because
// every try writes entries.
type pausedRun struct {
	length time.Duration
	until  time.Time
}

// maxPause is the longest pause before the supervisor tries a run again.
const maxPause = time.Hour

// newSupervisor returns a supervisor for req that executes no run yet. The runs in req.Runs must exist.
func newSupervisor(d *Desk, req SuperviseRequest) *supervisor {
	return &supervisor{
		Desk: d, req: req,
		running: make(map[string]bool), ended: make(chan executionEnd, req.MaxRuns), quit: make(chan struct{}),
		pauses: make(map[string]pausedRun),
	}
}

// supervise looks for runs until ctx ends or an error occurs. With Once, it looks one time, and waits until the resumed
// runs have ended. When it returns, no run is being executed.
func (v *supervisor) supervise(ctx context.Context) error {
	err := v.look(ctx)
	for err == nil && !v.req.Once {
		if err = v.sleep(ctx); err == nil {
			err = v.look(ctx)
		}
	}
	if err == nil { // with Once: wait until the resumed runs have ended
		err = v.await(ctx, 0)
	}
	close(v.quit)
	return errors.Join(err, v.await(context.WithoutCancel(ctx), 0))
}

// look resumes the runs that can be resumed, except those in a pause after a failed try. If MaxRuns runs are being
// executed, look waits until one of them ends. It also clears v.due, which ready then sets for the waiting runs.
func (v *supervisor) look(ctx context.Context) error {
	v.due = time.Time{}
	runs, err := claim.FindUnattended(ctx, v.Store, v.req.Runs...)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if v.running[run.Run] || v.Now().Before(v.pauses[run.Run].until) {
			continue
		}
		if err := v.await(ctx, v.req.MaxRuns-1); err != nil {
			return err
		}
		if err := v.try(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// await waits until at most limit runs are being executed, and settles each run that ends. It returns the error of ctx
// or of settle.
func (v *supervisor) await(ctx context.Context, limit int) error {
	for len(v.running) > limit {
		select {
		case end := <-v.ended:
			if err := v.settle(end); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// sleep waits until it is time to look for runs again, or until one run has ended. It settles this run. It returns the
// error of ctx or of settle.
func (v *supervisor) sleep(ctx context.Context) error {
	length := v.req.Interval
	if !v.due.IsZero() {
		length = max(0, min(length, v.due.Sub(v.Now())))
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case end := <-v.ended:
		return v.settle(end)
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle reports how the execution of a run ended, and removes the run from v.running. If an error stopped the run, and
// no other process has taken it over, settle begins or doubles the pause of the run, unless the supervisor is stopping.
// It returns the panic of an execution without a report; any other error is that of Report.
func (v *supervisor) settle(end executionEnd) error {
	run := claim.Unattended{Run: end.row.ID, Status: end.row.Status}
	delete(v.running, run.Run)
	if _, ok := errors.AsType[*thrown.Error](end.err); ok {
		return end.err
	}
	code := fault.CodeOf(end.err)
	if end.err == nil || code == fault.RunFailed || code == fault.RunCancelled || code == fault.RunWaiting {
		delete(v.pauses, run.Run)
		out := SupervisorReport{Action: RunEnded, Run: run.Run, Status: run.Status, Frame: end.row.Frame}
		if code == fault.RunFailed {
			out.Failed = end.err
		}
		return v.req.Report(out)
	}
	if !end.taken && !v.stopping() {
		length := min(max(v.req.Interval, 2*v.pauses[run.Run].length), maxPause)
		v.pauses[run.Run] = pausedRun{length, v.Now().Add(length)}
	}
	return v.report(RunStopped, run, end.row.Frame, end.err)
}

// report calls Report with an action on a run whose newest frame is frame. cause is the reason for leaving or stopping
// the run, or nil.
func (v *supervisor) report(action SupervisorAction, run claim.Unattended, frame int64, cause error) error {
	return v.req.Report(SupervisorReport{Action: action, Run: run.Run, Status: run.Status, Frame: frame, Err: cause})
}

// stopping reports whether the supervisor is stopping its runs.
func (v *supervisor) stopping() bool {
	select {
	case <-v.quit:
		return true
	default:
		return false
	}
}

// try resumes a run if it can be resumed, and reports that the run was resumed. Otherwise it reports the reason, as
// leave does. If another process moves the run's tip meanwhile, try begins again, at most maxClaims times.
func (v *supervisor) try(ctx context.Context, run claim.Unattended) error {
	var err error
	for range maxClaims {
		if err = v.tryOnce(ctx, run); fault.CodeOf(err) != fault.Conflict {
			return err
		}
	}
	return v.leave(ctx, run, 0, err)
}

// tryOnce does the same as try, but only once: it returns conflict if another process has moved the run's tip, for
// example with a signal. It reports nothing for a run that has ended since it was found.
func (v *supervisor) tryOnce(ctx context.Context, run claim.Unattended) error {
	head, err := v.Store.Head(ctx, run.Run)
	if err != nil {
		return v.leave(ctx, run, 0, err)
	}
	row := head.Row()
	run.Status = row.Status
	if row.Status != snapshot.RunRunning && !row.Status.Waiting() {
		return nil // the run has ended since it was found
	}
	if err := refuseForeign(head); err != nil {
		return v.leave(ctx, run, row.Frame, err)
	}
	if row.Status.Waiting() {
		ready, err := v.ready(head)
		if err != nil || !ready {
			return v.leave(ctx, run, row.Frame, err)
		}
	}
	opts, err := (&execution{Desk: v.Desk, Settings: v.req.Settings, head: head}).options()
	var agreed consent.Workflow
	if err == nil {
		agreed, err = v.workflow(ctx, head, opts)
	}
	if err != nil {
		return v.leave(ctx, run, row.Frame, err)
	}
	held, err := claim.Take(ctx, head, claim.Request{})
	if fault.CodeOf(err) == fault.Conflict {
		return err
	}
	if err != nil {
		return v.leave(ctx, run, row.Frame, err)
	}
	v.running[run.Run] = true
	go func() { v.ended <- v.execute(ctx, head, held, agreed, opts) }()
	return v.report(RunResumed, run, row.Frame, nil)
}

// leave reports the reason why a run is not resumed, which is cause. It reports nothing if cause is nil, or if the run
// waits, is gone, belongs to another process, or was changed by one. It returns only the error of ctx or of Report.
func (v *supervisor) leave(ctx context.Context, run claim.Unattended, frame int64, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if cause == nil {
		return nil
	}
	quiet := []fault.Code{fault.RunWaiting, fault.RunOwned, fault.Conflict, fault.RunNotFound}
	if slices.Contains(quiet, fault.CodeOf(cause)) {
		return nil
	}
	return v.report(RunLeft, run, frame, cause)
}

// ready reports whether one of a run's waits is over. It also sets v.due to the time of the run's next timer, unless
// another run's timer is due earlier.
func (v *supervisor) ready(head *timeline.Head) (bool, error) {
	now := v.Now()
	waits, err := mailbox.WaitsOf(head, now)
	for _, w := range waits {
		if w.DueAtMs == nil {
			continue
		}
		if at := time.UnixMilli(*w.DueAtMs); at.After(now) && (v.due.IsZero() || at.Before(v.due)) {
			v.due = at
		}
	}
	return slices.ContainsFunc(waits, func(w mailbox.Waiting) bool { return w.Ready }), err
}

// workflow returns the workflow with which a run continues, with the consent to run its commands. A supervisor has no
// person to ask. The error is therefore workflow_changed if the workflow file differs from the workflow stored in the
// run, and unconfirmed if the commands were never run or confirmed in this clone.
func (v *supervisor) workflow(ctx context.Context, head *timeline.Head, opts engine.Options) (consent.Workflow, error) {
	wf, err := v.definition(ctx, head)
	if err != nil {
		return consent.Workflow{}, err
	}
	if _, err := engine.Check(head, wf, opts); err != nil {
		return consent.Workflow{}, err
	}
	if err := v.needWorkDir(wf); err != nil {
		return consent.Workflow{}, err
	}
	return agree(v.Store, head, wf, nil, opts)
}

// definition reads the workflow file that the run's row names. If the row names none, definition returns the workflow
// stored in the run. If the run stores none, or if the row's path leads out of the working copy, the error is that of
// noWorkflow.
func (v *supervisor) definition(ctx context.Context, head *timeline.Head) (*workflow.Workflow, error) {
	file, err := v.rememberedPath(head.Row())
	if err == nil {
		return v.Folder.ReadWorkflow(ctx, file)
	}
	if kept, keptErr := KeptWorkflow(head); head.Row().WorkflowPath == "" && (kept != nil || keptErr != nil) {
		return kept, keptErr
	}
	return nil, noWorkflow(head, err)
}

// execute runs the rest of a claimed run, releases the claim, and returns how the execution ended. agreed is the
// workflow to run, with the consent. The end of ctx does not stop the run; the closing of v.quit does, and then the
// error is interrupted. A panic of the execution is returned as the error.
func (v *supervisor) execute(ctx context.Context, head *timeline.Head, held *claim.Claim,
	agreed consent.Workflow, opts engine.Options,
) executionEnd {
	run := head.Row().ID
	over, lost := make(chan struct{}), make(chan struct{})
	go func() {
		select {
		case <-held.Lost():
		case <-v.quit: // as if another process had taken the run over: nothing is recorded
		case <-over:
			return
		}
		close(lost)
	}()
	opts.Lost = lost
	// The end of ctx would leave the run cancelled, and no supervisor would resume it.
	ctx = context.WithoutCancel(ctx)
	opts.Progress = func(p engine.Progress) { v.Teller.Note(ctx, FrameNote{run, p}) }
	opts.Warn = func(err error) { v.Teller.Warn(fmt.Errorf("run %s: %w", run, err)) }
	err := thrown.Catch(func() error {
		_, err := engine.Run(ctx, head, agreed, opts)
		return err
	})
	close(over)
	taken := false
	select {
	case <-held.Lost():
		taken = true
	default:
	}
	if released := held.Release(ctx); released != nil {
		v.Teller.Warn(fmt.Errorf("the claim on run %s could not be released: %w", run, released))
	}
	if v.stopping() && fault.CodeOf(err) == fault.Conflict && !taken {
		err = fault.New(fault.Interrupted, "the supervisor was stopped")
	}
	return executionEnd{head.Row(), err, taken}
}
