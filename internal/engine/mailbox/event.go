package mailbox

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Event is the JSON of a mailbox event, with Smithers' names. A zero field other than RunID is omitted.
type Event struct {
	RunID     string `json:"runId"`
	NodeID    string `json:"nodeId,omitempty"`
	Iteration *int   `json:"iteration,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`

	Request   *ApprovalRequest `json:"request,omitempty"`
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

	// A late decision: its row, and the row that counts.
	Collection string          `json:"collection,omitempty"`
	Key        string          `json:"key,omitempty"`
	Decision   json.RawMessage `json:"decision,omitempty"`
	First      json.RawMessage `json:"first,omitempty"`

	TimerID   string `json:"timerId,omitempty"`
	FiresAtMs *int64 `json:"firesAtMs,omitempty"`
}

// ApprovalRequest is the question of an approval, as events show it.
type ApprovalRequest struct {
	Mode    string `json:"mode"`
	Title   string `json:"title"`
	Summary string `json:"summary"`
}

// At returns a copy of the event with the given node, iteration and attempt.
func (p Event) At(node string, iteration, attempt int) Event {
	p.NodeID, p.Iteration, p.Attempt = node, &iteration, attempt
	return p
}

// Encode returns the event in the form that entries store. run is the id of its run, kind is its type, and atMs its
// time in Unix milliseconds.
func (p Event) Encode(run, kind string, atMs int64) (snapshot.Event, error) {
	p.RunID = run
	text, err := jsontext.Encode(p)
	return snapshot.Event{Type: kind, AtMs: atMs, Payload: text}, err
}

// OrNull returns a text as a JSON string, or the JSON null if text is nil or cannot be encoded.
func OrNull(text *string) json.RawMessage {
	encoded, err := jsontext.Encode(text)
	if err != nil {
		return json.RawMessage("null")
	}
	return encoded
}

// SetRow returns the change that writes a row of the mailbox. collection is the mailbox's collection, key is the
// row's key, and value is the encoded row.
func SetRow(collection, key string, value []byte) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: collection, Key: key, Value: value}
}
