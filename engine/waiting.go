package engine

import (
	"context"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// waiting returns the waiting nodes at the newest iteration of each task, sorted.
func (r *runner) waiting() []workflow.NodeKey {
	var keys []workflow.NodeKey
	for _, t := range r.wf.Tasks {
		key := workflow.NodeKey{ID: t.ID, Iteration: r.iteration(t)}
		if t.Run == "" && r.nodes[key].State.Waiting() {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, workflow.CompareKeys)
	return keys
}

// settle ends the waits that the tip's mailbox or the clock has ended: their nodes are finished,
// skipped or failed. It first appends expired requests.
func (r *runner) settle(ctx context.Context) error {
	waiting := r.waiting()
	if len(waiting) == 0 {
		return nil
	}
	now := r.opts.Now()
	r.next.atMs = max(r.next.atMs, now.UnixMilli())
	if due, err := r.nextDue(); err != nil {
		return err
	} else if !due.IsZero() && !due.After(now) {
		if err := r.catchUp(ctx, now); err != nil || r.stopping {
			return err
		}
	}
	for _, key := range waiting {
		if err := r.settleNode(r.wf.Task(key.ID), key, now); err != nil {
			return err
		}
	}
	return nil
}

// catchUp reads the tip before the clock decides, so that an act in time
// counts. Then it appends expired requests.
func (r *runner) catchUp(ctx context.Context, now time.Time) error {
	if err := r.rec.Refresh(ctx); err != nil {
		return err
	}
	_, err := mailbox.ExpireAtTip(ctx, r.rec, now, r.checkTip)
	return err
}

func (r *runner) settleNode(t *workflow.Task, key workflow.NodeKey, now time.Time) error {
	n := r.nodes[key]
	if n.LastAttempt == nil {
		return r.waitAnew(t, key)
	}
	a, ok, err := r.pastAttempt(key, *n.LastAttempt)
	if err != nil {
		return err
	}
	if !ok || a.FinishedAtMs != nil {
		return r.waitAnew(t, key)
	}
	end, found, err := r.endingOf(t, a, now)
	switch {
	case err != nil:
		return err
	case !found:
		return r.waitAnew(t, key)
	case end != nil:
		r.conclude(t, a, r.checked(t, *end))
	}
	return nil
}

// endingOf returns the ending of an attempt's wait, or nil while it waits. found is false if
// the mailbox row is missing.
func (r *runner) endingOf(t *workflow.Task, a snapshot.Attempt, now time.Time) (end *ending, found bool, err error) {
	key := snapshot.Key(a.NodeID, a.Iteration)
	state := r.rec.State()
	switch t.WaitState() {
	case snapshot.NodeWaitingApproval:
		row, ok, err := mailbox.ReadRow(state.Approvals(), key, snapshot.DecodeApproval)
		if err != nil || !ok || row.Attempt != a.Attempt {
			return nil, false, err
		}
		end, err = decided(t.Approval, row)
		return end, true, err
	case snapshot.NodeWaitingHuman:
		row, ok, err := mailbox.ReadRow(state.HumanRequests(), key, snapshot.DecodeHumanRequest)
		if err != nil || !ok || row.Attempt != a.Attempt {
			return nil, false, err
		}
		return answered(t.Human, row), true, nil
	default:
		row, ok, err := mailbox.ReadRow(state.Waits(), key, snapshot.DecodeWait)
		if err != nil || !ok || row.Attempt != a.Attempt || row.Status != snapshot.WaitWaiting {
			return nil, false, err
		}
		if row.Kind == snapshot.WaitTimer {
			end, err = r.fired(row, now)
		} else {
			end, err = r.received(t.WaitFor, row, now)
		}
		return end, true, err
	}
}

// checked returns the ending if its output fits the task's table, and otherwise a failed one.
func (r *runner) checked(t *workflow.Task, end ending) ending {
	if t.Output == "" || end.failed != nil || end.skipped {
		return end
	}
	output, err := r.wf.Schema(t.Output).CheckOutput(t.Output, end.output)
	if err != nil {
		return ending{failed: &reason{reasonOutput, err.Error()}}
	}
	end.output = output
	return end
}

// waitAnew makes a waiting node pending again if its mailbox row is missing, because its history was
// edited.
func (r *runner) waitAnew(t *workflow.Task, key workflow.NodeKey) error {
	n := r.nodes[key]
	if err := r.abandon(key, n, "there is nothing to wait for"); err != nil {
		return err
	}
	n.State = snapshot.NodePending
	r.setNode(r.next, n)
	r.next.event("NodePending", payload{NodeID: key.ID, Iteration: &key.Iteration})
	r.next.say(key.Name(t), "has nothing to wait for")
	return nil
}

// withdraw records that a request is withdrawn or a timer is stopped.
func (r *runner) withdraw(n snapshot.Node) error {
	state := r.rec.State()
	switch n.State {
	case snapshot.NodeWaitingHuman:
		h, ok, err := mailbox.ReadRow(state.HumanRequests(), snapshot.Key(n.NodeID, n.Iteration), snapshot.DecodeHumanRequest)
		if err != nil || !ok || h.Status != snapshot.HumanPending {
			return err
		}
		r.next.mail("HumanRequestCancelled", mailbox.Event{RequestID: h.RequestID(r.runID), Kind: h.Kind}.At(h.NodeID, h.Iteration, h.Attempt))
	case snapshot.NodeWaitingTimer:
		w, ok, err := mailbox.ReadWait(state, n.NodeID, n.Iteration)
		if err != nil || !ok || w.Status != snapshot.WaitWaiting {
			return err
		}
		r.next.mail("TimerCancelled", mailbox.Event{TimerID: w.NodeID, FiresAtMs: w.DueAtMs}.At(w.NodeID, w.Iteration, w.Attempt))
	default:
	}
	return nil
}

// nextDue returns the time of the next wait to end by the clock; zero if there is none.
func (r *runner) nextDue() (time.Time, error) {
	var next time.Time
	for _, key := range r.waiting() {
		due, err := mailbox.DueAt(r.rec.State(), r.nodes[key])
		if err != nil {
			return next, err
		}
		if due == nil {
			continue
		}
		if at := time.UnixMilli(*due); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, nil
}
