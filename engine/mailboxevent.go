package engine

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
)

// approvalMode is Smithers' word for an approval that is a yes or a no.
const approvalMode = "decision"

// mailEvent is what an event of the mailbox tells, under Smithers' names. The fields
// that do not apply are left out.
type mailEvent struct {
	RunID     string `json:"runId"`
	NodeID    string `json:"nodeId,omitempty"`
	Iteration *int   `json:"iteration,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`

	Request   *approvalRequest `json:"request,omitempty"`
	Note      *string          `json:"note,omitempty"`
	DecidedBy *string          `json:"decidedBy,omitempty"`

	RequestID   string  `json:"requestId,omitempty"`
	Kind        string  `json:"kind,omitempty"`
	Prompt      string  `json:"prompt,omitempty"`
	TimeoutAtMs *int64  `json:"timeoutAtMs,omitempty"`
	AnsweredBy  *string `json:"answeredBy,omitempty"`
	CancelledBy *string `json:"cancelledBy,omitempty"`

	SignalSeq     *int64          `json:"signalSeq,omitempty"`
	SignalName    string          `json:"signalName,omitempty"`
	EventName     string          `json:"eventName,omitempty"`
	CorrelationID json.RawMessage `json:"correlationId,omitempty"` // a text or null

	TimerID   string `json:"timerId,omitempty"`
	FiresAtMs *int64 `json:"firesAtMs,omitempty"`
}

type approvalRequest struct {
	Mode    string `json:"mode"`
	Title   string `json:"title"`
	Summary string `json:"summary"`
}

// at is the event with the node that it is about.
func (p mailEvent) at(node string, iteration, attempt int) mailEvent {
	p.NodeID, p.Iteration, p.Attempt = node, &iteration, attempt
	return p
}

// event is the event as an entry has it.
func (p mailEvent) event(run, kind string, atMs int64) (snapshot.Event, error) {
	p.RunID = run
	text, err := encode(p)
	return snapshot.Event{Type: kind, AtMs: atMs, Payload: text}, err
}

// orNull is a text as JSON, null for none.
func orNull(text *string) json.RawMessage {
	encoded, err := encode(text)
	if err != nil {
		return json.RawMessage("null")
	}
	return encoded
}

// mail adds an event of the mailbox.
func (d *draft) mail(kind string, p mailEvent) {
	event, err := p.event(d.runID, kind, d.atMs)
	if err != nil {
		d.fail(err)
		return
	}
	d.events = append(d.events, event)
}

// setMail writes a row of the mailbox.
func (d *draft) setMail(collection, key string, value []byte) {
	d.state = append(d.state, mailChange(collection, key, value))
}

func mailChange(collection, key string, value []byte) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: collection, Key: key, Value: value}
}
