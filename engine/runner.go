package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
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
	input   json.RawMessage    // nil when there is none
	next    *draft             // what the next frame changes
	claimed bool               // the first frame is committed
	resumed bool               // the run was started before
	epoch   int64              // of the tip as we know it
	state   objstore.ID        // of the tip as we know it
	status  snapshot.RunStatus // of the tip as we know it
	changed bool               // the definition is another than the run's

	running  map[nodeKey]*attempt
	first    map[nodeKey]int // the number of a node's first attempt in this process
	outcomes chan outcome
	workers  sync.WaitGroup
	live     *liveLog

	dir       string                 // where commands run that have no worktree of their own
	copies    map[string]WorkingCopy // by name, "" the one that tasks share, else a task's own once it is open
	unread    map[string]bool        // those whose last capture failed
	worktrees sync.Mutex             // see opening

	failure  string // why the run fails; "" while it does not
	stopping bool   // cancelled: commands are told to end
}

// attempt is an attempt under way.
type attempt struct {
	snapshot.Attempt
	job      *job
	launched bool // its command has been started, or is about to be
}

func newRunner(rec Recorder, wf *Workflow, opts Options) *runner {
	row := rec.Row()
	return &runner{
		rec: rec, wf: wf, opts: opts, runID: row.ID,
		epoch: row.Epoch, state: rec.State().ID(), status: row.Status,
		changed:  row.WorkflowHash != wf.Snapshot().Hash(),
		running:  make(map[nodeKey]*attempt),
		first:    make(map[nodeKey]int),
		outcomes: make(chan outcome, min(opts.MaxParallel, len(wf.Tasks))),
		live:     &liveLog{out: opts.Log},
		resumed:  row.StartedAtMs != nil,
		dir:      opts.WorkDir,
		copies:   make(map[string]WorkingCopy),
		unread:   make(map[string]bool),
	}
}

// prepare loads the state, makes what an earlier process left fit to go on with,
// and drafts the claim of this one.
func (r *runner) prepare() error {
	if r.changed && !r.opts.AcceptWorkflowChange {
		return fault.New(fault.WorkflowChanged, "run %s began with another definition of workflow %s", r.runID, r.wf.Name).
			Hint("go on with the new one by --accept-workflow-change, or `git smithers replay` it from a frame")
	}
	state := r.rec.State()
	var err error
	if r.input, err = state.Input(); err != nil {
		return timeline.Explain(err)
	}
	if err := r.wf.ValidateInput(r.input); err != nil {
		return err
	}
	if r.model, err = loadModel(state); err != nil {
		return err
	}
	if r.changed {
		if err := r.checkOutputs(state, ReconcileRequest{Workflow: r.wf}); err != nil {
			return err
		}
	}
	r.next = newDraft(r.runID, r.opts.Now())
	r.claim()
	if r.changed {
		r.next.workflow = r.wf.Snapshot()
		r.next.say(r.wf.Name, "changed")
	}
	r.fit(r.next, r.wf)
	if err := r.release(); err != nil {
		return err
	}
	r.reopen(r.next, r.wf)
	r.render()
	return nil
}

// claim makes the run this process's: the rising epoch tells any other to stop.
func (r *runner) claim() {
	started, name := r.next.atMs, r.wf.Name
	if r.rec.Row().StartedAtMs == nil {
		r.next.event("RunStarted", payload{})
	}
	r.next.event("RunStatusChanged", payload{Status: string(snapshot.RunRunning)})
	r.next.edit(func(row *snapshot.Run) {
		row.Epoch++
		row.Status, row.Error, row.FinishedAtMs = snapshot.RunRunning, "", nil
		row.Workflow = name
		if row.StartedAtMs == nil {
			row.StartedAtMs = &started
		}
	})
}

// release makes every node pending that an earlier process left unfinished.
func (r *runner) release() error {
	for _, key := range r.keys() {
		n := r.nodes[key]
		switch n.State {
		case snapshot.NodeInProgress:
			if err := r.interrupt(key, n); err != nil {
				return err
			}
		case snapshot.NodeFailed, snapshot.NodeCancelled:
		case snapshot.NodePending, snapshot.NodeFinished, snapshot.NodeSkipped:
			continue
		}
		n.State = snapshot.NodePending
		r.setNode(r.next, n)
		r.next.event("NodePending", payload{NodeID: key.id, Iteration: &key.iteration})
	}
	return nil
}

// interrupt records that the process which executed a node's last attempt died.
func (r *runner) interrupt(key nodeKey, n snapshot.Node) error {
	why := reason{reasonInterrupted, "the process that ran it died"}
	r.next.say(key.name(r.wf.tasks[key.id]), "was interrupted")
	if n.LastAttempt == nil {
		return nil
	}
	a, ok, err := r.pastAttempt(key, *n.LastAttempt)
	if err != nil || !ok || a.State != snapshot.AttemptInProgress {
		return err
	}
	a.State, a.Error, a.FinishedAtMs = snapshot.AttemptFailed, why.String(), &r.next.atMs
	r.next.end(a)
	r.next.event("NodeFailed", payload{NodeID: key.id, Iteration: &key.iteration, Attempt: a.Attempt, Error: a.Error})
	return nil
}

// pastAttempt reads an attempt from the journal at the tip.
func (r *runner) pastAttempt(key nodeKey, number int) (a snapshot.Attempt, ok bool, err error) {
	attempts, err := r.rec.Entry().Attempts()
	if err != nil {
		return a, false, timeline.Explain(err)
	}
	row := snapshot.AttemptKey(key.id, key.iteration, number)
	value, ok, err := attempts.Get(row)
	if err != nil || !ok {
		return a, false, timeline.Explain(err)
	}
	a, err = snapshot.DecodeAttempt(pageRow(row, value))
	return a, err == nil, timeline.Explain(err)
}

func (r *runner) render() {
	r.next.render(r.wf, func(loop string) bool { return r.loops[loop].Done })
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
		case len(r.running) > 0:
			if err := r.wait(ctx, watch.C); err != nil {
				return err
			}
		default:
			return r.finish(ctx)
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

// wait returns when something happened: outcomes, which it applies, a cancel, or
// news from another process.
func (r *runner) wait(ctx context.Context, watch <-chan time.Time) error {
	done := ctx.Done()
	if r.stopping {
		done = nil
	}
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
		return nil
	case <-watch:
		if err := r.rec.Refresh(ctx); err == nil {
			return r.checkTip()
		}
		// A tip that cannot be read now is the next commit's trouble, not the commands'.
		return nil
	}
}

// checkTip looks at a tip that may have moved. Entries that change no state commute
// with ours; a higher epoch or another state means that the run is no longer ours.
func (r *runner) checkTip() error {
	row := r.rec.Row()
	if row.Epoch != r.epoch || r.rec.State().ID() != r.state {
		return fault.New(fault.Conflict, "run %s was taken over by another process", r.runID).
			Hint("nothing more is written by this one; `git smithers timeline %s` shows what happens", r.runID)
	}
	if row.Status == snapshot.RunCancelled && r.status != snapshot.RunCancelled {
		r.stopping = true
	}
	return nil
}

// maxRebuilds is how often in a row a frame is built anew because others append to
// the run as well.
const maxRebuilds = 16

// commit appends what was drafted as one frame, with the working copy as it is now
// where that may have changed. It is not cut short by a cancel: what is true is
// recorded. A capture that cannot be stored is left out rather than the frame lost.
func (r *runner) commit(ctx context.Context) error {
	read := r.capture(ctx)
	defer read.close(r.opts.Warn)
	r.compare(read[""])
	ctx = context.WithoutCancel(ctx)
	err := r.appendFrame(ctx, read)
	if err != nil && read.any() && fault.CodeOf(err) != fault.Conflict {
		cause := err
		if err = r.appendFrame(ctx, nil); err == nil {
			r.opts.Warn(fmt.Errorf("the working copy could not be stored with frame %d: %w", r.rec.Row().Frame, cause))
		}
	}
	if err != nil {
		return err
	}
	row, subject := r.rec.Row(), r.next.subject()
	r.claimed, r.epoch, r.state, r.status = true, row.Epoch, r.rec.State().ID(), row.Status
	r.next = newDraft(r.runID, r.opts.Now())
	r.report(row.Frame, subject)
	return nil
}

// appendFrame appends what was drafted and read, built anew whenever others were first.
func (r *runner) appendFrame(ctx context.Context, read captures) error {
	var err error
	for range maxRebuilds {
		var d snapshot.Draft
		if d, err = r.frame(read); err != nil {
			return err
		}
		if err = r.rec.Append(ctx, d); fault.CodeOf(err) != fault.Conflict || err == nil {
			return err
		}
		if refreshErr := r.rec.Refresh(ctx); refreshErr != nil {
			return errors.Join(err, refreshErr)
		}
		if err := r.checkTip(); err != nil {
			return err
		}
	}
	return err
}

// report tells the caller of a committed frame.
func (r *runner) report(frame int64, subject string) {
	if r.opts.Progress == nil {
		return
	}
	p := Progress{Frame: frame, Subject: subject, Nodes: len(r.nodes)}
	for _, n := range r.nodes {
		switch n.State {
		case snapshot.NodeInProgress:
			p.Running++
		case snapshot.NodeFinished:
			p.Finished++
		case snapshot.NodeFailed:
			p.Failed++
		case snapshot.NodeSkipped:
			p.Skipped++
		case snapshot.NodePending, snapshot.NodeCancelled:
		}
	}
	r.opts.Progress(p)
}

// finish commits how the run ended, and returns that as an error unless it is finished.
func (r *runner) finish(ctx context.Context) error {
	status, kind, text := snapshot.RunFinished, "RunFinished", ""
	switch {
	case r.failure != "":
		status, kind, text = snapshot.RunFailed, "RunFailed", r.failure
	case r.complete(r.wf):
	case r.stopping:
		status, kind = snapshot.RunCancelled, "RunCancelled"
	default:
		return fault.New(fault.Internal, "run %s has tasks left and none that can start", r.runID)
	}
	verb := string(status)
	if text != "" {
		verb += ": " + text
	}
	r.next.sayAlone("run", verb)
	r.next.event("RunStatusChanged", payload{Status: string(status)})
	r.next.event(kind, payload{Error: text})
	at := r.next.atMs
	r.next.edit(func(row *snapshot.Run) { row.Status, row.Error, row.FinishedAtMs = status, text, &at })
	if err := r.commit(ctx); err != nil {
		return err
	}
	switch status {
	case snapshot.RunFailed:
		return fault.New(fault.RunFailed, "run %s failed: %s", r.runID, text).
			Hint("`git smithers show %s` has the attempts and logs; `git smithers replay` runs a mended workflow from any frame", r.runID).
			Detail("runId", r.runID).Detail("frame", r.rec.Row().Frame)
	case snapshot.RunCancelled:
		return fault.New(fault.RunCancelled, "run %s is cancelled at frame %s", r.runID, strconv.FormatInt(r.rec.Row().Frame, 10)).
			Hint("`git smithers resume` goes on from there").
			Detail("runId", r.runID).Detail("frame", r.rec.Row().Frame)
	case snapshot.RunFinished, snapshot.RunRunning, snapshot.RunPending:
	}
	return nil
}
