package engine

import (
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// beginWait starts the wait of a ready node. A new attempt and the node get the waiting state, and the mailbox gets
// a row. If a text of the task cannot be filled, the attempt fails instead.
func (r *runner) beginWait(t *workflow.Task, key workflow.NodeKey) error {
	number, _, err := r.nextAttempt(key)
	if err != nil {
		return err
	}
	texts, why, err := r.data.texts(t, key)
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
	if why != nil {
		r.conclude(t, a, ending{failed: why})
		return nil
	}
	r.next.attempt(a)
	start := waitStart{next: r.next, state: r.rec.State(), task: t, attempt: a, texts: texts}
	return start.ask()
}

// waitStart adds the beginning of a task's wait to a draft: the row in the mailbox, and the events.
type waitStart struct {
	next    *draft          // gets the changes
	state   *snapshot.State // at the tip
	task    *workflow.Task
	attempt snapshot.Attempt
	texts   map[*workflow.Template]string // the task's texts with their placeholders filled
}

// ask adds the mailbox row, the events and the phrase of the task's wait to w.next.
func (w *waitStart) ask() error {
	switch {
	case w.task.Approval != nil:
		w.approval()
	case w.task.Human != nil:
		w.human()
	case w.task.WaitFor != nil:
		return w.signal()
	default:
		w.timer()
	}
	return nil
}

// approval adds the row, the events and the phrase of a requested approval to w.next. The title is the task's approval
// title, or else the task's label or id.
func (w *waitStart) approval() {
	a := w.attempt
	row := snapshot.Approval{
		NodeID: a.NodeID, Iteration: a.Iteration, Attempt: a.Attempt,
		Status: snapshot.ApprovalRequested, RequestedAtMs: a.StartedAtMs,
		Title: w.task.Title(),
	}
	if w.task.Approval.Title != nil {
		row.Title = w.texts[w.task.Approval.Title]
	}
	if w.task.Approval.Summary != nil {
		row.Summary = w.texts[w.task.Approval.Summary]
	}
	encoded := snapshot.EncodeApproval(row)
	w.next.setMail(snapshot.CollectionApprovals, encoded.Key, encoded.Value)
	p := mailbox.Event{Request: &mailbox.ApprovalRequest{Mode: workflow.ApprovalMode, Title: row.Title, Summary: row.Summary}}
	w.tell("ApprovalRequested", p)
	w.tell("NodeWaitingApproval", p)
	w.say("approval")
}

// human adds the row, the events and the phrase of a human request to w.next. The request has the task's prompt, form
// and timeout.
func (w *waitStart) human() {
	a := w.attempt
	row := snapshot.HumanRequest{
		NodeID: a.NodeID, Iteration: a.Iteration, Attempt: a.Attempt,
		Kind: w.task.Human.Kind, Status: snapshot.HumanPending, Prompt: w.texts[w.task.Human.Prompt], Form: w.task.Human.Form,
		RequestedAtMs: a.StartedAtMs, TimeoutAtMs: after(a.StartedAtMs, w.task.Human.Timeout),
	}
	encoded := snapshot.EncodeHumanRequest(row)
	w.next.setMail(snapshot.CollectionHumanRequests, encoded.Key, encoded.Value)
	p := mailbox.Event{
		RequestID: row.RequestID(w.next.runID), Kind: row.Kind, Prompt: row.Prompt, TimeoutAtMs: row.TimeoutAtMs,
	}
	w.tell("HumanRequestCreated", p)
	w.tell("NodeWaitingHuman", p)
	w.say("an answer")
}

// signal adds the row, the event and the phrase of a wait for a signal to w.next. If the node's previous attempt
// waited with the same filter, the new wait takes only signals after the signal that the previous attempt took. A
// retry thus never takes the same signal twice.
func (w *waitStart) signal() error {
	a, want := w.attempt, w.task.WaitFor
	row := snapshot.Wait{
		NodeID: a.NodeID, Iteration: a.Iteration, Attempt: a.Attempt,
		Kind: snapshot.WaitSignal, Status: snapshot.WaitWaiting,
		Signal: want.Signal, AnyCorrelation: want.AnyCorrelation,
		StartedAtMs: a.StartedAtMs, DueAtMs: after(a.StartedAtMs, want.Timeout),
	}
	if want.Correlation != nil {
		row.CorrelationID = new(w.texts[want.Correlation])
	}
	before, ok, err := mailbox.ReadWait(w.state, a.NodeID, a.Iteration)
	if err != nil {
		return err
	}
	if ok && mailbox.SameFilter(before, row) {
		row.SignalSeq = before.SignalSeq
	}
	w.next.setWait(row)
	w.tell("NodeWaitingEvent", mailbox.Event{
		EventName: row.Signal, CorrelationID: mailbox.OrNull(row.CorrelationID), TimeoutAtMs: row.DueAtMs,
	})
	w.say("signal " + row.Signal)
	return nil
}

// timer adds the row, the events and the phrase of a timer to w.next. The timer fires when the task's duration has
// passed since the attempt's start or, if the task has no duration, at the task's time.
func (w *waitStart) timer() {
	a := w.attempt
	due := after(a.StartedAtMs, w.task.Timer.After)
	if due == nil {
		due = new(w.task.Timer.Until.UnixMilli())
	}
	w.next.setWait(snapshot.Wait{
		NodeID: a.NodeID, Iteration: a.Iteration, Attempt: a.Attempt,
		Kind: snapshot.WaitTimer, Status: snapshot.WaitWaiting,
		StartedAtMs: a.StartedAtMs, DueAtMs: due,
	})
	p := mailbox.Event{FiresAtMs: due}
	w.tell("NodeWaitingTimer", p)
	p.TimerID = a.NodeID
	w.tell("TimerCreated", p)
	w.say("its timer")
}

// tell adds a mailbox event of the given kind for the attempt.
func (w *waitStart) tell(kind string, e mailbox.Event) {
	w.next.mail(kind, e.At(w.attempt.NodeID, w.attempt.Iteration, w.attempt.Attempt))
}

// say adds the phrase "NAME waits for WHAT" to the frame's subject and a step to the frame. NAME is the node's name,
// and what is WHAT.
func (w *waitStart) say(what string) {
	a := w.attempt
	name := workflow.NodeKey{ID: a.NodeID, Iteration: a.Iteration}.Name(w.task)
	w.next.say(name, "waits for "+what)
	w.next.step(name, w.task.WaitState(), a.StartedAtMs, 0)
}

// after returns the time d after ms, in Unix milliseconds like ms, or nil if d is zero.
func after(ms int64, d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	return new(ms + d.Milliseconds())
}
