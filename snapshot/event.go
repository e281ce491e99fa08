package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// Event is one thing that happened in a run. Payload is a JSON object without the keys seq, type and
// timestampMs. White space between its tokens is not stored.
type Event struct {
	Seq     int64 // 0, 1, 2, … in the run, without gaps
	Type    string
	AtMs    int64           // milliseconds since 1970
	Payload json.RawMessage // "{}" if the event has no details
}

// eventCaptured is the type of the event with a frame's number and content hash.
const eventCaptured = "SnapshotCaptured"

// normalize returns the event with its payload in the form in which it is stored: compact JSON, and "{}" if the
// payload is empty. If the event cannot be stored, or the payload exceeds limits, normalize returns an error.
func (e Event) normalize(limits Limits) (Event, error) {
	if err := e.check(); err != nil {
		return Event{}, err
	}
	if len(e.Payload) == 0 {
		e.Payload = json.RawMessage("{}")
		return e, nil
	}
	if err := limits.CheckValue(e.Payload); err != nil {
		return Event{}, fmt.Errorf("payload: %w", err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, e.Payload); err != nil {
		return Event{}, fmt.Errorf("payload: %w", err)
	}
	e.Payload = compact.Bytes()
	if err := checkPayload(e.Payload); err != nil {
		return Event{}, fmt.Errorf("payload: %w", err)
	}
	return e, nil
}

// check returns an error if the type, time or seq of the event cannot be stored.
func (e Event) check() error {
	switch {
	case e.Type == "" || !utf8.ValidString(e.Type):
		return errors.New("type: empty or not UTF-8")
	case !isTime(e.AtMs):
		return errors.New("timestampMs: out of range")
	case e.Seq < 0 || e.Seq > row.MaxInteger:
		return errors.New("seq: out of range")
	}
	return nil
}

// checkPayload returns an error if payload is not a JSON object, has a repeated key, or has one of the reserved keys
// seq, type and timestampMs.
func checkPayload(payload json.RawMessage) error {
	return row.EachMember(payload, func(name string, _ json.RawMessage) error {
		switch name {
		case "seq", "type", "timestampMs":
			return errors.New("this key is reserved")
		}
		return nil
	})
}

// capturedEvent returns the event SnapshotCaptured of the frame with the header h, with the number of the run's
// newest event. Everything in the event follows from the header. So a frame that ends with this event does not store
// the event.
func (h Header) capturedEvent() Event {
	payload := row.AppendText([]byte{'{'}, "runId", h.Run)
	payload = row.AppendInt(payload, "frameNo", h.Frame)
	payload = row.AppendText(payload, "contentHash", h.ContentHash.String())
	return Event{Seq: h.NextSeq - 1, Type: eventCaptured, AtMs: h.AtMs, Payload: append(payload, '}')}
}

// endsWithCaptured reports whether the last of events is the event that capturedEvent returns. It returns false if
// the entry is not a frame, or if events is empty.
func (h Header) endsWithCaptured(events []Event) bool {
	if h.Frame == NoFrame || len(events) == 0 {
		return false
	}
	last, captured := events[len(events)-1], h.capturedEvent()
	return last.Seq == captured.Seq && last.Type == captured.Type && last.AtMs == captured.AtMs && bytes.Equal(last.Payload, captured.Payload)
}

// encodeEvents returns the content of the file "events" of the entry with the header h: one line for each event. The
// payloads must be normalized. If the entry is a frame and its last event is the one that capturedEvent returns,
// encodeEvents leaves out this event.
//
// stored reports whether the entry has the file:
//   - A frame has no file if its only event was left out. A frame without any event has an empty file.
//   - Any other entry has the file only if it has events.
func encodeEvents(events []Event, h Header) (data []byte, stored bool) {
	own := h.endsWithCaptured(events)
	if own {
		events = events[:len(events)-1]
	}
	return encodeLines(events), len(events) > 0 || h.Frame != NoFrame && !own
}

// encodeLines returns the events as lines. Each line is one event as a JSON object, with the members in a fixed order.
// The members of the payload come last. The payloads must be normalized.
func encodeLines(events []Event) []byte {
	var b []byte
	for _, e := range events {
		b = append(b, '{')
		b = row.AppendInt(b, "seq", e.Seq)
		b = row.AppendInt(b, "timestampMs", e.AtMs)
		b = row.AppendText(b, "type", e.Type)
		if string(e.Payload) != "{}" {
			b = append(b, ',')
			b = append(b, e.Payload[1:len(e.Payload)-1]...)
		}
		b = append(b, '}', '\n')
	}
	return b
}

// decodeEvents reverses encodeEvents: it returns the events of the entry with the header h. data is the content of
// the file "events", and id is the id of the file, or zero if the entry has no file. If encodeEvents cannot have
// returned data, or if the numbers of the events are not consecutive up to h.NextSeq minus 1, the error wraps
// objstore.ErrCorrupt.
func decodeEvents(id objstore.ID, data []byte, h Header) ([]Event, error) {
	events, err := decodeLines(id, data)
	if err != nil {
		return nil, err
	}
	// own is true if the frame's last event is SnapshotCaptured, which is not stored: the file is then missing, or its
	// last event is the event before SnapshotCaptured.
	own := h.Frame != NoFrame && (id.IsZero() || len(events) > 0 && events[len(events)-1].Seq == h.NextSeq-2)
	if own {
		events = append(events, h.capturedEvent())
	}
	if n := len(events); n > 0 && (events[0].Seq < 0 || events[n-1].Seq != h.NextSeq-1) {
		return nil, corrupt(id, "events: the last one is %d, but the commit says that there are %d", events[n-1].Seq, h.NextSeq)
	}
	if again, stored := encodeEvents(events, h); stored == id.IsZero() || !bytes.Equal(again, data) {
		return nil, corrupt(id, "events: %v", row.ErrNotCanonical)
	}
	return events, nil
}

// decodeLines decodes lines of events. Each line must end with LF, and each Seq must be the previous Seq plus 1. id
// is the id of the file, for errors. Every error wraps objstore.ErrCorrupt.
func decodeLines(id objstore.ID, data []byte) ([]Event, error) {
	var events []Event
	for rest := data; len(rest) > 0; {
		line, after, ok := bytes.Cut(rest, []byte{'\n'})
		if !ok {
			return nil, corrupt(id, "events: the last line has no LF")
		}
		e, err := decodeEvent(line)
		if err == nil && len(events) > 0 && e.Seq != events[len(events)-1].Seq+1 {
			err = errors.New("seq: must be the previous event's seq plus 1")
		}
		if err != nil {
			return nil, corrupt(id, "events, line %d: %v", len(events)+1, err)
		}
		events = append(events, e)
		rest = after
	}
	return events, nil
}

// decodeEvent decodes the event in one line, which must be without its LF. If encodeLines would not have written the
// line, decodeEvent returns an error.
func decodeEvent(line []byte) (e Event, err error) {
	r := row.Reader{Rest: line}
	r.Name("seq")
	e.Seq = r.Int()
	r.Name("timestampMs")
	e.AtMs = r.Int()
	r.Name("type")
	e.Type = r.Text()
	switch {
	case r.Bad:
		return Event{}, row.ErrNotCanonical
	case string(r.Rest) == "}":
		e.Payload = json.RawMessage("{}")
	case r.Skip(",") && len(r.Rest) > 0: // the rest of the line holds the payload's members and the closing brace
		e.Payload = append(json.RawMessage{'{'}, r.Rest...)
	default:
		return Event{}, row.ErrNotCanonical
	}
	normal, err := e.normalize(Limits{Depth: maxDepth})
	if err != nil {
		return Event{}, err
	}
	if canonical := encodeLines([]Event{normal}); !bytes.Equal(line, canonical[:len(canonical)-1]) {
		return Event{}, row.ErrNotCanonical
	}
	return normal, nil
}
