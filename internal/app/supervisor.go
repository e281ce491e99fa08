package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/thrown"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
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
	// Schedule is the id of a schedule of ScheduleFired and ScheduleLeft; the latter has no run.
	Schedule string
	Run      string
	Status   snapshot.RunStatus
	Frame    int64
	Err      error // why the run was left or stopped; nil otherwise
	Failed   error // why a run that has ended failed; nil if it did not fail
}

// A SupervisorAction is the kind of an action of a supervisor on a run.
type SupervisorAction string

// The actions of a supervisor.
const (
	RunResumed SupervisorAction = "resumed" // the supervisor continues the run
	RunEnded   SupervisorAction = "ended"   // the run has ended, or waits: see its status
	RunLeft    SupervisorAction = "left"    // the run was not resumed
	RunStopped SupervisorAction = "stopped" // an error stopped the run, which can be resumed

	ScheduleFired SupervisorAction = "fired"   // the time of a schedule has come, and its run has begun
	ScheduleLeft  SupervisorAction = "skipped" // the time of a schedule has come, and no run has begun
)

// Supervise resumes two kinds of runs: runs whose process died, and runs whose wait is over. With req.Once, it looks
// for such runs one time, and returns nil after every resumed run has ended or waits. Otherwise it looks for such runs
// again and again, until ctx ends or an error occurs. Without req.Runs, it also starts the runs of the schedules whose time has come.
//
// Supervise returns run_not_found if one of req.Runs does not exist. Otherwise its error is the error of ctx, an error
// of req.Report, an error of the search for runs, or the panic of a run. Before Supervise returns, it stops the runs
// that it still executes. These runs can be resumed later.
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

	running map[string]bool   // the ids of the runs that are being executed
	ended   chan executionEnd // has room for all runs that are being executed
	// scheduled has the schedules of the runs that were started for one, by the ids of the runs.
	scheduled map[string]string
	quit      chan struct{}        // closed to stop these runs in a state that can be resumed
	pauses    map[string]pausedRun // by run id: the pauses of runs that could not be executed
	due       time.Time            // when the next known timer is due; zero: no timer
	sent      time.Time            // when traces that wait were last handed to the collector
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
		pauses: make(map[string]pausedRun), scheduled: make(map[string]string),
	}
}

// supervise looks for runs and resumes them, again and again, until ctx ends or an error occurs. With v.req.Once, it
// looks one time, and returns nil after the resumed runs have ended or wait. When supervise returns, this process
// executes no run.
func (v *supervisor) supervise(ctx context.Context) error {
	err := v.tellSkipped(ctx)
	if err == nil {
		err = v.look(ctx)
	}
	for err == nil && !v.req.Once {
		if err = v.sleep(ctx); err == nil {
			err = v.look(ctx)
		}
	}
	if err == nil { // with Once: wait until the resumed runs have ended
		err = v.await(ctx, 0)
	}
	// Stop the runs that are still being executed, and wait until they have ended.
	close(v.quit)
	return errors.Join(err, v.await(context.WithoutCancel(ctx), 0))
}

// look searches for runs that can be resumed, and resumes them with try. Then it hands over the traces that wait, and fires schedules. It skips the runs that this process executes
// already, and the runs that are in a pause after a failed attempt. If this process already executes MaxRuns runs, look
// waits until one of them ends.
//
// look first clears v.due, the time at which the next timer of a waiting run is over. try sets v.due again.
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
	v.sendWaiting()
	return v.fire(ctx)
}

// await waits until at most limit runs are being executed, and settles each run that ends. It returns the error of ctx
// or of settle.
func (v *supervisor) await(ctx context.Context, limit int) error {
	for len(v.running) > limit {
		select {
		case end := <-v.ended:
			if err := v.settle(ctx, end); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// sleep waits until it is time to look for runs again, or until an execution ends, which it settles. The time to look
// again is after v.req.Interval, or at v.due if v.due is earlier. sleep returns the error of ctx or of settle.
func (v *supervisor) sleep(ctx context.Context) error {
	length := v.req.Interval
	if !v.due.IsZero() {
		length = max(0, min(length, v.due.Sub(v.Now())))
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case end := <-v.ended:
		return v.settle(ctx, end)
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle handles the end of an execution, and removes the run from v.running. If the execution panicked, settle returns
// the panic and reports nothing. Otherwise it calls Report once, and returns the error of Report. There are two cases:
//   - The run has finished, failed, was cancelled or waits. settle clears the pause of the run and reports RunEnded.
//   - Another error stopped the execution. settle reports RunStopped. It also begins a pause of the run, or doubles the
//     last one, unless another process has taken the run over or the supervisor is stopping.
func (v *supervisor) settle(ctx context.Context, end executionEnd) error {
	run := claim.UnattendedRun{Run: end.row.ID, Status: end.row.Status}
	delete(v.running, run.Run)
	v.noteEnd(ctx, end)
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
		v.pause(run.Run)
	}
	return v.report(RunStopped, run, end.row.Frame, end.err)
}

// pause begins a pause of a run, or doubles the last one.
func (v *supervisor) pause(run string) {
	length := min(max(v.req.Interval, 2*v.pauses[run].length), maxPause)
	v.pauses[run] = pausedRun{length, v.Now().Add(length)}
}

// report calls Report with an action on a run. frame is the number of the run's newest frame, or 0 if it is unknown.
// cause is the reason why the run is not resumed or was stopped, or nil.
func (v *supervisor) report(action SupervisorAction, run claim.UnattendedRun, frame int64, cause error) error {
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

// try resumes a run if the run can be resumed, and reports RunResumed. Otherwise try calls leave with the reason. If
// another process moves the run's tip meanwhile, try begins again, at most maxClaims times. try returns only the errors
// of ctx and of Report.
func (v *supervisor) try(ctx context.Context, run claim.UnattendedRun) error {
	var err error
	for range maxClaims {
		if err = v.tryOnce(ctx, run); fault.CodeOf(err) != fault.Conflict {
			return err
		}
	}
	return v.leave(ctx, run, 0, err)
}

// tryOnce does the same as try, but makes only one attempt. It returns conflict if another process has moved the run's
// tip, for example with a signal. If the run has ended since look found it, tryOnce does nothing. It passes all other
// reasons to leave, for example that no wait of the run is over, or that another engine runs the run.
func (v *supervisor) tryOnce(ctx context.Context, run claim.UnattendedRun) error {
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
	if caller, err := CalledBy(ctx, v.Store, row); err != nil || caller != nil {
		return v.leave(ctx, run, row.Frame, err) // the caller continues it
	}
	if row.Status.Waiting() {
		ready, err := v.ready(ctx, head)
		if err != nil || !ready {
			return v.leave(ctx, run, row.Frame, err)
		}
	}
	err = v.launch(ctx, head, false)
	if fault.CodeOf(err) == fault.Conflict {
		return err
	}
	if err != nil {
		return v.leave(ctx, run, row.Frame, err)
	}
	return v.report(RunResumed, run, row.Frame, nil)
}

// launch claims a run and executes it in a goroutine of its own, which owns head from then on. captured says that the run's tip has the current
// files. The errors are those of workflow and claim.ToExecute.
func (v *supervisor) launch(ctx context.Context, head *timeline.Head, captured bool) error {
	opts, err := (&execution{Desk: v.Desk, Settings: v.req.Settings, head: head, captured: captured}).options()
	if err != nil {
		return err
	}
	agreed, err := v.workflow(ctx, head, opts)
	if err != nil {
		return err
	}
	held, err := claim.ToExecute(ctx, head, claim.Request{})
	if err != nil {
		return err
	}
	v.running[head.Row().ID] = true
	go func() { v.ended <- v.execute(ctx, head, held, agreed, opts) }()
	return nil
}

// leave reports RunLeft with cause, the reason why a run is not resumed. It reports nothing if cause is nil. It also
// reports nothing if cause says that the run waits, does not exist any more, is executed by another process, or was
// changed by another process. leave returns only the errors of ctx and of Report. frame is the number of the run's
// newest frame, or 0 if it is unknown.
func (v *supervisor) leave(ctx context.Context, run claim.UnattendedRun, frame int64, cause error) error {
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

// ready reports whether a wait of the run is over, or a run that it has called can go on or has ended. It also looks at the run's timers that are not over. If the next
// timer is due before v.due, or if v.due is zero, ready sets v.due to the time of this timer.
func (v *supervisor) ready(ctx context.Context, head *timeline.Head) (bool, error) {
	now := v.Now()
	waits, err := mailbox.WaitsOf(head, now)
	if err != nil {
		return false, err
	}
	for _, w := range waits {
		if w.DueAtMs == nil {
			continue
		}
		if at := time.UnixMilli(*w.DueAtMs); at.After(now) && (v.due.IsZero() || at.Before(v.due)) {
			v.due = at
		}
	}
	if slices.ContainsFunc(waits, func(w mailbox.Waiting) bool { return w.Ready }) {
		return true, nil
	}
	return v.callReady(ctx, head)
}

// callReady reports whether a run that waiting tasks of the run have called can go on or has ended.
func (v *supervisor) callReady(ctx context.Context, head *timeline.Head) (bool, error) {
	calls, err := engine.OpenCalls(head)
	if err != nil {
		return false, err
	}
	for _, run := range calls {
		called, err := v.Store.Head(ctx, run)
		if fault.CodeOf(err) == fault.RunNotFound {
			return true, nil // the task begins a new one
		}
		if err != nil {
			return false, err
		}
		row := called.Row()
		ready := !row.Status.Waiting() && row.Owner == ""
		if row.Status.Waiting() {
			ready, err = v.ready(ctx, called)
		}
		if ready || err != nil {
			return ready, err
		}
	}
	return false, nil
}

// workflow returns the workflow with which a run continues, with the consent to run its commands. A supervisor has no
// person to ask, so two cases are errors. The error is workflow_changed if the workflow file differs from the workflow
// stored in the run. The error is unconfirmed if the commands were never run or confirmed in this clone, and untrusted_files if
// this clone has not recorded the run. The other errors are those of definition, engine.Check and needWorkDir.
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
	brought, err := v.brings(head, wf)
	if err != nil {
		return consent.Workflow{}, err
	}
	return v.agree(head, wf, false, nil, Settings{FilesTrust: v.req.FilesTrust}, brought, opts)
}

// definition returns the workflow in the file that the run's row names. It does not fall back to the stored workflow if
// this file cannot be read. If the row names no file, definition returns the workflow stored in the run. If the run
// stores none, or if the row's path leads out of the working copy, the error is the one that noWorkflow returns.
func (v *supervisor) definition(ctx context.Context, head *timeline.Head) (*workflow.Workflow, error) {
	file, err := v.rememberedPath(head.Row())
	if err == nil {
		wf, err := v.Folder.ReadWorkflow(ctx, file)
		return wf.AsStored(head.Row().WorkflowHash), err
	}
	if kept, keptErr := KeptWorkflow(head); head.Row().WorkflowPath == "" && (kept != nil || keptErr != nil) {
		return kept, keptErr
	}
	return nil, noWorkflow(head, err)
}

// execute runs the remaining tasks of a claimed run, releases the claim held, and returns how the execution ended. head
// is the tip of the run. agreed is the workflow to run, with the consent to run its commands.
//
// The end of ctx does not stop the run, because the engine would then cancel the run. The run stops if v.quit is
// closed; the error in the result is then interrupted. The run also stops if another process takes the run over. A
// panic of the execution becomes the error in the result.
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
	// Another process has taken the run over if the channel held.Lost() is closed.
	taken := false
	select {
	case <-held.Lost():
		taken = true
	default:
	}
	if released := held.Release(ctx); released != nil {
		v.Teller.Warn(fmt.Errorf("the claim on run %s could not be released: %w", run, released))
	}
	v.Notify(ctx, head)
	// v.quit closes opts.Lost, and engine.Run then returns conflict, as if the run had been taken over.
	if v.stopping() && fault.CodeOf(err) == fault.Conflict && !taken {
		err = fault.New(fault.Interrupted, "the supervisor was stopped")
	}
	return executionEnd{head.Row(), err, taken}
}

// tellSkipped warns once about running and waiting runs that the supervisor skips, because this clone has never executed them. A supervisor of
// named runs does not warn.
func (v *supervisor) tellSkipped(ctx context.Context) error {
	if len(v.req.Runs) > 0 {
		return nil
	}
	overview, err := list.ReadOverview(ctx, v.Store, skippedShown)
	if err != nil {
		return err
	}
	ours, err := claim.FindUnattended(ctx, v.Store)
	if err != nil {
		return err
	}
	for _, run := range overview.Runs {
		status := snapshot.RunStatus(run.Status)
		taken := slices.ContainsFunc(ours, func(o claim.UnattendedRun) bool { return o.Run == run.RunID })
		if status != snapshot.RunRunning && !status.Waiting() || taken {
			continue
		}
		head, err := list.HeadOf(v.Store, run)
		if err != nil {
			v.Teller.Warn(err)
			continue
		}
		engine, err := ForeignEngine(head)
		owner := v.Store.Owner(head.Row())
		if err != nil || engine != "" || head.Row().Epoch == 0 || owner.Live {
			continue // another engine, or a process here, goes on with it
		}
		why := "it was begun on another machine or in another clone"
		if owner.Elsewhere {
			why = "another clone has claimed it"
		}
		v.Teller.Warn(fmt.Errorf("run %s is skipped: %s; `%s` takes it up here", run.RunID, why, fault.CommandLine(fault.Program, "supervise", run.RunID)))
	}
	return nil
}

// skippedShown is how many running and waiting runs tellSkipped looks at.
const skippedShown = 20
