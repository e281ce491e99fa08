package tables

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// seqMember is the member of a payload that has Smithers' number of the event. A payload has the member only if this
// number is not the previous event's number plus 1.
const seqMember = "__smithersSeq"

// ReadEvent converts a row of _smithers_events to an event. run is the run's id, workflow is the workflow's name,
// and frames finds a frame by Smithers' number. The event's Seq is Smithers' number; see Numbered. ok is false if
// the row is not an event; see IsEvent.
//
// The event has the payload of the row without the members type, seq, timestampMs and __smithersSeq. ReadEvent
// also removes runId, correlation and the hash of a frame if they have the value that follows from the run. If the payload is not
// an object or has a member twice, the event's payload is {}.
func ReadEvent(row source.Row, run, workflow string, frames FramesByNo) (e snapshot.Event, ok bool) {
	if !IsEvent(row) {
		return snapshot.Event{}, false
	}
	seq, _ := dbrow.ColumnNumber(row, "seq")
	at, _ := dbrow.ColumnNumber(row, "timestamp_ms")
	kind, _ := dbrow.ColumnText(row, "type")
	e = snapshot.Event{Seq: seq, Type: kind, AtMs: at, Payload: json.RawMessage("{}")}
	members, err := jsonobject.Read(dbrow.ColumnJSON(row, "payload_json"))
	if err != nil || jsonobject.HasTwice(members) {
		return e, true
	}
	stripped := slices.DeleteFunc(slices.Clone(members), func(m jsonobject.Member) bool {
		switch m.Name {
		case "type", "seq", "timestampMs", seqMember:
			return true
		case "runId":
			return string(m.Value) == jsonobject.Quote(run)
		case "correlation":
			return correlated(kind) && string(m.Value) == correlation(members, run, workflow)
		}
		return string(m.Value) == derivedHash(kind, m.Name, members, frames)
	})
	e.Payload = jsonobject.Join(stripped)
	return e, true
}

// IsEvent reports whether a row of _smithers_events has everything that an event needs: a number, a time and a
// type.
func IsEvent(row source.Row) bool {
	_, hasSeq := dbrow.ColumnNumber(row, "seq")
	_, hasTime := dbrow.ColumnNumber(row, "timestamp_ms")
	kind, hasType := dbrow.ColumnText(row, "type")
	return hasSeq && hasTime && hasType && kind != ""
}

// SamePayload reports whether a row of _smithers_events has the same payload as e, an event of the run. It ignores
// the members that ReadEvent can remove, even if their values differ. Two payloads that are not objects count as
// equal.
func SamePayload(e snapshot.Event, row source.Row) bool {
	said := func(payload json.RawMessage) string {
		all, err := jsonobject.Read(payload)
		if err != nil {
			return ""
		}
		return string(jsonobject.Join(slices.DeleteFunc(all, func(m jsonobject.Member) bool {
			switch m.Name {
			case "type", "seq", "timestampMs", seqMember, "runId", "correlation", hashMember(e.Type):
				return true
			}
			return false
		})))
	}
	return said(e.Payload) == said(dbrow.ColumnJSON(row, "payload_json"))
}

// Numbered returns e with e.Seq, Smithers' number of the event, stored in its payload: see KeptSeq. next is the
// number of the previous event plus 1. If e.Seq equals next, or the payload is not an object, Numbered returns
// e unchanged.
func Numbered(e snapshot.Event, next int64) snapshot.Event {
	if e.Seq == next {
		return e
	}
	members, err := jsonobject.Read(e.Payload)
	if err != nil {
		return e
	}
	members = slices.DeleteFunc(members, func(m jsonobject.Member) bool { return m.Name == seqMember })
	e.Payload = jsonobject.Join(append(members, jsonobject.NewMember(seqMember, strconv.FormatInt(e.Seq, 10))))
	return e
}

// PeerSeqs returns Smithers' number of each of the events of a run, and the number for the next event. An event has the
// number that KeptSeq returns. If KeptSeq returns no number, the event has the number of the previous event plus 1. The
// first event then has the number 0.
func PeerSeqs(events []snapshot.Event) (seqs []int64, next int64) {
	for _, e := range events {
		if seq, ok := KeptSeq(e); ok {
			next = seq
		}
		seqs = append(seqs, next)
		next++
	}
	return seqs, next
}

// makeRise raises numbers in seqs, in place, until each number is greater than the previous number. This is
// necessary because an event that was added in this repository can have the number of a later event of Smithers.
func makeRise(seqs []int64) {
	for i := 1; i < len(seqs); i++ {
		seqs[i] = max(seqs[i], seqs[i-1]+1)
	}
}

// KeptSeq returns Smithers' number of the event e from the member seqMember of its payload. ok is false if the
// payload has no such member, or an invalid number.
func KeptSeq(e snapshot.Event) (seq int64, ok bool) {
	if !bytes.Contains(e.Payload, []byte(seqMember)) {
		return 0, false
	}
	members, err := jsonobject.Read(e.Payload)
	if err != nil {
		return 0, false
	}
	seq, err = strconv.ParseInt(jsonobject.RawOf(members, seqMember), 10, 64)
	return seq, err == nil && seq >= 0 && seq <= dbrow.MaxTime
}

// correlated reports whether events of the type kind have the member correlation. Events that only the engine
// emits have this member.
func correlated(kind string) bool {
	switch kind {
	case "ApprovalGranted", "ApprovalDenied", "TimeTravelJumped":
		return false
	}
	return true
}

// correlation returns the derived value of the member correlation: an object with the run's id, the workflow's name,
// and a node, an iteration and an attempt. members has the members of the payload. correlation takes the node, the
// iteration and the attempt from members, and leaves out each value that members lacks.
func correlation(members []jsonobject.Member, run, workflow string) string {
	all := []jsonobject.Member{jsonobject.NewMember("runId", jsonobject.Quote(run)), jsonobject.NewMember("workflowName", jsonobject.Quote(workflow))}
	for _, name := range []string{"nodeId", "iteration", "attempt"} {
		if value := jsonobject.RawOf(members, name); value != "" {
			all = append(all, jsonobject.NewMember(name, value))
		}
	}
	return string(jsonobject.Join(all))
}

// derivedHash returns the derived value of a member with a frame's hash: the hash in quotes. kind is the type
// of the event, name is the name of the member, and members has the members of the event's payload. The member
// frameNo has Smithers' number of the frame.
//
// The result is "" if the member is not a frame's hash, if frames is nil, or if frames does not have the frame or
// its hash.
func derivedHash(kind, name string, members []jsonobject.Member, frames FramesByNo) string {
	if name == "" || hashMember(kind) != name || frames == nil {
		return ""
	}
	n, err := strconv.ParseInt(jsonobject.RawOf(members, "frameNo"), 10, 64)
	frame, known := frames(n)
	hash := frame.ContentHash
	if name == "xmlHash" {
		hash = frame.XMLHash
	}
	if err != nil || !known || hash == "" {
		return ""
	}
	return jsonobject.Quote(hash)
}

// hashMember returns the name of the member that has a frame's hash in events of a type, or "" if such events have
// no hash.
func hashMember(kind string) string {
	switch kind {
	case "FrameCommitted":
		return "xmlHash"
	case "SnapshotCaptured":
		return "contentHash"
	}
	return ""
}

// payloadOf returns the payload_json of the event e: the kept payload together with the members that
// ReadEvent removed, in Smithers' order. frames finds the frame whose hash the payload has. A kept member replaces the
// derived member with the same name. If the kept payload is not an object, payloadOf returns "".
func (f *Facts) payloadOf(e snapshot.Event, frames FramesByNo) string {
	kept, err := jsonobject.Read(e.Payload)
	if err != nil {
		return ""
	}
	// Smithers writes type and runId first, a frame's hash after frameNo, and timestampMs and correlation last.
	has := func(name string) bool { return jsonobject.RawOf(kept, name) != "" }
	all := []jsonobject.Member{jsonobject.NewMember("type", jsonobject.Quote(e.Type))}
	if !has("runId") {
		all = append(all, jsonobject.NewMember("runId", jsonobject.Quote(f.Run.ID)))
	}
	tail := []jsonobject.Member{jsonobject.NewMember("timestampMs", strconv.FormatInt(e.AtMs, 10))}
	if correlated(e.Type) && !has("correlation") {
		tail = append(tail, jsonobject.NewMember("correlation", correlation(kept, f.Run.ID, f.Run.Workflow)))
	}
	hash := hashMember(e.Type)
	for _, m := range kept {
		switch m.Name {
		case seqMember:
			continue
		case "correlation":
			tail = append(tail, m)
			continue
		}
		all = append(all, m)
		if m.Name != "frameNo" || has(hash) {
			continue
		}
		if value := derivedHash(e.Type, hash, kept, frames); value != "" {
			all = append(all, jsonobject.NewMember(hash, value))
		}
	}
	return string(jsonobject.Join(append(all, tail...)))
}

// eventRows returns the rows of _smithers_events, in the order of f.Events. The column seq has the numbers from PeerSeqs,
// raised by makeRise, because an event added in this repository may have the number of a later event of Smithers.
func (f *Facts) eventRows() []source.Row {
	frames := framesByPeer(f.Frames)
	seqs, _ := PeerSeqs(f.Events)
	makeRise(seqs)
	var rows []source.Row
	for i, e := range f.Events {
		rows = append(rows, source.Row{
			"seq": dbrow.Int(seqs[i]), "timestamp_ms": dbrow.Int(e.AtMs), "type": dbrow.Text(e.Type),
			"payload_json": dbrow.Text(f.payloadOf(e, frames)),
		})
	}
	return rows
}

// FramesByNo returns the frame that has Smithers' number no. ok is false if no frame has this number.
type FramesByNo func(no int64) (frame FrameFacts, ok bool)

// framesByPeer returns a function that finds frames by Smithers' numbers. If several frames have the same number, the
// function returns the last of these frames.
func framesByPeer(frames []FrameFacts) FramesByNo {
	by := make(map[int64]FrameFacts, len(frames))
	for _, frame := range frames {
		by[frame.PeerNo] = frame
	}
	return func(no int64) (FrameFacts, bool) {
		frame, ok := by[no]
		return frame, ok
	}
}
