package smithers

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// runLine is the line of entries that a pass appends to a run, with the data from which the pass makes the next
// entry.
type runLine struct {
	lineEnd

	// entry is the newest entry. Before the first entry of a fork, entry is the frame from which the run was forked.
	// Before the first entry of another run, entry is nil.
	entry  *snapshot.Entry
	opened bool         // the run has at least one entry
	ext    *stored.Peer // the stored ext/smithers
	now    *stored.Peer // the ext/smithers to store

	journal journal
	done    []bool           // the journal has all of the attempt, and had it at the newest stored frame; by the attempt's index in the database
	stored  []snapshot.Event // the run's events in the repository
	seq     *int64           // the result of nextSeq; nil until store computes the number
	behind  int              // the number of the database's events that are stored

	line      []tables.FrameFacts         // Smithers' stored frames, oldest first
	byPeer    map[int64]tables.FrameFacts // the newest frame of line with each of Smithers' numbers
	described []int64                     // the frames whose row in now.Frames the pass has set
	snapshots map[int64][]byte            // the rows of snapshots to store: frameNote.snapshot, by frame
}

// lineEnd is the end of a line. Each frame replaces the lineEnd. "The newest frame" is Smithers' newest stored frame.
type lineEnd struct {
	based  *int64           // the frame on which the next frame is based; nil means the run's newest frame
	before *workcopy.Moment // the moment of the newest frame; nil if no frame is stored or read
	tree   string           // the newest frame's rendered tree in the database; "" if the frame has no tree
	ours   string           // the rendered tree in the repository at the newest entry; "" if the entry has no tree
	files  *snapshot.VCS    // the files captured for the newest frame, or nil
}

// first reports whether the next entry is the first entry of the run.
func (l *runLine) first() bool { return !l.opened }

// next returns git-smithers' number of the next frame. It returns 0 for a run without entries.
func (l *runLine) next() int64 {
	if l.first() {
		return 0
	}
	row, err := l.entry.RunRow()
	if err != nil {
		return 0 // append returns the error of an unreadable row
	}
	return row.Frame + 1
}

// eventsOf returns the events of the database's run p that are not stored and whose index is less than upTo. It leaves
// out invalid rows. An event whose number is not the previous number plus 1 gets Smithers' number in its payload. next
// has the facts of the frame that is being drafted, or is nil. Events may refer to that frame.
func (l *runLine) eventsOf(p *dbrun.Run, upTo int, next *tables.FrameFacts) []snapshot.Event {
	frames := func(no int64) (tables.FrameFacts, bool) {
		if next != nil && next.PeerNo == no {
			return *next, true
		}
		frame, ok := l.byPeer[no]
		return frame, ok
	}
	var events []snapshot.Event
	seq := l.nextSeq()
	for _, row := range p.Events.Between(l.behind, upTo) {
		e, ok := tables.ReadEvent(row.Row, p.ID, p.Ours.Workflow, frames)
		if !ok {
			continue
		}
		events = append(events, tables.Numbered(e, seq))
		seq = e.Seq + 1
	}
	return events
}

// nextSeq returns Smithers' number of the newest stored event, plus 1. The next event has this number unless
// Smithers' numbers have a gap.
func (l *runLine) nextSeq() int64 {
	if l.seq != nil {
		return *l.seq
	}
	_, next := tables.PeerSeqs(l.stored)
	return next
}

// store records that events are stored: it adds the events to l.stored, and sets l.seq to the number after the last
// event. The number of an event is the number kept in its payload or, without a kept number, the previous number plus
// 1.
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

// addFrame adds a frame of Smithers to l.line and l.byPeer. one has the facts of the frame.
func (l *runLine) addFrame(one tables.FrameFacts) {
	if l.byPeer == nil {
		l.byPeer = make(map[int64]tables.FrameFacts)
	}
	l.line, l.byPeer[one.PeerNo] = append(l.line, one), one
}

// note records in l.now what is kept of a frame. frame is the number of the frame, and n has the row and the marks.
func (l *runLine) note(frame int64, n frameNote) {
	l.setFrameRow(frame, n.row)
	if l.snapshots == nil {
		l.snapshots = map[int64][]byte{}
	}
	l.snapshots[frame] = n.snapshot
	l.now.Marks = append(l.now.Marks, n.marks...)
}

// setFrameRow sets the row of a frame in l.now.Frames, and adds the frame to l.described. frame is git-smithers'
// number of the frame.
func (l *runLine) setFrameRow(frame int64, row stored.FrameRow) {
	if l.now.Frames == nil {
		l.now.Frames = map[int64]stored.FrameRow{}
	}
	l.now.Frames[frame] = row
	l.described = append(l.described, frame)
}
