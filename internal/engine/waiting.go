package engine

import (
	"context"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// settle ends the waits that the tip's mailbox or the clock has ended. The nodes of these waits become finished,
// skipped or failed in r.next; a failed node with a try left becomes pending. If the clock has ended a wait, settle
// first reads the tip again, because an answer may have come in time. settle then also appends an entry that closes
// expired requests.
func (r *runner) settle(ctx context.Context) error {
	waiting := r.waiting(r.wf)
	if len(waiting) == 0 {
		return nil
	}
	now := r.opts.Now()
	r.next.atMs = max(r.next.atMs, now.UnixMilli())
	if due, err := r.nextDue(r.wf, r.rec.State()); err != nil {
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

// catchUp reads the tip again, so that an answer in time counts before the clock decides. Then it appends an entry
// that closes expired requests. If another process has taken over the run, the error's code is conflict.
func (r *runner) catchUp(ctx context.Context, now time.Time) error {
	if err := r.rec.Refresh(ctx); err != nil {
		return err
	}
	_, err := mailbox.ExpireAtTip(ctx, r.rec, now, r.checkTip)
	return err
}

// settleNode ends a node's wait if the mailbox or the clock has ended the wait. If neither has ended it, the node keeps
// waiting. If the attempt or its mailbox row is missing, or the attempt has ended before, settleNode makes the node
// pending. The node then begins a new wait. now is the current time.
func (r *runner) settleNode(t *workflow.Task, key workflow.NodeKey, now time.Time) error {
	n := r.nodes[key]
	if n.LastAttempt == nil {
		return r.waitAnew(t, key)
	}
	a, ok, err := r.journal.attempt(key, *n.LastAttempt)
	if err != nil {
		return err
	}
	if !ok || a.FinishedAtMs != nil {
		return r.waitAnew(t, key)
	}
	by := waitEnd{next: r.next, state: r.rec.State(), signals: r.signals, now: now, reveal: r.rec.Reveal}
	end, found, err := by.of(t, a)
	switch {
	case err != nil:
		return err
	case !found:
		return r.waitAnew(t, key)
	case end != nil:
		r.conclude(t, a, checked(r.wf, t, *end))
	}
	return nil
}

// waitAnew makes a waiting node pending, cancels its attempt and removes its mailbox rows. It is for a node without a
// valid attempt or mailbox row. Only an edit of the state can cause this.
func (r *runner) waitAnew(t *workflow.Task, key workflow.NodeKey) error {
	n := r.nodes[key]
	if err := r.abandon(key, n, "the record of the wait is missing"); err != nil {
		return err
	}
	n.State = snapshot.NodePending
	r.setNode(r.next, n)
	r.next.event("NodePending", payload{NodeID: key.ID, Iteration: &key.Iteration})
	r.next.say(key.Name(t), "waits again: the record of its wait is missing")
	return nil
}
