package dbrun

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// SeenRows has the rows of a run up to a frame, so that the pass for the next frame reads only newer rows. SeenRows
// also has the number of these rows. If the database has another number, the caller reads all rows again. Only
// a pass over all rows finds other changes, such as a new value in an old row. Only such a pass decides the
// rows that an export writes.
type SeenRows struct {
	Heads    []source.Head
	events   []Event // Row is nil before the last stored event
	attempts []Attempt
	settled  source.Tally // the tally of the attempts that had ended at the newest frame
	rendered int64        // the number of rows in _smithers_frames up to the newest frame
}

// newestMs returns the time of the newest frame. The run must have a frame.
func (s *SeenRows) newestMs() int64 { return s.Heads[len(s.Heads)-1].AtMs }

// tallied returns the names of the columns of _smithers_attempts that a source.Tally sums up. The tally shows
// whether ended attempts have changed.
func tallied() []string {
	return []string{"finished_at_ms", "state", "error_json", "jj_pointer", "response_text", "meta_json"}
}

// settledBy returns the rule by which an attempt counts as settled: the attempt ended at atMs or before.
func settledBy(atMs int64) source.SettledRange {
	return source.SettledRange{Column: "finished_at_ms", Most: atMs}
}

// Seen returns the rows that p has read, for ReadLater in the next pass. stored is the number of stored events,
// which must be at least 1. done has the new value of the field Done of each attempt.
//
// Seen returns nil if the newest frame is older than the newest frame of p.Had. This happens after a clock was
// set back. Some ended attempts would then no longer count as settled.
//
// The result shares its slices with p. Seen changes the attempts and events of p.
func (p *Run) Seen(stored int, done []bool) *SeenRows {
	newest := p.Heads[len(p.Heads)-1]
	s := &SeenRows{Heads: p.Heads, events: p.Events.All, attempts: p.Attempts}
	s.settled = source.TallyOf(p.Rows[tables.Attempts], settledBy(newest.AtMs), tallied())
	for no := range p.Trees.Rows {
		if no <= newest.Frame {
			s.rendered++
		}
	}
	if p.Had != nil {
		if newest.AtMs < p.Had.newestMs() {
			return nil
		}
		s.settled, s.rendered = s.settled.Plus(p.Had.settled), s.rendered+p.Had.rendered
	}
	for i := range s.attempts {
		s.attempts[i].Done = done[i]
	}
	for i := range s.events[:stored-1] { // the next pass needs no row before the last stored event
		s.events[i].Row = nil
	}
	return s
}

// ReadLater sets p to the run in the database, but reads only a part of the rows. It reads the rows that were
// added after seen, the attempts that had not ended, the mailbox, the tool calls and the scores. It takes all other rows from seen.
//
// ok is false if the database no longer has the rows of seen, or if a table does not allow a partial read. p is
// then incomplete, and the caller must read the run with another Run.
func (p *Run) ReadLater(seen *SeenRows) (ok bool, err error) {
	p.Had = seen
	p.Ours, p.At = tables.ReadRun(p.Row)
	p.Rows = make(map[string][]source.Row)
	for _, read := range []func() (bool, error){p.laterHeads, p.laterEvents, p.laterTrees, p.laterAttempts} {
		if ok, err := read(); !ok || err != nil {
			return false, err
		}
	}
	if err := p.readRows(tables.Approvals, tables.HumanRequests, tables.Signals, tables.ToolCalls, tables.Scorers); err != nil {
		return false, err
	}
	p.sortInCalls()
	p.sortInScores()
	p.Mail = ReadMail(p.Rows, p.Attempts, p.Events.All, p.Ours.CreatedAtMs)
	if p.neverRan() {
		p.Ours.Status = snapshot.RunPending
	}
	p.Copies = p.All.OfRun(p.Row, p.Rows[tables.Attempts])
	return true, nil
}

// laterHeads reads the snapshots after the newest seen frame and adds them to p.Heads. ok is false if the
// number of seen snapshots or the newest seen snapshot has changed.
func (p *Run) laterHeads() (ok bool, err error) {
	known := p.Had.Heads
	newest := known[len(known)-1]
	heads, before, err := p.Tx.LaterHeads(p.ID, newest.Frame)
	if err != nil || before != int64(len(known)-1) || len(heads) == 0 {
		return false, err
	}
	for i := range heads {
		heads[i].AtMs = dbrow.OurTime(heads[i].AtMs)
	}
	p.Heads = append(known, heads[1:]...) //nolint:gocritic // no other slice uses the spare capacity behind known
	return heads[0] == newest, nil
}

// laterEvents sets p.Events to the seen events and the newer events of the database. ok is false if the number of
// seen events or the last seen event has changed, or if the key of the table does not allow a partial read.
func (p *Run) laterEvents() (ok bool, err error) {
	known := p.Had.events
	newest := known[len(known)-1].Row
	rows, before, ok, err := p.Tx.Later(tables.Events, p.ID, "seq", newest["seq"].Int)
	if err != nil || !ok || before != int64(len(known)-1) || len(rows) == 0 || !maps.EqualFunc(rows[0], newest, dbrow.Same) {
		return false, err
	}
	p.Events = listEvents(p.ID, p.Ours.Workflow, known, rows[1:])
	return true, nil
}

// laterTrees sets p.Trees to the rows of _smithers_frames after the newest seen frame. ok is false if the
// number of earlier rows has changed, or if the key of the table does not allow a partial read. If the database
// has no such table, the number of earlier rows is 0.
func (p *Run) laterTrees() (ok bool, err error) {
	p.Trees = Trees{}
	if p.Tx.Table(tables.Frames) == nil {
		return p.Had.rendered == 0, nil
	}
	rows, before, ok, err := p.Tx.Later(tables.Frames, p.ID, "frame_no", p.Had.Heads[len(p.Had.Heads)-1].Frame+1)
	if err != nil || !ok || before != p.Had.rendered {
		return false, err
	}
	for _, row := range rows {
		if err := p.Trees.add(row); err != nil {
			return false, err
		}
	}
	p.Trees.findLonely(p.Heads)
	return true, nil
}

// laterAttempts sets p.Attempts to the attempts of the database, sorted by key. It takes from p.Had the
// attempts that had ended at the time of the newest seen frame. It reads the rows of all other attempts into
// p.Rows. ok is false if the tally of the ended attempts has changed, or if the table lacks a column of the
// tally.
func (p *Run) laterAttempts() (ok bool, err error) {
	by := settledBy(p.Had.newestMs())
	settled, ok, err := p.Tx.Tally(tables.Attempts, p.ID, by, tallied())
	if err != nil || !ok || !settled.Equal(p.Had.settled) {
		return false, err
	}
	rows, err := p.Tx.Unsettled(tables.Attempts, p.ID, by)
	if err != nil {
		return false, err
	}
	p.Rows[tables.Attempts] = rows
	for _, a := range p.Had.attempts {
		if a.EndedBy(by.Most) {
			p.Attempts = append(p.Attempts, a)
		}
	}
	for _, row := range rows {
		p.addAttempt(row)
	}
	slices.SortFunc(p.Attempts, func(x, y Attempt) int {
		a, b := x.Attempt, y.Attempt
		return cmp.Or(strings.Compare(a.NodeID, b.NodeID), cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.Attempt, b.Attempt))
	})
	return true, nil
}
