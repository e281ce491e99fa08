package engine

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/engine/workflow"
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
	input   json.RawMessage // nil if there is none
	next    *draft          // the changes of the next frame
	begun   bool            // the first frame is committed
	resumed bool            // the run was started before
	anew    bool            // the run had ended: earlier failures do not count
	changed bool            // the definition differs from the run's

	epoch   int64              // of our claim
	appends int                // number of drafted frames; epoch and appends name each append
	state   *snapshot.State    // of the newest known tip
	status  snapshot.RunStatus // of the newest known tip

	running  map[workflow.NodeKey]*attempt
	spent    map[workflow.NodeKey]int   // failed tries of each node; see spentTries
	began    map[workflow.NodeKey]int64 // the newest frame before a node's last attempt, if that attempt began in this process
	outcomes chan outcome
	workers  sync.WaitGroup
	live     *liveLog
	signals  *mailbox.SignalBook

	dir       string                 // where commands run without a worktree of their own
	copies    map[string]WorkingCopy // by name: "" is shared, the others are the open worktrees of tasks
	unread    map[string]bool        // working copies whose last capture failed
	worktrees sync.Mutex             // see opening

	waited   bool // the run waited without a command since the last frame
	failure  failure
	stopping bool // cancelled: commands are being ended
}

// attempt is a running attempt.
type attempt struct {
	snapshot.Attempt
	job      *job
	launched bool // its command has been started, or is about to start
}

// failure is the reason for a run to fail. The zero failure means none.
type failure struct {
	text   string
	task   *workflow.Task // nil for a loop
	before int64          // the newest frame before the failed attempt began
}

func newRunner(rec Recorder, wf *workflow.Workflow, opts Options) *runner {
	row := rec.Row()
	return &runner{
		rec: rec, wf: wf, opts: opts, runID: row.ID,
		epoch: row.Epoch, state: rec.State(), status: row.Status,
		changed:  row.WorkflowHash != wf.Snapshot().Hash(),
		running:  make(map[workflow.NodeKey]*attempt),
		spent:    make(map[workflow.NodeKey]int),
		began:    make(map[workflow.NodeKey]int64),
		outcomes: make(chan outcome, min(opts.MaxParallel, len(wf.Tasks))),
		live:     &liveLog{out: opts.Log},
		signals:  mailbox.NewSignalBook(),
		resumed:  row.StartedAtMs != nil,
		anew:     row.Status.Ended(),
		dir:      opts.WorkDir,
		copies:   make(map[string]WorkingCopy),
		unread:   make(map[string]bool),
	}
}

// loop executes a run: rounds of changes, each committed before its commands start, with waits
// in between.
func (r *runner) loop(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer func() {
		stop(errCancelled)
		r.workers.Wait()
	}()
	watch := time.NewTicker(r.opts.Watch)
	defer watch.Stop()
	for {
		if ctx.Err() != nil || r.stopping {
			r.stopping = true
			stop(errCancelled)
		}
		changed, err := r.step(ctx, work)
		switch {
		case err != nil:
			return err
		case changed:
		case len(r.running) > 0 || r.stays():
			r.waited = len(r.running) == 0
			if err := r.wait(ctx, watch.C); err != nil {
				return err
			}
		default:
			if over, err := r.finish(ctx); over || err != nil {
				return err
			}
		}
	}
}

// step commits what happened. If nothing happened, it makes a round of changes and starts
// their commands. It reports whether anything changed. A run that is being cancelled takes
// no steps; only its last frame remains.
func (r *runner) step(ctx, work context.Context) (bool, error) {
	if r.stopping {
		return false, nil
	}
	if !r.halted() {
		if err := r.settle(context.WithoutCancel(ctx)); err != nil {
			return false, err
		}
		if err := r.checkTip(); err != nil || r.stopping {
			return true, err
		}
	}
	if r.next.said() {
		return true, r.commit(ctx)
	}
	jobs, err := r.round()
	if err != nil || !r.next.said() {
		return false, err
	}
	if err := r.commit(ctx); err != nil {
		return false, err
	}
	for _, j := range jobs {
		r.running[j.key].launched = true
		r.workers.Go(func() { r.outcomes <- j.execute(work) })
	}
	return true, nil
}

// stays reports whether this process itself waits for people, signals and timers.
func (r *runner) stays() bool { return r.opts.Wait && !r.halted() && len(r.waiting()) > 0 }

// wait returns when something happens: outcomes, which it applies, a cancel, a change by
// another process, or the time that a node waits for.
func (r *runner) wait(ctx context.Context, watch <-chan time.Time) error {
	done := ctx.Done()
	if r.stopping {
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
	case <-r.opts.Lost:
		return r.takenOver()
	case <-watch:
		if err := r.rec.Refresh(ctx); err == nil {
			return r.checkTip()
		}
		// If the tip cannot be read now, the next commit reports the error; commands continue.
	}
	return nil
}

// untilDue returns a channel that receives when a node's wait ends by the clock, and a function
// that stops the timer.
func (r *runner) untilDue() (<-chan time.Time, func(), error) {
	none := func() {}
	if r.halted() {
		return nil, none, nil
	}
	at, err := r.nextDue()
	if err != nil || at.IsZero() {
		return nil, none, err
	}
	timer := time.NewTimer(at.Sub(r.opts.Now()))
	return timer.C, func() { timer.Stop() }, nil
}

// checkTip checks a tip that may have moved. Entries that change only the mailbox, or no state at
// all, commute with ours; another epoch or another state means that this process has lost the run.
func (r *runner) checkTip() error {
	row := r.rec.Row()
	if row.Epoch != r.epoch || !snapshot.SameCore(r.rec.State(), r.state) {
		return r.takenOver()
	}
	if row.Status == snapshot.RunCancelled && r.status != snapshot.RunCancelled {
		r.stopping = true
	}
	return nil
}

// isLost reports whether another process is known to have taken over the run.
func (r *runner) isLost() bool {
	select {
	case <-r.opts.Lost:
		return true
	default:
		return false
	}
}

func (r *runner) takenOver() error {
	return fault.New(fault.Conflict, "run %s was taken over by another process", r.runID).
		Hint("this process writes nothing more; `git smithers timeline %s` shows what happens", fault.Word(r.runID))
}
