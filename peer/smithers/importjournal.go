package smithers

import (
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// eventsOf are the events up to an index that are not stored yet.
func (l *runLine) eventsOf(p *peerRun, upTo int, line []tables.FrameFacts) []snapshot.Event {
	next, frames := l.nextSeq(), l.hashesOf(line)
	var events []snapshot.Event
	from := min(l.behind, len(p.events))
	for _, row := range p.events[from:max(from, min(upTo, len(p.events)))] {
		e, ok := tables.ReadEvent(row.row, p.id, p.run.Workflow, frames)
		if !ok {
			continue
		}
		seq := e.Seq
		events = append(events, tables.Numbered(e, next))
		next = seq + 1
	}
	return events
}

// exported counts the events at the beginning of Smithers' list that are the run's, one by one. They are more than were
// imported in a database that the run was exported to with what was done here since; 0 where they cannot be more.
func (p *peerRun) exported(stored []snapshot.Event, imported int) int {
	if len(stored) <= imported {
		return 0
	}
	for n, e := range stored {
		if n >= len(p.events) || p.events[n].kind != e.Type || p.events[n].atMs != e.AtMs || n >= imported && !tables.SamePayload(e, p.events[n].row) {
			return n
		}
	}
	return len(stored)
}

// nextSeq is the seq that Smithers would give the event after those that are stored.
func (l *runLine) nextSeq() int64 {
	if l.seq == nil {
		_, next := tables.PeerSeqs(l.stored)
		l.seq = &next
	}
	return *l.seq
}

// store adds events to those that are stored.
func (l *runLine) store(events []snapshot.Event) {
	next := l.nextSeq()
	for _, e := range events {
		if seq, ok := tables.KeptSeq(e); ok {
			next = seq
		}
		next++
	}
	l.stored, l.seq = append(l.stored, events...), &next
}

// hashesOf are the frames of the line by Smithers' numbers. It is never shorter than it was.
func (l *runLine) hashesOf(line []tables.FrameFacts) map[int64]tables.FrameFacts {
	if l.byPeer == nil {
		l.byPeer = make(map[int64]tables.FrameFacts, len(line))
	}
	for _, one := range line[min(l.indexed, len(line)):] {
		l.byPeer[one.PeerNo] = one
	}
	l.indexed = max(l.indexed, len(line))
	return l.byPeer
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
		case since && r.files != nil && !r.copies.HasOwn(&a):
			r.copies.PointAt(&a, frame, r.files)
		case since:
			r.copies.Point(&a, frame)
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

// sameEnd reports whether two attempts of one key are the same and have ended.
func sameEnd(a, b snapshot.Attempt) bool {
	return a.StartedAtMs == b.StartedAtMs && a.FinishedAtMs != nil && b.FinishedAtMs != nil && *a.FinishedAtMs == *b.FinishedAtMs
}

// setRow is the change that sets a row of a collection.
func setRow(collection string, row page.Row) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: collection, Key: row.Key, Value: row.Value}
}
