package engine

import (
	"context"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// runner executes one run. Run's goroutine owns the runner and commits
// frames; workers execute jobs, send outcomes, and share nothing else.
type runner struct {
	rec   Recorder
	wf    *workflow.Workflow
	opts  Options
	runID string

	*model
	tip      *tip
	journal  journal
	tries    *tries
	data     *dataReader
	files    *workingCopies
	signals  *mailbox.SignalBook
	steering steering

	next    *draft                  // the changes of the next frame
	read    map[string]snapshot.VCS // the working copies that were captured for the newest frame
	begun   bool                    // this process has committed its first frame
	resumed bool                    // the run was started before
	changed bool                    // wf differs from the run's own definition

	rest     time.Time // when the first task that rests between two tries may go on; zero if none rests
	running  runningAttempts
	outcomes chan outcome
	workers  sync.WaitGroup
	scores   *scoreQueue
	launch   func(*scoring) // begins a scorer beside the run
	live     *liveLog

	lookups  map[workflow.NodeKey]*lookup    // of the newest attempts that looked for a result
	entered  map[string]int                  // how many attempts have begun in a working copy, by its task
	parked   map[workflow.NodeKey]parkedCall // the tasks that another resume of the run continues
	waited   bool                            // since the last frame, the run has waited while no command ran
	failure  failure
	failures []failure // all failures in this process, in order; failure is the first
	// failedLoops has the ids of the loops that have.
	failedLoops []string
	aftermath   bool // the run has failed, and only tasks that ask for failures start
	stopping    bool // the run is cancelled, and its commands are being ended
}

// runningAttempts holds the attempts that this process executes, by their nodes.
type runningAttempts map[workflow.NodeKey]*attempt

// attempt is a running attempt.
type attempt struct {
	snapshot.Attempt
	job      *job
	launched bool // the frame with the start is committed, so the command runs or is about to start
}

// failure is the reason for a run to fail. The zero failure means that nothing has failed.
type failure struct {
	text   string
	name   string         // of the failed task, or of the loop
	task   *workflow.Task // the failed task; nil if a loop failed
	node   string         // the id of the task's node
	denied bool           // a person denied the task, and nothing else failed
	log    string         // what the task's last attempt printed; "" if it ran no command
}

// newRunner returns a runner at the recorder's tip. opts must come from Options.withDefaults. The caller must call
// prepare before it calls loop.
func newRunner(rec Recorder, wf *workflow.Workflow, opts Options) *runner {
	row := rec.Row()
	// The channel outcomes has room for every running command, so no worker blocks when it sends its outcome.
	r := &runner{
		rec: rec, wf: wf, opts: opts, runID: row.ID,
		tip:      newTip(rec, opts.Lost),
		journal:  journal{rec},
		tries:    &tries{journal: journal{rec}, anew: row.Status.Ended(), spent: make(map[workflow.NodeKey]int)},
		signals:  mailbox.NewSignalBook(),
		steering: steering{read: snapshot.EmptyState().Signals()},
		changed:  row.WorkflowHash != wf.Snapshot().Hash(),
		resumed:  row.StartedAtMs != nil,
		running:  make(runningAttempts),
		lookups:  make(map[workflow.NodeKey]*lookup),
		entered:  make(map[string]int),
		parked:   make(map[workflow.NodeKey]parkedCall),
		outcomes: make(chan outcome, min(opts.MaxParallel, len(wf.Tasks))),
		scores:   newScoreQueue(opts.MaxParallel),
		live:     &liveLog{out: opts.Log, masks: opts.Secrets},
	}
	r.files = &workingCopies{
		rec: rec, wf: wf, opts: &r.opts, runID: row.ID, resumed: r.resumed,
		dir: opts.WorkDir, open: make(map[string]WorkingCopy), unread: make(map[string]bool),
	}
	return r
}

// loop executes the run until the run ends or parks. It commits each round of changes before it starts the round's
// commands, and then waits for an event. It returns the errors of Run. When loop returns, all workers have ended.
func (r *runner) loop(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer func() {
		stop(errCancelled)
		r.workers.Wait()
		r.scores.workers.Wait()
		r.files.visit(false)
	}()
	r.launch = func(s *scoring) { r.scores.launch(work, s) }
	watch := time.NewTicker(r.opts.Watch)
	defer watch.Stop()
	for {
		if ctx.Err() != nil && r.onlyWaits() {
			if over, err := r.finish(context.WithoutCancel(ctx)); over || err != nil {
				return err
			}
			continue
		}
		if ctx.Err() != nil || r.stopping {
			r.stopping = true
			stop(errCancelled)
		}
		changed, err := r.step(ctx, work)
		switch {
		case err != nil:
			return err
		case changed: // the changes may allow further changes
		case len(r.running) > 0 || r.stays() || r.resting():
			if r.waited = len(r.running) == 0; r.waited {
				r.files.visit(false)
			}
			if err := r.wait(ctx, watch.C); err != nil {
				return err
			}
		default:
			if over, err := r.finish(ctx); over || err != nil {
				if over && fault.CodeOf(err) != fault.Conflict {
					r.awaitScorers(ctx, stop)
				}
				return err
			}
		}
	}
}

// step makes the next changes of the run. It first ends waits that are over and commits the changes since the last
// frame. If nothing has changed, step makes a round of changes, commits the round and starts the round's commands with
// the context work.
//
// step returns true if it committed a frame, or if another process has cancelled the run. The caller then calls step
// again. While this process cancels the run, step does nothing and returns false, because finish commits the last
// frame.
func (r *runner) step(ctx, work context.Context) (bool, error) {
	if r.stopping {
		return false, nil
	}
	if !r.halted() {
		if err := r.settle(context.WithoutCancel(ctx)); err != nil {
			return false, err
		}
		if err := r.checkTip(); err != nil || r.stopping { // settle may have read a newer tip
			return true, err
		}
	}
	if r.next.said() {
		return true, r.commit(ctx)
	}
	jobs, err := r.round(ctx)
	if err != nil || !r.next.said() {
		return false, err
	}
	if err := r.commit(ctx); err != nil {
		return false, err
	}
	for _, j := range jobs {
		if j.task.OwnWorktree() == "" {
			r.files.visit(true)
		}
		if j.call == nil {
			j.openCalls(r.running[j.key].Attempt)
			r.openSignals(j)
		}
		r.running[j.key].launched = true
		r.crowd(j)
		r.workers.Go(func() { r.outcomes <- j.execute(work) })
	}
	return true, nil
}

// stays reports whether this process must stay while the run waits. It must stay if Options.Wait is set, new tasks
// may still start, and a node waits.
func (r *runner) stays() bool { return r.opts.Wait && !r.halted() && len(r.waiting(r.wf)) > 0 }

// onlyWaits reports whether this process has nothing to do but to wait for people, signals or timers, because of Options.Wait. A process that is
// stopped then leaves the run as one without Options.Wait does; it cancels nothing.
func (r *runner) onlyWaits() bool {
	return r.stays() && !r.stopping && len(r.running) == 0 && !r.resting() && !r.next.said()
}

// wait blocks until one of these events:
//   - A command has ended. wait applies the outcomes of all commands that have ended by now to r.next.
//   - ctx ends. While the run is being cancelled, wait ignores this event.
//   - The clock ends the wait of a node, or its rest between two tries.
//   - A scorer has ended. wait then stores its score.
//   - watch receives. wait then reads the tip again and checks it, gives new signals to commands, and stores the tool calls that commands have reported.
//   - Another process takes over the run. The error's code is then conflict.
func (r *runner) wait(ctx context.Context, watch <-chan time.Time) error {
	done := ctx.Done()
	if r.stopping { // ctx may have ended already, but the commands are still being ended
		done = nil
	}
	due, forget, err := r.untilDue()
	if err != nil {
		return err
	}
	defer forget()
	select {
	case out := <-r.outcomes:
		r.apply(out)
		for { // outcomes of the same instant share a frame
			select {
			case out := <-r.outcomes:
				r.apply(out)
				continue
			default:
			}
			return nil
		}
	case <-done:
	case <-due:
	case <-r.scores.news:
		return r.commitScores(ctx)
	case <-r.opts.Lost:
		return r.tip.takenOver()
	case <-watch:
		if err := r.rec.Refresh(ctx); err != nil {
			return nil // the next commit reports the error; commands continue
		}
		if err := r.checkTip(); err != nil {
			return err
		}
		r.steer()
		return r.commitCalls(ctx)
	}
	return nil
}

// untilDue returns a channel that receives when the clock ends a node's wait or rest, and a function that stops the timer.
// The channel is nil if no wait has a time limit and no node rests, or if no new task may start. The function is never nil.
func (r *runner) untilDue() (<-chan time.Time, func(), error) {
	none := func() {}
	if r.halted() && !r.resting() {
		return nil, none, nil
	}
	var at time.Time
	var err error
	if !r.halted() {
		at, err = r.nextDue(r.wf, r.rec.State())
	}
	if r.resting() && (at.IsZero() || r.rest.Before(at)) {
		at = r.rest
	}
	if err != nil || at.IsZero() {
		return nil, none, err
	}
	timer := time.NewTimer(at.Sub(r.opts.Now()))
	return timer.C, func() { timer.Stop() }, nil
}

// checkTip checks a tip that may have moved. If another process has cancelled the run, checkTip sets r.stopping. If
// another process has taken over the run, the error's code is conflict.
func (r *runner) checkTip() error {
	cancelled, err := r.tip.check()
	r.stopping = r.stopping || cancelled
	return err
}
