package smithers

import (
	"github.com/git-smithers/git-smithers/snapshot"
)

// eventsOf are the events up to an index that are not stored yet.
func (r *runPass) eventsOf(upTo int, line []frameFacts) []snapshot.Event {
	next, frames := r.nextSeq(), r.hashesOf(line)
	var events []snapshot.Event
	from := min(r.behind, len(r.events))
	for _, row := range r.events[from:max(from, min(upTo, len(r.events)))] {
		e, ok := eventOf(row.row, r.id, r.run.Workflow, frames)
		if !ok {
			continue
		}
		seq := e.Seq
		events = append(events, numbered(e, next))
		next = seq + 1
	}
	return events
}

// exported counts the events at the beginning of Smithers' list that are the run's, one by one. They are more than were
// imported in a database that the run was exported to with what was done here since; 0 where they cannot be more.
func (r *runPass) exported() int {
	imported := int(r.was.Pass.Events)
	if len(r.stored) <= imported {
		return 0
	}
	for n, e := range r.stored {
		if n >= len(r.events) || r.events[n].kind != e.Type || r.events[n].atMs != e.AtMs || n >= imported && !samePayload(e, r.events[n].row) {
			return n
		}
	}
	return len(r.stored)
}

// nextSeq is the seq that Smithers would give the event after those that are stored.
func (r *runPass) nextSeq() int64 {
	if r.seq == nil {
		_, next := peerSeqs(r.stored)
		r.seq = &next
	}
	return *r.seq
}

// store adds events to those that are stored.
func (r *runPass) store(events []snapshot.Event) {
	next := r.nextSeq()
	for _, e := range events {
		if seq, ok := keptSeq(e); ok {
			next = seq
		}
		next++
	}
	r.stored, r.seq = append(r.stored, events...), &next
}

// hashesOf are the frames of the line by Smithers' numbers. It is never shorter than it was.
func (r *runPass) hashesOf(line []frameFacts) map[int64]frameFacts {
	if r.byPeer == nil {
		r.byPeer = make(map[int64]frameFacts, len(line))
	}
	for _, one := range line[min(r.indexed, len(line)):] {
		r.byPeer[one.PeerNo] = one
	}
	r.indexed = max(r.indexed, len(line))
	return r.byPeer
}

// journalAt is what the journal gains by a time: attempts as they were then, and the logs of those that
// have ended. frame is the first frame since those that are new have ended, or the newest.
func (r *runPass) journalAt(atMs, frame int64) []snapshot.Change {
	var changes []snapshot.Change
	for i := range r.attempts {
		row := &r.attempts[i]
		if row.isDone(atMs, r.before) {
			continue
		}
		a, begun := row.then(atMs)
		if !begun {
			continue
		}
		key := snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)
		had, known := r.journal[key]
		row.done = r.before != nil && row.endedBy(r.before.AtMs)
		since := r.before == nil && r.head == nil || r.before != nil && a.FinishedAtMs != nil && *a.FinishedAtMs > r.before.AtMs
		switch {
		case known && had.Frame != nil && sameEnd(had, a):
			a.CommitID, a.Tree, a.Frame, a.Worktree, a.Beside = had.CommitID, had.Tree, had.Frame, had.Worktree, had.Beside
		case since && r.files != nil && !r.copies.hasOwn(&a):
			r.copies.pointAt(&a, frame, r.files)
		case since:
			r.copies.point(&a, frame)
		}
		if change := setRow(snapshot.CollectionAttempts, snapshot.EncodeAttempt(a)); !known || string(snapshot.EncodeAttempt(had).Value) != string(change.Value) {
			changes = append(changes, change)
		}
		if row.log != "" && a.FinishedAtMs != nil && r.logs[key] != row.log {
			r.logs[key] = row.log
			changes = append(changes, setRow(snapshot.CollectionLogs, logOf(a, row.log)))
		}
	}
	return changes
}

// sameEnd tells whether two attempts of one key are the same and have ended.
func sameEnd(a, b snapshot.Attempt) bool {
	return a.StartedAtMs == b.StartedAtMs && a.FinishedAtMs != nil && b.FinishedAtMs != nil && *a.FinishedAtMs == *b.FinishedAtMs
}
