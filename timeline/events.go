package timeline

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
)

// NewEvent returns an event of the type kind. at is the event's time in Unix milliseconds. payload must be a value
// that always encodes as JSON, such as a struct of texts and numbers; otherwise the event has no payload.
func NewEvent(kind string, at int64, payload any) snapshot.Event {
	data, err := json.Marshal(payload)
	if err != nil {
		data = nil
	}
	return snapshot.Event{Type: kind, AtMs: at, Payload: data}
}
