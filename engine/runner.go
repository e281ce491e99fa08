package engine

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// runner runs one run. One goroutine, that of Run, owns all of it and commits
// frames; workers execute jobs and send outcomes, and share nothing else.
type runner struct {
	rec   Recorder
	wf    *Workflow
	opts  Options
	runID string

	*model
	input   json.RawMessage // nil when there is none
	next    *draft          // what the next frame changes
	begun   bool            // the first frame is committed
	resumed bool            // the run was started before
	anew    bool            // it had ended: what failed before is not counted any more
	changed bool            // the definition is another than the run's

	epoch   int64              // of the claim under which we run
	appends int                // how many frames we drafted; with epoch it names each of them
	state   *snapshot.State    // of the tip as we know it
	status  snapshot.RunStatus // of the tip as we know it

	running  map[nodeKey]*attempt
	spent    map[nodeKey]int   // how many of a node's tries have failed; see spentTries
	began    map[nodeKey]int64 // the newest frame before a node's last attempt, where that began in this process
	outcomes chan outcome
	workers  sync.WaitGroup
	live     *liveLog
	signals  *signalBook

	dir       string                 // where commands run that have no worktree of their own
	copies    map[string]WorkingCopy // by name, "" the one that tasks share, else a task's own once it is open
	unread    map[string]bool        // those whose last capture failed
	worktrees sync.Mutex             // see opening

	waited   bool // it waited while no command ran, and no frame was appended since
	failure  failure
	stopping bool // cancelled: commands are told to end
}

// attempt is an attempt under way.
type attempt struct {
	snapshot.Attempt
	job      *job
	launched bool // its command has been started, or is about to be
}

// failure is why a run fails. The zero failure means that it does not.
type failure struct {
	text   string
	task   *Task // nil for a loop
	before int64 // the newest frame before what failed began
}

func newRunner(rec Recorder, wf *Workflow, opts Options) *runner {
	row := rec.Row()
	return &runner{
		rec: rec, wf: wf, opts: opts, runID: row.ID,
		epoch: row.Epoch, state: rec.State(), status: row.Status,
		changed:  row.WorkflowHash != wf.Snapshot().Hash(),
		running:  make(map[nodeKey]*attempt),
		spent:    make(map[nodeKey]int),
		began:    make(map[nodeKey]int64),
		outcomes: make(chan outcome, min(opts.MaxParallel, len(wf.Tasks))),
		live:     &liveLog{out: opts.Log},
		signals:  newSignalBook(),
		resumed:  row.StartedAtMs != nil,
		anew:     row.Status.Ended(),
		dir:      opts.WorkDir,
		copies:   make(map[string]WorkingCopy),
		unread:   make(map[string]bool),
	}
}

// loop is the life of a run: rounds of changes, each committed before the commands
// that it starts are started, and waiting in between.
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

// step commits what happened and, when nothing did, makes a round of changes and
// starts its commands. It tells whether anything changed. A run that is being
// cancelled takes no steps: all that is left of it is its last frame.
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

// stays reports whether this process waits for people, signals and timers itself.
func (r *runner) stays() bool { return r.opts.Wait && !r.halted() && len(r.waiting()) > 0 }

// wait returns when something happened: outcomes, which it applies, a cancel, news
// from another process, or the time that a node waits for.
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
		for { // what happened at the same instant shares the frame
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
		// A tip that cannot be read now is the next commit's trouble, not the commands'.
	}
	return nil
}

// untilDue is a channel that is sent on when the clock ends a node's wait, and what
// the caller calls when it does not wait for that any more.
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

// checkTip looks at a tip that may have moved. Entries that change the mailbox alone, or
// no state at all, commute with ours; another epoch or another state means that the
// run is no longer ours.
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

// isLost reports whether another process is known to have taken the run over.
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
		Hint("nothing more is written by this one; `git smithers timeline %s` shows what happens", fault.Word(r.runID))
}
