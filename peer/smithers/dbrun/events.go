package dbrun

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Events are the events that a database has of a run, in their order.
type Events struct {
	run, workflow string // the run's id, and the name of its workflow
	All           []Event
	captured      map[int64]int // by Smithers' number: the last event by which the frame was captured
}

// listEvents returns the events of a run from rows of _smithers_events. known are the events before them.
func listEvents(run, workflow string, known []Event, rows []source.Row) Events {
	l := Events{run: run, workflow: workflow, All: known}
	for _, row := range rows {
		l.All = append(l.All, peerEventOf(row))
	}
	l.index()
	return l
}

func (l *Events) index() {
	l.captured = make(map[int64]int)
	for i, e := range l.All {
		if e.Row != nil && e.frameNo != tables.NoNumber {
			l.captured[e.frameNo] = i
		}
	}
}

// Between returns the events from one index up to another, as far as there are so many.
func (l *Events) Between(from, upTo int) []Event {
	from = min(from, len(l.All))
	return l.All[from:max(from, min(upTo, len(l.All)))]
}

// Event is a row of _smithers_events.
type Event struct {
	Row     source.Row
	atMs    int64
	kind    string
	frameNo int64  // of a SnapshotCaptured; tables.NoNumber for any other
	node    string // the key of the node of an ApprovalRequested or a SnapshotCaptured; "" for any other
}

// is reports whether the event has the type and time of an event of ours.
func (e Event) is(stored snapshot.Event) bool {
	return e.kind == stored.Type && e.atMs == stored.AtMs
}

func peerEventOf(row source.Row) Event {
	e := Event{Row: row, frameNo: tables.NoNumber}
	e.atMs, _ = dbrow.ColumnNumber(row, "timestamp_ms")
	e.kind, _ = dbrow.ColumnText(row, "type")
	switch e.kind {
	case "SnapshotCaptured", "ApprovalRequested":
		var payload struct {
			FrameNo   *int64
			NodeID    string
			Iteration int
		}
		if json.Unmarshal([]byte(dbrow.TextOf(row, "payload_json")), &payload) != nil {
			break
		}
		if payload.NodeID != "" {
			e.node = snapshot.Key(payload.NodeID, payload.Iteration)
		}
		if payload.FrameNo != nil && e.kind == "SnapshotCaptured" {
			e.frameNo = *payload.FrameNo
		}
	}
	return e
}

// UpTo counts the events up to the one by which Smithers captured a frame, or else up to the time of the frame. from is how
// many events are stored already.
func (l *Events) UpTo(from int, frameNo, atMs int64) int {
	if last, ok := l.captured[frameNo]; ok && last >= from {
		return last + 1
	}
	for from < len(l.All) && l.All[from].atMs <= atMs {
		from++
	}
	return from
}

// Jump returns when Smithers last went back in the run since the first events, which are stored, and how many events it had
// then. ok is false if it did not go back.
func (l *Events) Jump(stored int) (atMs int64, upTo int, ok bool) {
	for i, e := range slices.Backward(l.All[min(stored, len(l.All)):]) {
		if e.kind == jumped {
			return e.atMs, stored + i + 1, true
		}
	}
	return 0, 0, false
}

// jumped is the type of the event by which Smithers goes back in a run.
const jumped = "TimeTravelJumped"

// HasFirst reports whether the run has the first n events of the database, in their order.
func (l *Events) HasFirst(stored []snapshot.Event, n int) bool {
	for _, e := range l.All[:n] {
		if !tables.IsEvent(e.Row) {
			continue
		}
		i := slices.IndexFunc(stored, e.is)
		if i < 0 {
			return false
		}
		stored = stored[i+1:]
	}
	return true
}

// PutKnownFirst puts the events of the database that the run has before the others, and counts them: in a database to which
// the run was exported from another clone, what was added there stands between them.
func (l *Events) PutKnownFirst(stored []snapshot.Event) int {
	has := make([]bool, len(stored))
	take := func(e Event, is func(snapshot.Event) bool) bool {
		for i, s := range stored {
			if !has[i] && e.is(s) && is(s) {
				has[i] = true
				return true
			}
		}
		return false
	}
	alike := func(e Event) func(snapshot.Event) bool {
		return func(s snapshot.Event) bool { return tables.SamePayload(s, e.Row) }
	}
	known := make([]bool, len(l.All))
	for i, e := range l.All {
		known[i] = !tables.IsEvent(e.Row) || take(e, alike(e))
	}
	var first, others []Event
	for i, e := range l.All {
		if known[i] || take(e, func(snapshot.Event) bool { return true }) {
			first = append(first, e)
		} else {
			others = append(others, e)
		}
	}
	l.All = append(first, others...)
	l.index()
	return len(first)
}

// CountKnown counts the events at the beginning of Smithers' list that the run has, one by one.
func (l *Events) CountKnown(stored []snapshot.Event) int {
	n := 0
	for _, e := range stored {
		if n < len(l.All) && l.All[n].kind == e.Type && l.All[n].atMs == e.AtMs {
			n++
		}
	}
	return n
}

// CountExported counts the events at the beginning of Smithers' list that are the run's, one by one. They are more than were
// imported if the database is one that the run was exported to later. It returns 0 if they cannot be more.
func (l *Events) CountExported(stored []snapshot.Event, imported int) int {
	if len(stored) <= imported {
		return 0
	}
	for n, e := range stored {
		if n >= len(l.All) || l.All[n].kind != e.Type || l.All[n].atMs != e.AtMs || n >= imported && !tables.SamePayload(e, l.All[n].Row) {
			return n
		}
	}
	return len(stored)
}

// HasOne reports whether the run has the event at an index, or the newest event before it that a run of ours can have.
func (l *Events) HasOne(stored []snapshot.Event, i int) bool {
	for ; i >= 0; i-- {
		e, ok := tables.ReadEvent(l.All[i].Row, l.run, l.workflow, nil)
		if !ok {
			continue
		}
		return slices.ContainsFunc(stored, func(has snapshot.Event) bool { return has.Type == e.Type && has.AtMs == e.AtMs })
	}
	return true
}

// HasAll reports whether the database has all events of Smithers' that the run has. It may have others between them:
// in a database that the run was exported to, those that were added here or in another clone.
func (l *Events) HasAll(stored []snapshot.Event) bool {
	type event struct {
		kind string
		atMs int64
	}
	has := make(map[event]int, len(l.All))
	for _, e := range l.All {
		has[event{e.kind, e.atMs}]++
	}
	for _, e := range stored {
		if l.isOurs(e) {
			continue
		}
		if one := (event{e.Type, e.AtMs}); has[one] > 0 {
			has[one]--
		} else {
			return false
		}
	}
	return true
}

// isOurs reports whether an event was added here: its payload names the run, which is left out of events of Smithers.
func (l *Events) isOurs(e snapshot.Event) bool {
	if !bytes.Contains(e.Payload, []byte(`"runId"`)) {
		return false
	}
	members, err := jsonobject.Read(e.Payload)
	var run string // spelled as whoever added it spells texts
	return err == nil && json.Unmarshal([]byte(jsonobject.RawOf(members, "runId")), &run) == nil && run == l.run
}

// IsRewound reports whether Smithers has gone back in the run since the last import.
func (l *Events) IsRewound(stored []snapshot.Event) bool {
	return slices.ContainsFunc(l.All, func(e Event) bool { return e.kind == jumped && !slices.ContainsFunc(stored, e.is) })
}
