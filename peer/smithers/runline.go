package smithers

import (
	"maps"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// runLine is the line of entries that a pass appends to a run, with the data from which the next entry is made.
type runLine struct {
	lineEnd

	entry  *snapshot.Entry // the newest entry; before a run's first, the frame from which it was forked, or nil
	opened bool            // the run has at least one entry
	ext    *kept.Peer      // the stored ext/smithers
	now    *kept.Peer      // the ext/smithers to store

	journal journal
	done    []bool // by index of an attempt: the journal has the ended attempt, as of a frame after its end
	stored  []snapshot.Event
	seq     *int64 // see nextSeq; nil until computed
	behind  int    // number of the database's events that are stored

	line      []tables.FrameFacts         // Smithers' stored frames
	byPeer    map[int64]tables.FrameFacts // the same by Smithers' numbers: the newest of each
	described []int64                     // the frames whose rows in ext were set
}

// lineEnd is the end of a line. Each frame replaces it.
type lineEnd struct {
	based    *int64           // the frame that the next one is based on; nil for the run's newest
	before   *workcopy.Moment // Smithers' newest frame; nil if none
	tree     string           // its rendered tree in the database; "" if none
	last     source.Row       // its row in _smithers_snapshots
	lastRow  source.Row       // the newest row in _smithers_frames
	lastTree string           // our rendered tree at lastRow
	ours     string           // the rendered tree of the newest entry
	files    *snapshot.VCS    // the files captured for the newest frame; nil if none
}

// first reports whether the next entry is the run's first.
func (l *runLine) first() bool { return !l.opened }

// next returns the number of the next frame.
func (l *runLine) next() int64 {
	if l.first() {
		return 0
	}
	row, err := l.entry.RunRow()
	if err != nil {
		return 0 // append returns the error
	}
	return row.Frame + 1
}

// eventsOf returns the events before an index that are not stored yet. next is the frame that is being drafted, or
// nil.
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

// nextSeq returns the number that Smithers would give the next event.
func (l *runLine) nextSeq() int64 {
	if l.seq != nil {
		return *l.seq
	}
	_, next := tables.PeerSeqs(l.stored)
	return next
}

// store adds events to the stored ones.
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

// addFrame adds a frame of Smithers to the line.
func (l *runLine) addFrame(one tables.FrameFacts) {
	if l.byPeer == nil {
		l.byPeer = make(map[int64]tables.FrameFacts)
	}
	l.line, l.byPeer[one.PeerNo] = append(l.line, one), one
}

// note records how the rows of a frame differ from the predicted ones.
func (l *runLine) note(frame int64, n frameNote) {
	l.setFrameRow(frame, n.row)
	l.now.Marks = append(l.now.Marks, n.marks...)
}

// setFrameRow sets the ext/smithers row of a frame.
func (l *runLine) setFrameRow(frame int64, row kept.FrameRow) {
	if l.now.Frames == nil {
		l.now.Frames = map[int64]kept.FrameRow{}
	}
	l.now.Frames[frame] = row
	l.described = append(l.described, frame)
}

// move updates the line after the entries of a step were stored.
func (l *runLine) move(step *lineStep) {
	maps.Copy(l.journal.logs, step.journal.logs)
	for i, done := range step.journal.done {
		l.done[i] = done
	}
	f := step.frame
	if f == nil {
		return
	}
	l.lineEnd = f.end
	l.addFrame(f.facts)
	l.note(f.facts.Frame, f.note)
	if f.pass != nil {
		l.now.Pass = *f.pass
	}
}
