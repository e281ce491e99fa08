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

// Events are the events of a run in a database, in order.
type Events struct {
	run, workflow string // the run's id, and the name of its workflow
	All           []Event
	captured      map[int64]int // the index of the last event that captured each frame, by Smithers' number
}

// listEvents returns the events of rows of _smithers_events, after the known ones.
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

// Between returns the events with indexes from from to below upTo, as far as they exist.
func (l *Events) Between(from, upTo int) []Event {
	from = min(from, len(l.All))
	return l.All[from:max(from, min(upTo, len(l.All)))]
}

// Event is a row of _smithers_events.
type Event struct {
	Row     source.Row
	atMs    int64
	kind    string
	frameNo int64  // the frame of a SnapshotCaptured; tables.NoNumber for other types
	node    string // the node's key of an ApprovalRequested or SnapshotCaptured; "" for other types
}

// is reports whether the event has the type and time of a stored event.
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

// UpTo returns the number of events up to the one that captured a frame or, if there is none, up to the frame's time.
// from is the number of stored events.
func (l *Events) UpTo(from int, frameNo, atMs int64) int {
	if last, ok := l.captured[frameNo]; ok && last >= from {
		return last + 1
	}
	for from < len(l.All) && l.All[from].atMs <= atMs {
		from++
	}
	return from
}

// Jump returns the time of Smithers' last rewind of the run after the first stored events, and the number of events
// up to it. ok is false if there was none.
func (l *Events) Jump(stored int) (atMs int64, upTo int, ok bool) {
	for i, e := range slices.Backward(l.All[min(stored, len(l.All)):]) {
		if e.kind == jumped {
			return e.atMs, stored + i + 1, true
		}
	}
	return 0, 0, false
}

// jumped is the type of the event with which Smithers rewinds a run.
const jumped = "TimeTravelJumped"

// HasFirst reports whether the run has the first n events of the database, in order.
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

// PutKnownFirst moves the events that the run has before all others, and returns their number. In a database to which
// another clone exported the run, new events may stand between the known ones.
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

// CountKnown returns how many of the database's first events the run has, in order.
func (l *Events) CountKnown(stored []snapshot.Event) int {
	n := 0
	for _, e := range stored {
		if n < len(l.All) && l.All[n].kind == e.Type && l.All[n].atMs == e.AtMs {
			n++
		}
	}
	return n
}

// CountExported returns how many of the database's first events equal the run's first events. The result exceeds
// imported if the run was later exported to this database. It returns 0 if the run has no more than the imported
// events.
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

// HasOne reports whether the run has the event at an index or, if that event is invalid for our runs, the newest
// valid event before it.
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

// HasAll reports whether the database has all of the run's events that came from Smithers. The database may have
// other events between them, if the run was exported to it.
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

// isOurs reports whether an event was added here: its payload names the run, which the import removes from Smithers'
// events.
func (l *Events) isOurs(e snapshot.Event) bool {
	if !bytes.Contains(e.Payload, []byte(`"runId"`)) {
		return false
	}
	members, err := jsonobject.Read(e.Payload)
	var run string // compared after decoding, because the spelling may differ
	return err == nil && json.Unmarshal([]byte(jsonobject.RawOf(members, "runId")), &run) == nil && run == l.run
}

// IsRewound reports whether Smithers has rewound the run since the last import.
func (l *Events) IsRewound(stored []snapshot.Event) bool {
	return slices.ContainsFunc(l.All, func(e Event) bool { return e.kind == jumped && !slices.ContainsFunc(stored, e.is) })
}
