package engine

import (
	"bytes"
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// prepare loads the state into r and drafts the first frame in r.next: the input, a changed definition, the ends of
// interrupted attempts, and the tasks to do again. It sets r.model, r.data and r.next. If the input does not fit the
// workflow, the error's code is invalid_input. If a kept output does not fit a changed definition, the code is
// schema_conflict.
func (r *runner) prepare() error {
	r.next = newDraft(r.runID, r.opts.Now())
	r.next.begin(r.rec.Row(), r.wf.Name, r.opts.TraceParent)
	state := r.rec.State()
	input, err := r.next.takeInput(r.rec, r.wf, r.opts.Input)
	if err != nil {
		return err
	}
	if r.model, err = loadModel(state); err != nil {
		return err
	}
	r.data = &dataReader{model: r.model, rec: r.rec, wf: r.wf, runID: r.runID, input: input}
	if r.changed {
		if err := r.checkOutputs(state, r.rec.Reveal, r.wf, nil); err != nil {
			return err
		}
		r.next.workflow = r.wf.Snapshot()
		r.next.say(r.wf.Name, "changed")
	}
	// Before fit drops the nodes of removed tasks, release ends the attempts and waits of these nodes.
	if err := r.release(); err != nil {
		return err
	}
	r.fit(r.next, r.wf)
	r.reopen(r.next)
	r.next.render(r.wf, r.doneIn(r.wf))
	return nil
}

// takeInput returns the run's new input: the stored input with the changes in over, as inputOf returns it. If over
// changes the input, takeInput sets the new input in d.
func (d *draft) takeInput(rec Recorder, wf *workflow.Workflow, over json.RawMessage) (json.RawMessage, error) {
	input, err := inputOf(rec, wf, over)
	if err != nil || over == nil {
		return input, err
	}
	before, err := changedInput(rec, nil)
	if err != nil && fault.CodeOf(err) != fault.SecretMissing { // over replaces the member whose secret is missing
		return nil, err
	}
	if !bytes.Equal(before, input) {
		amended, err := timeline.AmendInput(rec.State(), over)
		if err != nil {
			return nil, err
		}
		d.state = append(d.state, amended)
		d.say("input", "changed")
	}
	return input, nil
}

// inputOf returns the run's input with the changes in over, which is nil or a JSON object. Each member of over
// replaces or extends the stored input's members. If the result does not fit the workflow's schema, the error's code
// is invalid_input.
func inputOf(rec Recorder, wf *workflow.Workflow, over json.RawMessage) (json.RawMessage, error) {
	input, err := changedInput(rec, over)
	if err != nil {
		return nil, err
	}
	return input, wf.ValidateInput(input)
}

// changedInput returns the run's input at the tip with its secrets and the changes in over, or nil if the run has no input and
// over is nil. Code: secret_missing if this clone does not have a secret of a member that over leaves.
func changedInput(rec Recorder, over json.RawMessage) (json.RawMessage, error) {
	input, err := rec.State().Input()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return timeline.WholeInput(rec.Reveal, input, over)
}

// release makes unfinished nodes pending, so that their tasks are tried again:
//   - An interrupted node becomes pending. The attempt that the dead process left in progress becomes failed.
//   - A failed or cancelled node becomes pending, and gets all its tries again, unless the run does not fail with it (continue-on-error). With it,
//     the tasks that ask for failures become pending.
//   - A waiting node keeps its state if its task still waits for the same kind of thing. Otherwise release ends
//     the wait, and the node becomes pending.
//
// If the workflow no longer has a node's task, fit later drops the node.
func (r *runner) release() error {
	failed, barren := false, r.barren()
	for _, key := range r.keys() {
		n := r.nodes[key]
		switch n.State {
		case snapshot.NodeInProgress:
			if err := r.interrupt(key, n); err != nil {
				return err
			}
		case snapshot.NodeFailed, snapshot.NodeCancelled:
			if t := r.wf.Task(key.ID); t != nil && t.Allowed && n.State == snapshot.NodeFailed && !barren {
				continue
			}
			failed = failed || n.State == snapshot.NodeFailed
			r.tries.spent[key] = 0
		case snapshot.NodeWaitingApproval, snapshot.NodeWaitingHuman, snapshot.NodeWaitingEvent, snapshot.NodeWaitingTimer:
			if waitsAsBefore(r.wf.Task(key.ID), n) {
				continue
			}
			if err := r.abandon(key, n, "the workflow changed"); err != nil {
				return err
			}
		case snapshot.NodePending, snapshot.NodeFinished, snapshot.NodeSkipped:
			continue
		}
		if r.wf.Task(key.ID) == nil {
			continue // fit drops the node later
		}
		r.again(key, n)
	}
	if failed {
		r.askAgain()
	}
	return nil
}

// again makes a node pending.
func (r *runner) again(key workflow.NodeKey, n snapshot.Node) {
	n.State = snapshot.NodePending
	r.setNode(r.next, n)
	r.next.event("NodePending", payload{NodeID: key.ID, Iteration: &key.Iteration})
}

// askAgain makes the tasks that ask for failures pending: what has failed is tried again.
func (r *runner) askAgain() {
	for _, t := range r.wf.Tasks {
		key := workflow.NodeKey{ID: t.ID}
		if n, ok := r.nodes[key]; ok && t.AfterFailure() && over(n.State) {
			r.again(key, n)
		}
	}
}

// waitsAsBefore reports whether the task of a waiting node still has a wait of the same kind. t is nil if the
// workflow no longer has the task.
func waitsAsBefore(t *workflow.Task, n snapshot.Node) bool {
	return t != nil && t.WaitState() == n.State
}

// interrupt records that the process of the node's last attempt died. If the journal has the attempt in progress, the
// attempt becomes a failed attempt, and its log and its tool calls so far are stored. Otherwise, or without a last attempt, interrupt
// only adds a phrase to the subject. The caller sets the node's new state.
func (r *runner) interrupt(key workflow.NodeKey, n snapshot.Node) error {
	why := reason{reasonInterrupted, "the process that ran the command died"}
	r.next.say(key.Name(r.wf.Task(key.ID)), "was interrupted")
	if n.LastAttempt == nil {
		return nil
	}
	a, ok, err := r.journal.attempt(key, *n.LastAttempt)
	if err != nil || !ok || a.State != snapshot.AttemptInProgress {
		return err
	}
	a.State, a.Error, a.FinishedAtMs = snapshot.AttemptFailed, why.String(), &r.next.atMs
	r.next.end(a)
	if r.opts.Logs != nil {
		r.next.logAsShown(a, r.opts.Logs.Last(keyOf(a)))
	}
	calls, err := r.leftCalls(a)
	if err != nil {
		return timeline.Explain(err)
	}
	r.next.journal = append(r.next.journal, calls...)
	r.next.event("NodeFailed", payload{NodeID: key.ID, Iteration: &key.Iteration, Attempt: a.Attempt, Error: a.Error})
	return nil
}

// abandon ends a wait that cannot continue. It removes the node's mailbox rows and adds the event of a withdrawn
// request or timer. It also cancels the node's last attempt if the attempt has not ended. why is the attempt's reason.
// The caller sets the node's new state.
func (r *runner) abandon(key workflow.NodeKey, n snapshot.Node, why string) error {
	if err := withdraw(r.next, r.rec.State(), n); err != nil {
		return err
	}
	r.unmail(r.next, key)
	if n.LastAttempt == nil {
		return nil
	}
	a, ok, err := r.journal.attempt(key, *n.LastAttempt)
	if err != nil || !ok || a.FinishedAtMs != nil {
		return err
	}
	r.next.cancel(a, why)
	return nil
}
