package engine

import (
	"encoding/json"
	"time"

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

// decided is how the wait for an approval has ended; nil while it is only requested.
func decided(t *Approval, a snapshot.Approval) (*ending, error) {
	if a.Status == snapshot.ApprovalRequested {
		return nil, nil
	}
	approved := a.Status == snapshot.ApprovalApproved
	verb := byWhom(a.Status, a.DecidedBy)
	if !approved && t.OnDeny != OtherwiseContinue {
		text := verb
		if a.Note != nil {
			text += ": " + *a.Note
		}
		return otherwise(t.OnDeny, verb, &reason{reasonDenied, text}), nil
	}
	output, err := encode(decision{approved, a.Note, a.DecidedBy, showTime(*a.DecidedAtMs)})
	return &ending{verb: verb, output: output}, timeline.Explain(err)
}

// answered is how the wait for an answer has ended; nil while the request is pending.
func answered(t *Human, h snapshot.HumanRequest) *ending {
	switch h.Status {
	case snapshot.HumanAnswered:
		return &ending{verb: byWhom("answered", h.AnsweredBy), output: h.Response}
	case snapshot.HumanCancelled:
		return &ending{failed: &reason{reasonRequestCancelled, byWhom("the request was cancelled", h.AnsweredBy)}}
	case snapshot.HumanExpired:
		return timedOut(t.OnTimeout, "no answer", h.RequestedAtMs, *h.TimeoutAtMs)
	}
	return nil
}

// received is how the wait for a signal has ended; nil while none has come.
func (r *runner) received(t *WaitFor, w snapshot.Wait, now time.Time) (*ending, error) {
	found, ok, err := r.signals.find(r.rec.State(), w)
	if err != nil {
		return nil, err
	}
	w.EndedAtMs = new(now.UnixMilli())
	switch {
	case ok:
		s, _, err := readMail(r.rec.State().Signals(), found.key, snapshot.DecodeSignal)
		if err != nil {
			return nil, err
		}
		w.Status, w.SignalSeq = snapshot.WaitReceived, &s.Seq
		r.signals.take(w)
		r.setWait(w)
		return &ending{verb: "received signal " + s.Name, output: s.Payload}, nil
	case w.DueAtMs != nil && *w.DueAtMs <= now.UnixMilli():
		w.Status = snapshot.WaitExpired
		r.setWait(w)
		return timedOut(t.OnTimeout, "no signal "+w.Signal, w.StartedAtMs, *w.DueAtMs), nil
	}
	return nil, nil
}

// fired is how a timer's wait has ended; nil before its time.
func (r *runner) fired(w snapshot.Wait, now time.Time) (*ending, error) {
	if *w.DueAtMs > now.UnixMilli() {
		return nil, nil
	}
	w.Status, w.EndedAtMs = snapshot.WaitFired, new(now.UnixMilli())
	r.setWait(w)
	r.next.mail("TimerFired", mailEvent{TimerID: w.NodeID, FiresAtMs: w.DueAtMs}.at(w.NodeID, w.Iteration, w.Attempt))
	output, err := encode(map[string]string{"firedAt": showTime(*w.EndedAtMs)})
	return &ending{verb: "is over", output: output}, timeline.Explain(err)
}

// timedOut is the end of a wait in which nothing came in time.
func timedOut(then Otherwise, what string, startedMs, dueMs int64) *ending {
	within := time.Duration(dueMs-startedMs) * time.Millisecond
	return otherwise(then, "timed out", &reason{reasonTimeout, what + " within " + within.String()})
}

// otherwise is the end of a wait that did not get what it waited for.
func otherwise(then Otherwise, verb string, why *reason) *ending {
	switch then {
	case OtherwiseContinue:
		return &ending{verb: verb, output: json.RawMessage("null")}
	case OtherwiseSkip:
		return &ending{verb: verb, skipped: true}
	default:
		return &ending{failed: why}
	}
}

// showTime is a time as outputs have it: RFC 3339, UTC, with milliseconds.
func showTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
