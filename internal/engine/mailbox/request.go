package mailbox

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Request returns the human request that a letter at p would answer at the tip that rec has read. The error's code is:
//   - request_not_found, if p has no request;
//   - usage, if p names no node and several nodes wait;
//   - not_pending, if the request is closed or has expired at the time at. Request then also returns the request.
func Request(rec Recorder, p Place, at time.Time) (snapshot.HumanRequest, error) {
	h, err := find(rec.State().AllHumanRequests(), seenHuman, p, rec.Row().ID, "an answer")
	if err != nil {
		return h, err
	}
	switch {
	case h.Status != snapshot.HumanPending:
		return h, notPending(h.NodeID, h.Iteration, "the request", h.Status, h.AnsweredBy, h.AnsweredAtMs)
	case isDue(h, at):
		return h, notPending(h.NodeID, h.Iteration, "the request", snapshot.HumanExpired, nil, h.TimeoutAtMs)
	}
	return h, nil
}

// isDue reports whether the timeout of a request has passed at the given time.
func isDue(h snapshot.HumanRequest, at time.Time) bool {
	return h.TimeoutAtMs != nil && *h.TimeoutAtMs <= at.UnixMilli()
}

// requestChange returns the change that writes the row of a human request.
func requestChange(h snapshot.HumanRequest) snapshot.Change {
	row := snapshot.EncodeHumanRequest(h)
	return SetRow(snapshot.CollectionHumanRequests, row.Key, row.Value)
}

// requestEvent returns the event of the given kind for a request of run that is no longer pending. The event names
// the person who answered or cancelled the request, or the timeout that has passed. The event's time is the request's
// AnsweredAtMs, which must be set.
func requestEvent(run, kind string, h snapshot.HumanRequest) (snapshot.Event, error) {
	p := Event{RequestID: h.RequestID(run), Kind: h.Kind}
	switch h.Status {
	case snapshot.HumanAnswered:
		p.AnsweredBy = h.AnsweredBy
	case snapshot.HumanCancelled:
		p.CancelledBy = h.AnsweredBy
	case snapshot.HumanExpired:
		p.TimeoutAtMs = h.TimeoutAtMs
	}
	event, err := p.At(h.NodeID, h.Iteration, h.Attempt).Encode(run, kind, *h.AnsweredAtMs)
	return event, timeline.Explain(err)
}

// checkAnswer checks an answer against the request's form, and returns it with the form's defaults for the members that it lacks. Without a form, the
// answer must be a text. If the answer does not fit, the error's code is invalid_input. If the check may take too long, the code is limit_exceeded.
// If the form is not a valid schema, the code is invalid_state.
func checkAnswer(h snapshot.HumanRequest, answer json.RawMessage) (json.RawMessage, error) {
	if h.Form == nil {
		if json.Unmarshal(answer, new(string)) != nil || answer[0] != '"' {
			return nil, fault.New(fault.InvalidInput, "the answer must be a text").Hint(`put the text in JSON quotes: '"yes"'`)
		}
		return answer, nil
	}
	form, err := schema.Compile(h.Form, &schema.Bounds{Stored: true})
	if err != nil {
		return nil, fault.New(fault.InvalidState, "the form of the request of %s is not a valid schema: %w", snapshot.Key(h.NodeID, h.Iteration), err)
	}
	answer, value, err := schema.DecodeValue(form.Fill(answer))
	if err == nil {
		err = form.Check("answer", value)
	}
	if err != nil {
		return nil, schema.Misfit(err).Hint("answer with a value that fits the form %s", schema.Brief(h.Form))
	}
	return answer, nil
}

// Expire closes the pending human requests whose timeout has passed at the given time, and returns their number. It
// first reads the newest tip.
func Expire(ctx context.Context, rec Recorder, at time.Time) (int, error) {
	if err := rec.Refresh(ctx); err != nil {
		return 0, err
	}
	return ExpireAtTip(ctx, rec, at, func() error { return nil })
}

// ExpireAtTip closes the pending human requests whose timeout has passed at the given time, and returns their number.
// Unlike Expire, it begins at the tip that rec has read. It calls check before each attempt to append. If check returns
// an error, ExpireAtTip appends nothing and returns this error.
func ExpireAtTip(ctx context.Context, rec Recorder, at time.Time, check func() error) (int, error) {
	count, operation := 0, newOperation()
	err := rec.Update(ctx, func() (*snapshot.Draft, error) {
		if err := check(); err != nil {
			return nil, err
		}
		d, n, err := expiry(rec, at)
		count = n
		if err != nil || n == 0 {
			return nil, err
		}
		d.Operation = operation
		return d, nil
	})
	if err != nil {
		return 0, err
	}
	return count, nil
}

// expiry returns the draft of the entry that closes the requests that have expired at the given time. n is the number
// of these requests. If n is 0, the draft has no changes and must not be appended.
func expiry(rec Recorder, at time.Time) (d *snapshot.Draft, n int, err error) {
	var names []string
	d = newDraft("", at, "", nil)
	for h, err := range rec.State().AllHumanRequests() {
		if err != nil {
			return nil, 0, timeline.Explain(err)
		}
		if h.Status != snapshot.HumanPending || !isDue(h, at) {
			continue
		}
		h.Status, h.AnsweredAtMs = snapshot.HumanExpired, new(at.UnixMilli())
		event, err := requestEvent(rec.Row().ID, "HumanRequestExpired", h)
		if err != nil {
			return nil, 0, err
		}
		d.Mailbox, d.Events = append(d.Mailbox, requestChange(h)), append(d.Events, event)
		names = append(names, snapshot.Key(h.NodeID, h.Iteration))
	}
	d.Subject = strings.Join(names, ", ") + " expired"
	return d, len(names), nil
}
