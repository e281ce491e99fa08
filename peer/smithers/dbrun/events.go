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

// Events has the events of a run in a database, sorted by Smithers' number.
type Events struct {
	run, workflow string // the run's id, and the name of its workflow
	All           []Event
	captured      map[int64]int // the index of the last SnapshotCaptured of each frame, by Smithers' number of the frame
}

// listEvents returns the events of a run: the known events, and then the events of rows, which are rows of
// _smithers_events. run is the run's id and workflow the name of its workflow.
func listEvents(run, workflow string, known []Event, rows []source.Row) Events {
	l := Events{run: run, workflow: workflow, All: known}
	for _, row := range rows {
		l.All = append(l.All, peerEventOf(row))
	}
	l.index()
	return l
}

// index computes l.captured from l.All.
func (l *Events) index() {
	l.captured = make(map[int64]int)
	for i, e := range l.All {
		if e.Row != nil && e.frameNo != tables.NoNumber {
			l.captured[e.frameNo] = i
		}
	}
}

// Between returns the events whose index is at least from and less than upTo. It leaves out indexes without an event.
func (l *Events) Between(from, upTo int) []Event {
	from = min(from, len(l.All))
	return l.All[from:max(from, min(upTo, len(l.All)))]
}

// Event is a row of _smithers_events.
type Event struct {
	Row     source.Row // nil for an event that Run.Seen has stripped
	atMs    int64      // 0 if the row has no time
	kind    string     // "" if the row has no type
	frameNo int64      // the frame of a SnapshotCaptured; tables.NoNumber for other types
	node    string     // the node's key of an ApprovalRequested or SnapshotCaptured; "" for other types
}

// is reports whether e and stored, an event in the repository, have the same type and time.
func (e Event) is(stored snapshot.Event) bool {
	return e.kind == stored.Type && e.atMs == stored.AtMs
}

// peerEventOf returns the event of a row of _smithers_events. An unreadable payload counts as empty.
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

// UpTo returns how many events at the beginning of l belong to a frame and to the entries before the frame.
// frameNo is Smithers' number of the frame, atMs the frame's time, and from the number of stored events. The
// events end with the last SnapshotCaptured of the frame. If no event after the stored events captured the frame,
// the events end before the first event that is not stored and is later than atMs.
func (l *Events) UpTo(from int, frameNo, atMs int64) int {
	if last, ok := l.captured[frameNo]; ok && last >= from {
		return last + 1
	}
	for from < len(l.All) && l.All[from].atMs <= atMs {
		from++
	}
	return from
}

// Jump looks for Smithers' last rewind of the run among the events that are not stored. stored is the number of
// stored events, which are the first events of l. Jump returns the rewind's time, and the number of events up to
// and including the rewind's event. ok is false if no such event is a rewind.
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

// HasFirst reports whether stored, the run's events in the repository, has the first n events of l in the same
// order. It compares types and times. stored may have other events between these events. Invalid rows do not
// count.
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

// PutKnownFirst moves the known events of l to the beginning of l, and returns their number. An event is known if
// it is in stored, the run's events in the repository. If another clone exported the run to the database, new
// events may stand between the known events. PutKnownFirst first matches events with equal type, time and
// payload. Each other event may then match a remaining stored event with another payload. Invalid rows count as
// known.
func (l *Events) PutKnownFirst(stored []snapshot.Event) int {
	has := make([]bool, len(stored))
	// take marks the first stored event without a match that equals e, and reports whether such an event exists.
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

// CountKnown returns how many events at the beginning of l are also in stored, the run's events in the
// repository, in the same order. stored may have other events between these events. CountKnown compares types and
// times.
func (l *Events) CountKnown(stored []snapshot.Event) int {
	n := 0
	for _, e := range stored {
		if n < len(l.All) && l.All[n].kind == e.Type && l.All[n].atMs == e.AtMs {
			n++
		}
	}
	return n
}

// CountExported returns how many events at the beginning of l equal the events at the beginning of stored, the
// run's events in the repository. imported is the number of events in stored that came from the database. If
// stored has no other events, the result is 0. A result above imported means that the run was later exported to
// the database. CountExported compares types and times, and for events that were not imported also the payloads.
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

// HasOne reports whether stored, the run's events in the repository, has an event with the type and time of the
// event of l at index i. If that event is invalid, HasOne compares the newest valid event before it. If l has
// no valid event up to index i, HasOne returns true.
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

// HasAll reports whether the database has all events that the run got from Smithers. stored has the run's
// events in the repository. HasAll ignores the order, and compares types and times. The database may have more
// events.
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

// isOurs reports whether git-smithers itself added the event e to the run, and did not import it. The payload
// of such an event has the run's id, which an import removes from Smithers' events.
func (l *Events) isOurs(e snapshot.Event) bool {
	if !bytes.Contains(e.Payload, []byte(`"runId"`)) {
		return false
	}
	members, err := jsonobject.Read(e.Payload)
	var run string // compared after decoding, because the spelling may differ
	return err == nil && json.Unmarshal([]byte(jsonobject.RawOf(members, "runId")), &run) == nil && run == l.run
}

// IsRewound reports whether Smithers has rewound the run since the last import. stored has the run's events in
// the repository: if Smithers has rewound the run, l has a rewind that stored lacks.
func (l *Events) IsRewound(stored []snapshot.Event) bool {
	return slices.ContainsFunc(l.All, func(e Event) bool { return e.kind == jumped && !slices.ContainsFunc(stored, e.is) })
}
