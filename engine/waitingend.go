package engine

import (
	"encoding/json"
	"time"

	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// decision is the output of an approval.
type decision struct {
	Approved  bool    `json:"approved"`
	Note      *string `json:"note"`
	DecidedBy *string `json:"decidedBy"`
	DecidedAt string  `json:"decidedAt"`
}

// decided returns the ending of an approval's wait; nil while it is pending.
func decided(t *workflow.Approval, a snapshot.Approval) (*ending, error) {
	if a.Status == snapshot.ApprovalRequested {
		return nil, nil
	}
	approved := a.Status == snapshot.ApprovalApproved
	verb := mailbox.ByWhom(a.Status, a.DecidedBy)
	if !approved && t.OnDeny != workflow.OtherwiseContinue {
		text := verb
		if a.Note != nil {
			text += ": " + *a.Note
		}
		return otherwise(t.OnDeny, verb, &reason{reasonDenied, text}), nil
	}
	output, err := jsontext.Encode(decision{approved, a.Note, a.DecidedBy, mailbox.ShowTime(*a.DecidedAtMs)})
	return &ending{verb: verb, output: output}, timeline.Explain(err)
}

// answered returns the ending of a human request's wait; nil while it is pending.
func answered(t *workflow.Human, h snapshot.HumanRequest) *ending {
	switch h.Status {
	case snapshot.HumanAnswered:
		return &ending{verb: mailbox.ByWhom("answered", h.AnsweredBy), output: h.Response}
	case snapshot.HumanCancelled:
		return &ending{failed: &reason{reasonRequestCancelled, mailbox.ByWhom("the request was cancelled", h.AnsweredBy)}}
	case snapshot.HumanExpired:
		return timedOut(t.OnTimeout, "no answer", h.RequestedAtMs, *h.TimeoutAtMs)
	}
	return nil
}

// received returns the ending of a signal's wait; nil until a signal arrives.
func (r *runner) received(t *workflow.WaitFor, w snapshot.Wait, now time.Time) (*ending, error) {
	key, ok, err := r.signals.Find(r.rec.State(), w)
	if err != nil {
		return nil, err
	}
	w.EndedAtMs = new(now.UnixMilli())
	switch {
	case ok:
		s, _, err := mailbox.ReadRow(r.rec.State().Signals(), key, snapshot.DecodeSignal)
		if err != nil {
			return nil, err
		}
		w.Status, w.SignalSeq = snapshot.WaitReceived, &s.Seq
		r.signals.Take(w)
		r.setWait(w)
		return &ending{verb: "received signal " + s.Name, output: s.Payload}, nil
	case w.DueAtMs != nil && *w.DueAtMs <= now.UnixMilli():
		w.Status = snapshot.WaitExpired
		r.setWait(w)
		return timedOut(t.OnTimeout, "no signal "+w.Signal, w.StartedAtMs, *w.DueAtMs), nil
	}
	return nil, nil
}

// fired returns the ending of a timer's wait; nil before its time.
func (r *runner) fired(w snapshot.Wait, now time.Time) (*ending, error) {
	if *w.DueAtMs > now.UnixMilli() {
		return nil, nil
	}
	w.Status, w.EndedAtMs = snapshot.WaitFired, new(now.UnixMilli())
	r.setWait(w)
	r.next.mail("TimerFired", mailbox.Event{TimerID: w.NodeID, FiresAtMs: w.DueAtMs}.At(w.NodeID, w.Iteration, w.Attempt))
	output, err := jsontext.Encode(map[string]string{"firedAt": mailbox.ShowTime(*w.EndedAtMs)})
	return &ending{verb: "is over", output: output}, timeline.Explain(err)
}

// timedOut returns the ending of a wait whose time has passed.
func timedOut(then workflow.Otherwise, what string, startedMs, dueMs int64) *ending {
	within := time.Duration(dueMs-startedMs) * time.Millisecond
	return otherwise(then, "timed out", &reason{reasonTimeout, what + " within " + within.String()})
}

// otherwise returns the ending of a wait that was denied or timed out.
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
