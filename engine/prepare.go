package engine

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// before does what Options.Before asks for.
func (r *runner) before(ctx context.Context) error {
	if r.opts.Before == nil {
		return nil
	}
	if err := r.opts.Before(ctx); err != nil {
		return err
	}
	return r.rec.Refresh(ctx)
}

// prepare loads the state, makes what an earlier process left fit to go on with,
// and drafts the first frame of this one.
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
		if row.Parent != nil { // of a fork that was taken back and is wanted after all
			row.Parent.Undone = false
		}
	})
}

// takeInput reads the run's input. What Options.Input lays over it is the run's from
// the first frame on.
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

// inputOf is the input of a run with over laid over it; nil over is nothing. It fits
// the workflow.
func inputOf(state *snapshot.State, wf *Workflow, over json.RawMessage) (json.RawMessage, error) {
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

// release makes every node pending that an earlier process left unfinished. Those that
// wait go on waiting.
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
		if r.wf.tasks[key.id] == nil {
			continue // it is dropped
		}
		n.State = snapshot.NodePending
		r.setNode(r.next, n)
		r.next.event("NodePending", payload{NodeID: key.id, Iteration: &key.iteration})
	}
	return nil
}

// waitsAsItDid reports whether a node that waits still waits for what it did.
func (r *runner) waitsAsItDid(key nodeKey, n snapshot.Node) bool {
	t := r.wf.tasks[key.id]
	return t != nil && t.state() == n.State
}

// interrupt records that the process which executed a node's last attempt died, with
// what the attempt had logged by then.
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
	if r.opts.Logs != nil {
		r.next.log(a, r.opts.Logs.Last(keyOf(a)))
	}
	r.next.event("NodeFailed", payload{NodeID: key.id, Iteration: &key.iteration, Attempt: a.Attempt, Error: a.Error})
	return nil
}

// abandon ends the wait of a node that cannot go on: its task does not wait any more, or for
// something else, by the definition that the run goes on with, or the mailbox does not
// have what it waits for. why is for the attempt.
func (r *runner) abandon(key nodeKey, n snapshot.Node, why string) error {
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

// cancelled ends an attempt that nobody executes.
func (r *runner) cancelled(a snapshot.Attempt, why string) {
	told := reason{reasonCancelled, why}
	a.State, a.Error, a.FinishedAtMs = snapshot.AttemptCancelled, told.String(), &r.next.atMs
	r.next.attempt(a)
	r.next.event("NodeCancelled", payload{NodeID: a.NodeID, Iteration: &a.Iteration, Attempt: a.Attempt})
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
