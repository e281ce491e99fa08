package dbrun

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Seen is the rows of a run that were read up to a frame, so that the next frame needs only the rows added since.
// Earlier rows that may have changed are counted. If the counts differ, all rows are read again. Other changes, such
// as another value in an old row, are found by the next pass over all rows, which decides what an export writes.
type Seen struct {
	Heads    []source.Head
	events   []Event // only the last stored event and later ones have rows
	attempts []Attempt
	settled  source.Tally // the tally of the attempts that had ended at the newest frame
	rendered int64        // number of rows of _smithers_frames up to the newest frame
}

// newestMs returns the time of the newest frame.
func (s *Seen) newestMs() int64 { return s.Heads[len(s.Heads)-1].AtMs }

// tallied returns the columns of attempts that the tally includes.
func tallied() []string {
	return []string{"finished_at_ms", "state", "error_json", "jj_pointer", "response_text", "meta_json"}
}

// settledBy returns the condition for attempts that had ended at a time.
func settledBy(atMs int64) source.Settled {
	return source.Settled{Column: "finished_at_ms", Most: atMs}
}

// Seen returns the rows that were read. stored is the number of stored events. done has Attempt.Done for the next
// pass. It returns nil if the run's clock was set back, because ended attempts would then count as open.
func (p *Run) Seen(stored int, done []bool) *Seen {
	newest := p.Heads[len(p.Heads)-1]
	s := &Seen{Heads: p.Heads, events: p.Events.All, attempts: p.Attempts}
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
	for i := range s.events[:stored-1] {
		s.events[i].Row = nil
	}
	return s
}

// ReadLater reads the rows that were added after the seen ones. ok is false if the database no longer has the seen
// rows.
func (p *Run) ReadLater(seen *Seen) (ok bool, err error) {
	p.Had = seen
	p.Ours, p.At = tables.ReadRun(p.Row)
	p.Rows = make(map[string][]source.Row)
	for _, read := range []func() (bool, error){p.laterHeads, p.laterEvents, p.laterTrees, p.laterAttempts} {
		if ok, err := read(); !ok || err != nil {
			return false, err
		}
	}
	if err := p.readRows(tables.Approvals, tables.HumanRequests, tables.Signals); err != nil {
		return false, err
	}
	p.Mail = ReadMail(p.Rows, p.Attempts, p.Events.All, p.Ours.CreatedAtMs)
	if p.neverRan() {
		p.Ours.Status = snapshot.RunPending
	}
	p.Copies = p.All.OfRun(p.Row, p.Rows[tables.Attempts])
	return true, nil
}

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
	p.Heads = append(known, heads[1:]...) //nolint:gocritic // the spare capacity behind known is unused
	return heads[0] == newest, nil
}

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

// laterTrees reads the rows of _smithers_frames after the newest frame.
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
