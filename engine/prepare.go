package engine

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// before calls Options.Before.
func (r *runner) before(ctx context.Context) error {
	if r.opts.Before == nil {
		return nil
	}
	if err := r.opts.Before(ctx); err != nil {
		return err
	}
	return r.rec.Refresh(ctx)
}

// prepare loads the state, cleans up after earlier processes, and drafts the first frame.
func (r *runner) prepare() error {
	r.next = newDraft(r.runID, r.opts.Now())
	r.begin()
	if err := r.takeInput(); err != nil {
		return err
	}
	state := r.rec.State()
	var err error
	if r.model, err = loadModel(state); err != nil {
		return err
	}
	if r.changed {
		if err := r.checkOutputs(state, ReconcileRequest{Workflow: r.wf}); err != nil {
			return err
		}
		r.next.workflow = r.wf.Snapshot()
		r.next.say(r.wf.Name, "changed")
	}
	if err := r.release(); err != nil {
		return err
	}
	r.fit(r.next, r.wf)
	r.reopen(r.next, r.wf)
	r.render()
	return nil
}

// begin drafts that the run is running.
func (r *runner) begin() {
	started, name := r.next.atMs, r.wf.Name
	if r.rec.Row().StartedAtMs == nil {
		r.next.event("RunStarted", payload{})
	}
	r.next.event("RunStatusChanged", payload{Status: string(snapshot.RunRunning)})
	r.next.edit(func(row *snapshot.Run) {
		row.Status, row.Error, row.FinishedAtMs = snapshot.RunRunning, "", nil
		row.Workflow = name
		if row.StartedAtMs == nil {
			row.StartedAtMs = &started
		}
		if row.Parent != nil { // a fork may have been undone and then resumed
			row.Parent.Undone = false
		}
	})
}

// takeInput reads the run's input, merged with Options.Input. The first frame stores the result.
func (r *runner) takeInput() error {
	state := r.rec.State()
	before, err := state.Input()
	if err != nil {
		return timeline.Explain(err)
	}
	if r.input, err = inputOf(state, r.wf, r.opts.Input); err != nil {
		return err
	}
	if !bytes.Equal(before, r.input) {
		r.next.setInput(r.input)
		r.next.say("input", "changed")
	}
	return nil
}

// inputOf merges over, which may be nil, over a run's input, and checks the result against the workflow.
func inputOf(state *snapshot.State, wf *workflow.Workflow, over json.RawMessage) (json.RawMessage, error) {
	input, err := state.Input()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if over != nil {
		if input, err = timeline.MergeInput(input, over); err != nil {
			return nil, err
		}
	}
	return input, wf.ValidateInput(input)
}

// release makes every unfinished node of an earlier process pending. Waiting nodes keep waiting.
func (r *runner) release() error {
	for _, key := range r.keys() {
		n := r.nodes[key]
		switch n.State {
		case snapshot.NodeInProgress:
			if err := r.interrupt(key, n); err != nil {
				return err
			}
		case snapshot.NodeFailed, snapshot.NodeCancelled:
			r.spent[key] = 0
		case snapshot.NodeWaitingApproval, snapshot.NodeWaitingHuman, snapshot.NodeWaitingEvent, snapshot.NodeWaitingTimer:
			if r.waitsAsItDid(key, n) {
				continue
			}
			if err := r.abandon(key, n, "the workflow changed"); err != nil {
				return err
			}
		case snapshot.NodePending, snapshot.NodeFinished, snapshot.NodeSkipped:
			continue
		}
		if r.wf.Task(key.ID) == nil {
			continue // dropped by fit
		}
		n.State = snapshot.NodePending
		r.setNode(r.next, n)
		r.next.event("NodePending", payload{NodeID: key.ID, Iteration: &key.Iteration})
	}
	return nil
}

// waitsAsItDid reports whether a waiting node still waits for the same thing by the workflow.
func (r *runner) waitsAsItDid(key workflow.NodeKey, n snapshot.Node) bool {
	t := r.wf.Task(key.ID)
	return t != nil && t.WaitState() == n.State
}

// interrupt records that the process of a node's last attempt died, with the attempt's log so
// far.
func (r *runner) interrupt(key workflow.NodeKey, n snapshot.Node) error {
	why := reason{reasonInterrupted, "the process that ran it died"}
	r.next.say(key.Name(r.wf.Task(key.ID)), "was interrupted")
	if n.LastAttempt == nil {
		return nil
	}
	a, ok, err := r.pastAttempt(key, *n.LastAttempt)
	if err != nil || !ok || a.State != snapshot.AttemptInProgress {
		return err
	}
	a.State, a.Error, a.FinishedAtMs = snapshot.AttemptFailed, why.String(), &r.next.atMs
	r.next.end(a)
	if r.opts.Logs != nil {
		r.next.log(a, r.opts.Logs.Last(keyOf(a)))
	}
	r.next.event("NodeFailed", payload{NodeID: key.ID, Iteration: &key.Iteration, Attempt: a.Attempt, Error: a.Error})
	return nil
}

// abandon ends the wait of a node that cannot continue: its task no longer waits, or waits for
// something else, or the mailbox row is missing. why is the attempt's reason.
func (r *runner) abandon(key workflow.NodeKey, n snapshot.Node, why string) error {
	if err := r.withdraw(n); err != nil {
		return err
	}
	r.unmail(r.next, key)
	if n.LastAttempt == nil {
		return nil
	}
	a, ok, err := r.pastAttempt(key, *n.LastAttempt)
	if err != nil || !ok || a.FinishedAtMs != nil {
		return err
	}
	r.cancelled(a, why)
	return nil
}

// cancelled ends an attempt that no process executes.
func (r *runner) cancelled(a snapshot.Attempt, why string) {
	told := reason{reasonCancelled, why}
	a.State, a.Error, a.FinishedAtMs = snapshot.AttemptCancelled, told.String(), &r.next.atMs
	r.next.attempt(a)
	r.next.event("NodeCancelled", payload{NodeID: a.NodeID, Iteration: &a.Iteration, Attempt: a.Attempt})
}

// pastAttempt reads an attempt from the tip's journal.
func (r *runner) pastAttempt(key workflow.NodeKey, number int) (a snapshot.Attempt, ok bool, err error) {
	attempts, err := r.rec.Entry().Attempts()
	if err != nil {
		return a, false, timeline.Explain(err)
	}
	row := snapshot.AttemptKey(key.ID, key.Iteration, number)
	value, ok, err := attempts.Get(row)
	if err != nil || !ok {
		return a, false, timeline.Explain(err)
	}
	a, err = snapshot.DecodeAttempt(page.Row{Key: row, Value: value})
	return a, err == nil, timeline.Explain(err)
}

func (r *runner) render() {
	r.next.render(r.wf, func(loop string) bool { return r.loops[loop].Done })
}
