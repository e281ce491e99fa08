package engine

import (
	"encoding/json"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// decision is the output of an approval.
type decision struct {
	Approved  bool            `json:"approved"`
	Note      json.RawMessage `json:"note"`      // nil if the person gave no note
	DecidedBy json.RawMessage `json:"decidedBy"` // nil if the person's name is unknown
	DecidedAt string          `json:"decidedAt"` // as mailbox.ShowTime returns it
}

// waitEnd determines how a wait has ended: by the tip's mailbox, or by the clock.
type waitEnd struct {
	next    *draft          // gets the changed mailbox rows and events
	state   *snapshot.State // at the tip
	signals *mailbox.SignalBook
	now     time.Time
	reveal  snapshot.Reveal // returns texts of people with their secrets
}

// of returns the ending of an attempt's wait, or nil while the attempt still waits. The end of a wait for a signal or a
// timer is also recorded in w.next. found is false in these cases:
//   - The mailbox has no row of this attempt.
//   - The row of a signal or a timer has ended before.
func (w *waitEnd) of(t *workflow.Task, a snapshot.Attempt) (end *ending, found bool, err error) {
	key := snapshot.Key(a.NodeID, a.Iteration)
	switch t.WaitState() {
	case snapshot.NodeWaitingApproval:
		row, ok, err := mailbox.ReadRow(w.state.Approvals(), key, snapshot.DecodeApproval)
		if err != nil || !ok || row.Attempt != a.Attempt {
			return nil, false, err
		}
		end, err = w.decided(t, row, key)
		return end, true, err
	case snapshot.NodeWaitingHuman:
		row, ok, err := mailbox.ReadRow(w.state.HumanRequests(), key, snapshot.DecodeHumanRequest)
		if err != nil || !ok || row.Attempt != a.Attempt {
			return nil, false, err
		}
		end, err = w.answered(t.Human, row, key)
		return end, true, err
	default:
		row, ok, err := mailbox.ReadRow(w.state.Waits(), key, snapshot.DecodeWait)
		if err != nil || !ok || row.Attempt != a.Attempt || row.Status != snapshot.WaitWaiting {
			return nil, false, err
		}
		if row.Kind == snapshot.WaitTimer {
			end, err = w.fired(row)
		} else {
			end, err = w.received(t.WaitFor, row)
		}
		return end, true, err
	}
}

// decided returns the ending of an approval's wait, or nil while the approval is pending. An approved task is
// finished, and its output contains the decision. A denied task fails with on_deny: fail, and is skipped with
// on_deny: skip. With on_deny: continue, the denied task is finished, and its output contains the denial. key is the key of the approval.
func (w *waitEnd) decided(t *workflow.Task, a snapshot.Approval, key string) (*ending, error) {
	if a.Status == snapshot.ApprovalRequested {
		return nil, nil
	}
	approved, at := a.Status == snapshot.ApprovalApproved, mailbox.ShowTime(*a.DecidedAtMs)
	verb := mailbox.ByWhom(a.Status, a.DecidedBy)
	stored, err := jsontext.Encode(decision{approved, stringOf(a.Note), stringOf(a.DecidedBy), at})
	if err != nil {
		return nil, timeline.Explain(err)
	}
	denied := !approved && t.Approval.OnDeny != workflow.OtherwiseContinue
	reveal := revealText
	if !denied && t.Output != "" { // tasks read the output
		reveal = wholeText
	}
	var quotes []snapshot.Quote
	for member, text := range map[string]**string{"note": &a.Note, "decidedBy": &a.DecidedBy} {
		quotes = append(quotes, snapshot.Quote{At: snapshot.Place{Collection: snapshot.CollectionApprovals, Key: key, Member: member}, Text: stringOf(*text)})
		if *text, err = reveal(w.reveal, quotes[len(quotes)-1].At, *text); err != nil {
			return nil, err
		}
	}
	if denied {
		text := verb
		if a.Note != nil {
			text += ": " + *a.Note
		}
		return otherwise(t.Approval.OnDeny, verb, &reason{reasonDenied, text}), nil
	}
	output, err := jsontext.Encode(decision{approved, stringOf(a.Note), stringOf(a.DecidedBy), at})
	return &ending{verb: verb, output: output, stored: stored, quotes: quotes}, timeline.Explain(err)
}

// stringOf returns text as rows have it in JSON, or nil if text is nil.
func stringOf(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	return page.AppendString(nil, *text)
}

// said returns an ending with the output value, the text of a person that the mailbox has at a place.
func (w *waitEnd) said(verb string, at snapshot.Place, value json.RawMessage) (*ending, error) {
	whole, err := w.reveal(at, value)
	return &ending{verb: verb, output: whole, stored: value, quotes: []snapshot.Quote{{At: at, Text: value}}}, err
}

// answered returns the ending of a human request's wait, or nil while the request is pending. If the request was
// answered, the output is the answer. If the request was cancelled, the task fails. If the request has expired, the
// ending depends on the task's on_timeout. key is the key of the request.
func (w *waitEnd) answered(t *workflow.Human, h snapshot.HumanRequest, key string) (*ending, error) {
	switch h.Status {
	case snapshot.HumanAnswered:
		at := snapshot.Place{Collection: snapshot.CollectionHumanRequests, Key: key, Member: "response"}
		return w.said(mailbox.ByWhom("answered", h.AnsweredBy), at, h.Response)
	case snapshot.HumanCancelled:
		return &ending{failed: &reason{reasonRequestCancelled, mailbox.ByWhom("the request was cancelled", h.AnsweredBy)}}, nil
	case snapshot.HumanExpired:
		return timedOut(t.OnTimeout, "no answer", h.RequestedAtMs, *h.TimeoutAtMs), nil
	}
	return nil, nil //nolint:nilnil // the request is pending
}

// received returns the ending of a wait for a signal, or nil if no signal has arrived and the timeout has not passed.
// A signal that arrived in time wins over the timeout. After the timeout, the ending depends on the task's
// on_timeout. received records the end of the wait in w.next, and a taken signal in w.signals.
func (w *waitEnd) received(t *workflow.WaitFor, row snapshot.Wait) (*ending, error) {
	key, ok, err := w.signals.Find(w.state, row)
	if err != nil {
		return nil, err
	}
	row.EndedAtMs = new(w.now.UnixMilli())
	switch {
	case ok:
		s, _, err := mailbox.ReadRow(w.state.Signals(), key, snapshot.DecodeSignal)
		if err != nil {
			return nil, err
		}
		row.Status, row.SignalSeq = snapshot.WaitReceived, &s.Seq
		end, err := w.said("received signal "+s.Name, snapshot.Place{Collection: snapshot.CollectionSignals, Key: key, Member: "payload"}, s.Payload)
		if err != nil {
			return nil, err
		}
		w.signals.Take(row)
		w.next.setWait(row)
		return end, nil
	case row.DueAtMs != nil && *row.DueAtMs <= w.now.UnixMilli():
		row.Status = snapshot.WaitExpired
		w.next.setWait(row)
		return timedOut(t.OnTimeout, "no signal "+row.Signal, row.StartedAtMs, *row.DueAtMs), nil
	}
	return nil, nil
}

// fired returns the ending of a timer's wait, or nil before the timer's time. If the timer has fired, fired records
// the end of the wait in w.next, and the output has the time of the end.
func (w *waitEnd) fired(row snapshot.Wait) (*ending, error) {
	if *row.DueAtMs > w.now.UnixMilli() {
		return nil, nil
	}
	row.Status, row.EndedAtMs = snapshot.WaitFired, new(w.now.UnixMilli())
	w.next.setWait(row)
	w.next.mail("TimerFired", mailbox.Event{TimerID: row.NodeID, FiresAtMs: row.DueAtMs}.At(row.NodeID, row.Iteration, row.Attempt))
	output, err := jsontext.Encode(map[string]string{"firedAt": mailbox.ShowTime(*row.EndedAtMs)})
	return &ending{verb: "is over", output: output}, timeline.Explain(err)
}

// checked returns end if its output fits the schema of the task's table, and otherwise a failed ending. It trims
// the white space around the output. If the task has no table, or end has failed or is skipped, checked returns end
// unchanged.
func checked(wf *workflow.Workflow, t *workflow.Task, end ending) ending {
	if t.Output == "" || end.failed != nil || end.skipped {
		return end
	}
	output, err := wf.Schema(t.Output).CheckOutput(t.Output, end.output)
	if err != nil {
		return ending{failed: &reason{reasonOutput, err.Error()}}
	}
	end.output = output
	return end
}

// withdraw adds the event that a waiting node's request or timer is cancelled. withdraw adds an event only for a
// pending human request or a running timer. For other waits, it does nothing. The caller removes the mailbox row.
func withdraw(d *draft, state *snapshot.State, n snapshot.Node) error {
	switch n.State {
	case snapshot.NodeWaitingHuman:
		h, ok, err := mailbox.ReadRow(state.HumanRequests(), snapshot.Key(n.NodeID, n.Iteration), snapshot.DecodeHumanRequest)
		if err != nil || !ok || h.Status != snapshot.HumanPending {
			return err
		}
		d.mail("HumanRequestCancelled", mailbox.Event{RequestID: h.RequestID(d.runID), Kind: h.Kind}.At(h.NodeID, h.Iteration, h.Attempt))
	case snapshot.NodeWaitingTimer:
		w, ok, err := mailbox.ReadWait(state, n.NodeID, n.Iteration)
		if err != nil || !ok || w.Status != snapshot.WaitWaiting {
			return err
		}
		d.mail("TimerCancelled", mailbox.Event{TimerID: w.NodeID, FiresAtMs: w.DueAtMs}.At(w.NodeID, w.Iteration, w.Attempt))
	default:
	}
	return nil
}

// timedOut returns the ending of a wait whose time has passed. then is the task's on_timeout, and what names the
// missing answer in the reason. startedMs and dueMs are the start and the end of the wait, in Unix milliseconds.
func timedOut(then workflow.Otherwise, what string, startedMs, dueMs int64) *ending {
	within := time.Duration(dueMs-startedMs) * time.Millisecond
	return otherwise(then, "timed out", &reason{reasonTimeout, what + " within " + within.String()})
}

// otherwise returns the ending of a wait that was denied or timed out: with continue, a finished task with the
// output null; with skip, a skipped task; with fail, the failure why. verb describes a wait that did not fail.
func otherwise(then workflow.Otherwise, verb string, why *reason) *ending {
	switch then {
	case workflow.OtherwiseContinue:
		return &ending{verb: verb, output: json.RawMessage("null")}
	case workflow.OtherwiseSkip:
		return &ending{verb: verb, skipped: true}
	default:
		return &ending{failed: why}
	}
}
