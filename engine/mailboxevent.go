package engine

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
)

// mailEvent is the JSON of a mailbox event, with Smithers' names. Fields that do not apply are
// omitted.
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
	CorrelationID json.RawMessage `json:"correlationId,omitempty"` // a string or null

	TimerID   string `json:"timerId,omitempty"`
	FiresAtMs *int64 `json:"firesAtMs,omitempty"`
}

type approvalRequest struct {
	Mode    string `json:"mode"`
	Title   string `json:"title"`
	Summary string `json:"summary"`
}

// at returns the event with its node.
func (p mailEvent) at(node string, iteration, attempt int) mailEvent {
	p.NodeID, p.Iteration, p.Attempt = node, &iteration, attempt
	return p
}

// event encodes the event for an entry.
func (p mailEvent) event(run, kind string, atMs int64) (snapshot.Event, error) {
	p.RunID = run
	text, err := jsontext.Encode(p)
	return snapshot.Event{Type: kind, AtMs: atMs, Payload: text}, err
}

// orNull returns a text as JSON; null if nil.
func orNull(text *string) json.RawMessage {
	encoded, err := jsontext.Encode(text)
	if err != nil {
		return json.RawMessage("null")
	}
	return encoded
}

func mailChange(collection, key string, value []byte) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: collection, Key: key, Value: value}
}
