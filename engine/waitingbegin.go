package engine

import (
	"time"

	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// beginWait starts the wait of a ready node: the attempt and the node get a waiting state, and the
// mailbox gets a row. If a text of the task cannot be filled, the node fails.
func (r *runner) beginWait(t *workflow.Task, key workflow.NodeKey) error {
	number, _, err := r.nextAttempt(key)
	if err != nil {
		return err
	}
	texts, why, err := r.texts(t, key)
	if err != nil {
		return err
	}
	n := r.nodes[key]
	n.State, n.LastAttempt = t.WaitState(), &number
	a := snapshot.Attempt{
		NodeID: key.ID, Iteration: key.Iteration, Attempt: number,
		State: string(n.State), StartedAtMs: r.next.atMs,
	}
	r.setNode(r.next, n)
	r.began[key] = r.rec.Row().Frame
	if why != nil {
		r.conclude(t, a, ending{failed: why})
		return nil
	}
	r.next.attempt(a)
	switch {
	case t.Approval != nil:
		r.requestApproval(t, a, texts)
	case t.Human != nil:
		r.requestAnswer(t, a, texts)
	case t.WaitFor != nil:
		return r.waitForSignal(t, a, texts)
	default:
		r.startTimer(t, a)
	}
	return nil
}

// texts returns the task's texts with their placeholders filled, by their templates.
// If one cannot be filled, why gives the reason.
func (r *runner) texts(t *workflow.Task, key workflow.NodeKey) (texts map[*workflow.Template]string, why *reason, err error) {
	all, where := t.Templates()
	if len(all) == 0 {
		return nil, nil, nil
	}
	members, err := r.members()
	if err != nil {
		return nil, nil, timeline.Explain(err)
	}
	texts = make(map[*workflow.Template]string, len(all))
	for i, tpl := range all {
		outputs, err := r.readRefs(tpl.Refs, t, key.Iteration)
		if err != nil {
			return nil, nil, err
		}
		text, trouble := tpl.Fill(members, outputs, r.runID, key)
		switch {
		case trouble != "":
			return nil, &reason{reasonTemplate, where[i] + ": " + trouble}, nil
		case text == "" && (t.Approval == nil || tpl != t.Approval.Summary):
			return nil, &reason{reasonTemplate, where[i] + " is empty"}, nil
		}
		texts[tpl] = text
	}
	return texts, nil, nil
}

func (r *runner) requestApproval(t *workflow.Task, a snapshot.Attempt, texts map[*workflow.Template]string) {
	row := snapshot.Approval{
		NodeID: a.NodeID, Iteration: a.Iteration, Attempt: a.Attempt,
		Status: snapshot.ApprovalRequested, RequestedAtMs: a.StartedAtMs,
		Title: t.Title(),
	}
	if t.Approval.Title != nil {
		row.Title = texts[t.Approval.Title]
	}
	if t.Approval.Summary != nil {
		row.Summary = texts[t.Approval.Summary]
	}
	encoded := snapshot.EncodeApproval(row)
	r.next.setMail(snapshot.CollectionApprovals, encoded.Key, encoded.Value)
	p := mailbox.Event{Request: &mailbox.ApprovalRequest{Mode: workflow.ApprovalMode, Title: row.Title, Summary: row.Summary}}.At(a.NodeID, a.Iteration, a.Attempt)
	r.next.mail("ApprovalRequested", p)
	r.next.mail("NodeWaitingApproval", p)
	r.sayWaits(t, a, "approval")
}

func (r *runner) requestAnswer(t *workflow.Task, a snapshot.Attempt, texts map[*workflow.Template]string) {
	row := snapshot.HumanRequest{
		NodeID: a.NodeID, Iteration: a.Iteration, Attempt: a.Attempt,
		Kind: t.Human.Kind, Status: snapshot.HumanPending, Prompt: texts[t.Human.Prompt], Form: t.Human.Form,
		RequestedAtMs: a.StartedAtMs, TimeoutAtMs: after(a.StartedAtMs, t.Human.Timeout),
	}
	encoded := snapshot.EncodeHumanRequest(row)
	r.next.setMail(snapshot.CollectionHumanRequests, encoded.Key, encoded.Value)
	p := mailbox.Event{
		RequestID: row.RequestID(r.runID), Kind: row.Kind, Prompt: row.Prompt, TimeoutAtMs: row.TimeoutAtMs,
	}.At(a.NodeID, a.Iteration, a.Attempt)
	r.next.mail("HumanRequestCreated", p)
	r.next.mail("NodeWaitingHuman", p)
	r.sayWaits(t, a, "an answer")
}

// waitForSignal begins to wait after the signal that the previous attempt took by the same filter.
func (r *runner) waitForSignal(t *workflow.Task, a snapshot.Attempt, texts map[*workflow.Template]string) error {
	w := t.WaitFor
	row := snapshot.Wait{
		NodeID: a.NodeID, Iteration: a.Iteration, Attempt: a.Attempt,
		Kind: snapshot.WaitSignal, Status: snapshot.WaitWaiting,
		Signal: w.Signal, AnyCorrelation: w.AnyCorrelation,
		StartedAtMs: a.StartedAtMs, DueAtMs: after(a.StartedAtMs, w.Timeout),
	}
	if w.Correlation != nil {
		row.CorrelationID = new(texts[w.Correlation])
	}
	before, ok, err := mailbox.ReadWait(r.rec.State(), a.NodeID, a.Iteration)
	if err != nil {
		return err
	}
	if ok && mailbox.SameFilter(before, row) {
		row.SignalSeq = before.SignalSeq
	}
	r.setWait(row)
	r.next.mail("NodeWaitingEvent", mailbox.Event{
		EventName: row.Signal, CorrelationID: mailbox.OrNull(row.CorrelationID), TimeoutAtMs: row.DueAtMs,
	}.At(a.NodeID, a.Iteration, a.Attempt))
	r.sayWaits(t, a, "signal "+row.Signal)
	return nil
}

func (r *runner) startTimer(t *workflow.Task, a snapshot.Attempt) {
	due := after(a.StartedAtMs, t.Timer.After)
	if due == nil {
		due = new(t.Timer.Until.UnixMilli())
	}
	r.setWait(snapshot.Wait{
		NodeID: a.NodeID, Iteration: a.Iteration, Attempt: a.Attempt,
		Kind: snapshot.WaitTimer, Status: snapshot.WaitWaiting,
		StartedAtMs: a.StartedAtMs, DueAtMs: due,
	})
	p := mailbox.Event{FiresAtMs: due}.At(a.NodeID, a.Iteration, a.Attempt)
	r.next.mail("NodeWaitingTimer", p)
	p.TimerID = a.NodeID
	r.next.mail("TimerCreated", p)
	r.sayWaits(t, a, "its timer")
}

func (r *runner) setWait(w snapshot.Wait) {
	encoded := snapshot.EncodeWait(w)
	r.next.setMail(snapshot.CollectionWaits, encoded.Key, encoded.Value)
}

func (r *runner) sayWaits(t *workflow.Task, a snapshot.Attempt, what string) {
	name := workflow.NodeKey{ID: a.NodeID, Iteration: a.Iteration}.Name(t)
	r.next.say(name, "waits for "+what)
	r.next.step(name, t.WaitState(), a.StartedAtMs, 0)
}

// after returns the time ms + d; nil if d is zero.
func after(ms int64, d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	return new(ms + d.Milliseconds())
}
