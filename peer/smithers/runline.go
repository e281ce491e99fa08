package smithers

import (
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/peer/smithers/export"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// runLine is the line of entries that a pass appends to a run, with what the next entry follows from.
type runLine struct {
	series *timeline.Series
	opened bool          // the run has an entry
	now    *kept.Peer    // what is to be stored under ext/smithers
	made   []objstore.ID // the entries of this pass

	journal journal
	stored  []snapshot.Event
	behind  int // how many of the database's events are stored

	line    []tables.FrameFacts // Smithers' frames, as far as they are stored
	based   *int64              // of the next frame, if it does not follow the run's newest
	before  *workcopy.Moment    // the newest of Smithers' frames; nil for none
	tree    string              // its rendered tree, as Smithers has it; "" for none
	last    source.Row          // its row in _smithers_snapshots
	lastRow source.Row          // the newest row in _smithers_frames

	lastTree string        // our rendered tree at that row
	ours     string        // the rendered tree of the newest entry
	files    *snapshot.VCS // what was captured for the newest frame; nil for nothing

	// Found on the way, so that it is not looked for again with each frame.
	seq       *int64                      // see nextSeq
	byPeer    map[int64]tables.FrameFacts // see hashesOf
	indexed   int                         // how many of the line are in it
	described []int64                     // the frames whose rows in ext were set
}

// eventsOf returns the events up to an index that are not stored yet.
func (l *runLine) eventsOf(p *dbrun.Run, upTo int, line []tables.FrameFacts) []snapshot.Event {
	next, frames := l.nextSeq(), l.hashesOf(line)
	var events []snapshot.Event
	for _, row := range p.Events.Between(l.behind, upTo) {
		e, ok := tables.ReadEvent(row.Row, p.ID, p.Ours.Workflow, frames)
		if !ok {
			continue
		}
		seq := e.Seq
		events = append(events, tables.Numbered(e, next))
		next = seq + 1
	}
	return events
}

// nextSeq returns the seq that Smithers would give the next event.
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

// hashesOf returns the frames of the line by Smithers' numbers. The line only grows.
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

// rendered returns the tree for a draft, or nil if it is as before, or unknown.
func (l *runLine) rendered(tree string) []byte {
	if tree == "" || tree == l.ours || tree == export.NoTree && l.ours == "" {
		return nil
	}
	return []byte(tree)
}
