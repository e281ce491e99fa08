package smithers

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// knownRows is what one watch keeps of a run's rows in the database, up to its newest frame that is imported,
// so that the next frame takes what was added alone. What may have changed below it is counted, and
// whatever does not add up has the rows read again. What cannot be seen so, such as an old row with another value,
// is for the next pass over all rows, which says what is in the run when it is exported.
type knownRows struct {
	heads    []source.Head
	events   []peerEvent // with rows from the last one on that is stored
	attempts []attemptRow
	settled  source.Tally // of the attempts that had ended at the newest frame
	rendered int64        // how many rows _smithers_frames has up to it

	line           []tables.FrameFacts
	byPeer         map[int64]tables.FrameFacts
	seq            int64
	before         workcopy.Moment
	tree, lastTree string
	last, lastRow  source.Row
}

// tallied are the columns of attempts that count, beside their number.
func tallied() []string {
	return []string{"finished_at_ms", "state", "error_json", "jj_pointer", "response_text", "meta_json"}
}

// settledBy is when an attempt is done with: when it had ended at the newest frame.
func settledBy(atMs int64) source.Settled {
	return source.Settled{Column: "finished_at_ms", Most: atMs}
}

// rowsKnown is what a pass knows of the database's rows; nil where it did not come to know them.
func (r *runPass) rowsKnown() *knownRows {
	k := r.lineKnown()
	if k == nil || r.behind == 0 || r.behind > len(r.events.all) {
		return nil
	}
	newest := r.heads[len(r.heads)-1]
	k.heads, k.events, k.attempts, k.seq = r.heads, r.events.all, r.attempts, r.nextSeq()
	k.settled = source.TallyOf(r.rows[tables.Attempts], settledBy(newest.AtMs), tallied())
	k.rendered = 0
	for no := range r.trees.rows {
		if no <= newest.Frame {
			k.rendered++
		}
	}
	if r.had != nil {
		if newest.AtMs < r.had.before.AtMs {
			return nil // its clock was set back: attempts are open again
		}
		k.settled, k.rendered = k.settled.Plus(r.had.settled), k.rendered+r.had.rendered
	}
	for i := range k.events[:r.behind-1] {
		k.events[i].row = nil
	}
	return k
}

// lineKnown is what a pass knows of the frames up to the newest one, which it has appended or a pass before it; nil for
// neither.
func (r *runPass) lineKnown() *knownRows {
	n := len(r.heads)
	switch {
	case n == 0:
		return nil
	case r.last == nil && r.recalled != nil && slices.Equal(r.heads, r.recalled.heads):
		k := *r.recalled
		return &k
	case r.last == nil || r.before == nil || len(r.line) != n:
		return nil
	}
	one, newest := r.line[n-1], r.heads[n-1]
	if one.PeerNo != newest.Frame || one.AtMs != newest.AtMs || r.before.AtMs != newest.AtMs {
		return nil
	}
	return &knownRows{
		line: r.line, byPeer: r.hashesOf(r.line), before: *r.before, tree: r.tree, lastTree: r.lastTree, last: r.last, lastRow: r.lastRow,
	}
}

// readLater reads what the database has got since the watch last read the run; ok is false where the watch does not know
// enough, or what it knows does not fit.
func (p *peerRun) readLater(known *knownRun) (ok bool, err error) {
	if known == nil || known.rows == nil {
		return false, nil
	}
	p.had = known.rows
	p.run, p.at = tables.ReadRun(p.row)
	p.rows = make(map[string][]source.Row)
	for _, read := range []func() (bool, error){p.laterHeads, p.laterEvents, p.laterTrees, p.laterAttempts} {
		if ok, err := read(); !ok || err != nil {
			return false, err
		}
	}
	if err := p.readRows(tables.Approvals, tables.HumanRequests, tables.Signals); err != nil {
		return false, err
	}
	p.mail = readMail(p.rows, p.attempts, p.events.all, p.run.CreatedAtMs)
	if p.neverRan() {
		p.run.Status = snapshot.RunPending
	}
	p.copies = p.all.OfRun(p.row, p.rows[tables.Attempts])
	return true, nil
}

func (p *peerRun) laterHeads() (ok bool, err error) {
	known := p.had.heads
	newest := known[len(known)-1]
	heads, before, err := p.tx.LaterHeads(p.id, newest.Frame)
	if err != nil || before != int64(len(known)-1) || len(heads) == 0 {
		return false, err
	}
	for i := range heads {
		heads[i].AtMs = dbrow.OurTime(heads[i].AtMs)
	}
	p.heads = append(known, heads[1:]...) //nolint:gocritic // what is behind the known ones is nobody's
	return heads[0] == newest, nil
}

func (p *peerRun) laterEvents() (ok bool, err error) {
	known := p.had.events
	newest := known[len(known)-1].row
	rows, before, ok, err := p.tx.Later(tables.Events, p.id, "seq", newest["seq"].Int)
	if err != nil || !ok || before != int64(len(known)-1) || len(rows) == 0 || !maps.EqualFunc(rows[0], newest, dbrow.Same) {
		return false, err
	}
	p.events = listEvents(p.id, p.run.Workflow, known, rows[1:])
	return true, nil
}

// laterTrees reads the rows of _smithers_frames after the newest frame.
func (p *peerRun) laterTrees() (ok bool, err error) {
	p.trees = treeRows{}
	if p.tx.Table(tables.Frames) == nil {
		return p.had.rendered == 0, nil
	}
	rows, before, ok, err := p.tx.Later(tables.Frames, p.id, "frame_no", p.had.heads[len(p.had.heads)-1].Frame+1)
	if err != nil || !ok || before != p.had.rendered {
		return false, err
	}
	for _, row := range rows {
		if err := p.trees.add(row); err != nil {
			return false, err
		}
	}
	p.trees.findLonely(p.heads)
	return true, nil
}

func (p *peerRun) laterAttempts() (ok bool, err error) {
	by := settledBy(p.had.before.AtMs)
	settled, ok, err := p.tx.Tally(tables.Attempts, p.id, by, tallied())
	if err != nil || !ok || !settled.Equal(p.had.settled) {
		return false, err
	}
	rows, err := p.tx.Unsettled(tables.Attempts, p.id, by)
	if err != nil {
		return false, err
	}
	p.rows[tables.Attempts] = rows
	for _, a := range p.had.attempts {
		if a.endedBy(by.Most) {
			p.attempts = append(p.attempts, a)
		}
	}
	for _, row := range rows {
		p.addAttempt(row)
	}
	slices.SortFunc(p.attempts, func(x, y attemptRow) int {
		a, b := x.attempt, y.attempt
		return cmp.Or(strings.Compare(a.NodeID, b.NodeID), cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.Attempt, b.Attempt))
	})
	return true, nil
}

// followKnown sets what the newest frame leads on with, as the pass before has left it.
func (l *runLine) followKnown(k *knownRows) {
	l.line, l.byPeer, l.indexed, l.seq = k.line, k.byPeer, len(k.line), &k.seq
	l.last, l.lastRow, l.before, l.tree, l.lastTree = k.last, k.lastRow, &k.before, k.tree, k.lastTree
}
