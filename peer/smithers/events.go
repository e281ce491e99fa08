package smithers

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// seqMember is a member of an event's payload: Smithers' seq, where it does not follow that of the event before.
const seqMember = "__smithersSeq"

// eventOf reads a row of _smithers_events. It strips from the payload what is predicted: type, runId, timestampMs,
// correlation, and the hashes of the frame. frames are by Smithers' numbers. Its Seq is
// Smithers'; see numbered.
func eventOf(row source.Row, run, workflow string, frames map[int64]frameFacts) (e snapshot.Event, ok bool) {
	if !isEvent(row) {
		return snapshot.Event{}, false
	}
	seq, _ := dbrow.ColumnNumber(row, "seq")
	at, _ := dbrow.ColumnNumber(row, "timestamp_ms")
	kind, _ := dbrow.ColumnText(row, "type")
	e = snapshot.Event{Seq: seq, Type: kind, AtMs: at, Payload: json.RawMessage("{}")}
	members, err := takenMembers(dbrow.ColumnJSON(row, "payload_json"))
	if err != nil || twice(members) {
		return e, true
	}
	stripped := slices.DeleteFunc(slices.Clone(members), func(m member) bool {
		switch m.name {
		case "type", "seq", "timestampMs", seqMember:
			return true
		case "runId":
			return string(m.value) == quoted(run)
		case "correlation":
			return correlated(kind) && string(m.value) == correlation(members, run, workflow)
		}
		return string(m.value) == predictedHash(kind, m.name, members, frames)
	})
	e.Payload = objectOf(stripped)
	return e, true
}

// isEvent reports whether a row of _smithers_events has what an event needs.
func isEvent(row source.Row) bool {
	_, hasSeq := dbrow.ColumnNumber(row, "seq")
	_, hasTime := dbrow.ColumnNumber(row, "timestamp_ms")
	kind, hasType := dbrow.ColumnText(row, "type")
	return hasSeq && hasTime && hasType && kind != ""
}

// samePayload reports whether a row of _smithers_events says what an event of the run does, less what is predicted.
func samePayload(e snapshot.Event, row source.Row) bool {
	said := func(payload json.RawMessage) string {
		all, err := takenMembers(payload)
		if err != nil {
			return ""
		}
		return string(objectOf(slices.DeleteFunc(all, func(m member) bool {
			switch m.name {
			case "type", "seq", "timestampMs", seqMember, "runId", "correlation", hashMember(e.Type):
				return true
			}
			return false
		})))
	}
	return said(e.Payload) == said(dbrow.ColumnJSON(row, "payload_json"))
}

// numbered is an event whose payload says that Smithers' seq is e.Seq, where that is not next, the one
// after that of the event before.
func numbered(e snapshot.Event, next int64) snapshot.Event {
	if e.Seq == next {
		return e
	}
	members, err := takenMembers(e.Payload)
	if err != nil {
		return e
	}
	members = slices.DeleteFunc(members, func(m member) bool { return m.name == seqMember })
	e.Payload = objectOf(append(members, newMember(seqMember, strconv.FormatInt(e.Seq, 10))))
	return e
}

// peerSeqs are the seqs that Smithers has for events, and the next one.
func peerSeqs(events []snapshot.Event) (seqs []int64, next int64) {
	for _, e := range events {
		if seq, ok := keptSeq(e); ok {
			next = seq
		}
		seqs = append(seqs, next)
		next++
	}
	return seqs, next
}

// makeRise gives events seqs that rise, those that Smithers had where they do: an event that was added here has the one that Smithers
// then gave to another.
func makeRise(seqs []int64) {
	for i := 1; i < len(seqs); i++ {
		seqs[i] = max(seqs[i], seqs[i-1]+1)
	}
}

// keptSeq is the seq that an event's payload has.
func keptSeq(e snapshot.Event) (seq int64, ok bool) {
	if !bytes.Contains(e.Payload, []byte(seqMember)) {
		return 0, false
	}
	members, err := takenMembers(e.Payload)
	if err != nil {
		return 0, false
	}
	seq, err = strconv.ParseInt(memberRaw(members, seqMember), 10, 64)
	return seq, err == nil && seq >= 0 && seq <= dbrow.MaxTime
}

// twice reports whether a name comes twice.
func twice(members []member) bool {
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if seen[m.name] {
			return true
		}
		seen[m.name] = true
	}
	return false
}

func objectOf(members []member) json.RawMessage {
	size := len("{}")
	for _, m := range members {
		size += len(m.text) + len(",")
	}
	b := append(make([]byte, 0, size), '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.text...)
	}
	return append(b, '}')
}

// memberRaw is the text of a member; "" for none.
func memberRaw(members []member, name string) string {
	for _, m := range members {
		if m.name == name {
			return string(m.value)
		}
	}
	return ""
}

// correlated reports whether events of a type say what they belong to: those that the engine itself emits.
func correlated(kind string) bool {
	switch kind {
	case "ApprovalGranted", "ApprovalDenied", "TimeTravelJumped":
		return false
	}
	return true
}

// correlation is the member by which an event says what it belongs to.
func correlation(members []member, run, workflow string) string {
	all := []member{newMember("runId", quoted(run)), newMember("workflowName", quoted(workflow))}
	for _, name := range []string{"nodeId", "iteration", "attempt"} {
		if value := memberRaw(members, name); value != "" {
			all = append(all, newMember(name, value))
		}
	}
	return string(objectOf(all))
}

// predictedHash is the value of a member that is the hash of a frame; "" for any other.
func predictedHash(kind, name string, members []member, frames map[int64]frameFacts) string {
	if name == "" || hashMember(kind) != name {
		return ""
	}
	n, err := strconv.ParseInt(memberRaw(members, "frameNo"), 10, 64)
	frame, known := frames[n]
	hash := frame.ContentHash
	if name == "xmlHash" {
		hash = frame.XMLHash
	}
	if err != nil || !known || hash == "" {
		return ""
	}
	return quoted(hash)
}

// hashMember is the member with the hash that events of a type have; "" where they have none.
func hashMember(kind string) string {
	switch kind {
	case "FrameCommitted":
		return "xmlHash"
	case "SnapshotCaptured":
		return "contentHash"
	}
	return ""
}

// payloadOf is the payload_json of an event.
func (f *facts) payloadOf(e snapshot.Event, frames map[int64]frameFacts) string {
	kept, err := takenMembers(e.Payload)
	if err != nil {
		return ""
	}
	has := func(name string) bool { return memberRaw(kept, name) != "" }
	all := []member{newMember("type", quoted(e.Type))}
	if !has("runId") {
		all = append(all, newMember("runId", quoted(f.Run.ID)))
	}
	tail := []member{newMember("timestampMs", strconv.FormatInt(e.AtMs, 10))}
	if correlated(e.Type) && !has("correlation") {
		tail = append(tail, newMember("correlation", correlation(kept, f.Run.ID, f.Run.Workflow)))
	}
	hash := hashMember(e.Type)
	for _, m := range kept {
		switch m.name {
		case seqMember:
			continue
		case "correlation":
			tail = append(tail, m)
			continue
		}
		all = append(all, m)
		if m.name != "frameNo" || has(hash) {
			continue
		}
		if value := predictedHash(e.Type, hash, kept, frames); value != "" {
			all = append(all, newMember(hash, value))
		}
	}
	return string(objectOf(append(all, tail...)))
}

// predictEvents gives rows of _smithers_events.
func (f *facts) predictEvents() []source.Row {
	frames := framesByPeer(f.Frames)
	seqs, _ := peerSeqs(f.Events)
	if f.Restored {
		makeRise(seqs)
	}
	var rows []source.Row
	for i, e := range f.Events {
		rows = append(rows, source.Row{
			"seq": dbrow.Int(seqs[i]), "timestamp_ms": dbrow.Int(e.AtMs), "type": dbrow.Text(e.Type),
			"payload_json": dbrow.Text(f.payloadOf(e, frames)),
		})
	}
	return rows
}

// framesByPeer are frames by Smithers' numbers: the newest of each.
func framesByPeer(frames []frameFacts) map[int64]frameFacts {
	by := make(map[int64]frameFacts, len(frames))
	for _, frame := range frames {
		by[frame.PeerNo] = frame
	}
	return by
}
