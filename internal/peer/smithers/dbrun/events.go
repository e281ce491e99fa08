package dbrun

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Events has the events of a run in a database, sorted by Smithers' number.
type Events struct {
	run, workflow string // the run's id, and the name of its workflow
	All           []Event
	captured      map[int64]int // the index of the last SnapshotCaptured of each frame, by Smithers' number of the frame
}

// listEvents returns the events of a run. rows are its rows of _smithers_events. run is the run's id, and workflow is
// the name of its workflow.
func listEvents(run, workflow string, rows []source.Row) Events {
	l := Events{run: run, workflow: workflow}
	for _, row := range rows {
		l.All = append(l.All, peerEventOf(row))
	}
	l.index()
	return l
}

// index sets l.captured: for each frame, the index in l.All of the frame's last SnapshotCaptured event.
func (l *Events) index() {
	l.captured = make(map[int64]int)
	for i, e := range l.All {
		if e.frameNo != tables.NoNumber {
			l.captured[e.frameNo] = i
		}
	}
}

// Between returns the events of l.All from index from up to index upTo, without upTo. It accepts indexes beyond
// the end of l.All, and returns no event for these.
func (l *Events) Between(from, upTo int) []Event {
	from = min(from, len(l.All))
	return l.All[from:max(from, min(upTo, len(l.All)))]
}

// Event is a row of _smithers_events.
type Event struct {
	Row     source.Row
	atMs    int64  // 0 if the row has no time
	kind    string // "" if the row has no type
	frameNo int64  // the frame of a SnapshotCaptured; tables.NoNumber for other types
	node    string // the node's key of an ApprovalRequested or SnapshotCaptured; "" for other types
}

// is reports whether e and stored, an event in the repository, have the same type and time.
func (e Event) is(stored snapshot.Event) bool {
	return e.kind == stored.Type && e.atMs == stored.AtMs
}

// peerEventOf returns the event of row, a row of _smithers_events. It reads the node of a SnapshotCaptured and of
// an ApprovalRequested, and the frame's number of a SnapshotCaptured. An unreadable payload counts as empty.
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

// UpTo returns the number of events of l, from the first one, that the repository has once a frame is stored.
// start is the number of events that the repository has already. frameNo is Smithers' number of the frame, and
// atMs is the frame's time. If an event after the first start events is a SnapshotCaptured of the frame, the
// counted events end with the last such event. Otherwise they end before the next event that is later than
// atMs.
func (l *Events) UpTo(start int, frameNo, atMs int64) int {
	if last, ok := l.captured[frameNo]; ok && last >= start {
		return last + 1
	}
	for start < len(l.All) && l.All[start].atMs <= atMs {
		start++
	}
	return start
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

// HasFirst reports whether the first n events of l are also in stored, in the same order. stored has the run's
// events in the repository. It may have further events before, between and after these events. HasFirst
// compares types and times. It ignores invalid rows of l.
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

// PutKnownFirst moves the known events of l to the beginning of l, and returns their number. An event is known
// if it is in stored, the run's events in the repository. Invalid rows count as known. A new event can be
// before a known event in the database, if another clone exported the run to the database.
//
// PutKnownFirst first matches events with equal type, time and payload. Each event that has no match may then
// match a remaining stored event with equal type and time, and another payload.
func (l *Events) PutKnownFirst(stored []snapshot.Event) int {
	has := make([]bool, len(stored))
	// take marks the first unmarked stored event that has the type and time of e and that is accepts. It
	// reports whether there is such an event.
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

// CountKnown returns the number of events at the beginning of l that are also in stored, in the same order.
// stored has the run's events in the repository, and may have other events between these. CountKnown compares
// types and times.
func (l *Events) CountKnown(stored []snapshot.Event) int {
	n := 0
	for _, e := range stored {
		if n < len(l.All) && l.All[n].kind == e.Type && l.All[n].atMs == e.AtMs {
			n++
		}
	}
	return n
}

// CountExported compares the events of l with stored, the run's events in the repository, from the first event on.
// It returns the number of events before the first difference. imported is the number of events in stored that
// came from the database. A result above imported means that the run was exported to the database after it
// changed.
//
// CountExported compares types and times, and after the imported events also payloads. If stored has only imported
// events, the result is 0.
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
// event of l at index i. If the event at index i is invalid, HasOne compares the newest valid event before it.
// If l has no valid event up to index i, HasOne returns true.
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
// events in the repository. HasAll ignores the events of stored that isOurs accepts. It compares types and
// times, in any order. The database may have more events.
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
	var run string // decoded before the comparison, because JSON can spell an id in several ways
	return err == nil && json.Unmarshal([]byte(jsonobject.RawOf(members, "runId")), &run) == nil && run == l.run
}

// IsRewound reports whether Smithers has rewound the run since the last import. Then l has the event of a
// rewind, and stored lacks this event. stored has the run's events in the repository.
func (l *Events) IsRewound(stored []snapshot.Event) bool {
	return slices.ContainsFunc(l.All, func(e Event) bool { return e.kind == jumped && !slices.ContainsFunc(stored, e.is) })
}
