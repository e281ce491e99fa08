package smithers

import (
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// memory is what one watch keeps from pass to pass, so that it neither reads the history of a run again
// that it has just written, nor the rows of one that has ended. Everything in it can be found anew.
type memory struct {
	runs    map[string]*knownRun
	settled map[string]settled
}

func newMemory() *memory {
	return &memory{runs: make(map[string]*knownRun), settled: make(map[string]settled)}
}

// knownRun is what a pass has read of a run, or left of it, in the repository, as of a tip.
type knownRun struct {
	tip     objstore.ID
	frames  []kept.Frame
	peer    *kept.Peer
	journal journal
	stored  []snapshot.Event
	tree    string
	rows    *knownRows // of the database; nil for nothing
}

// take removes and returns what is known of a run, since the caller changes it. It returns nil if the run has another tip.
func (m *memory) take(run string, tip objstore.ID) *knownRun {
	if m == nil {
		return nil
	}
	known := m.runs[run]
	delete(m.runs, run)
	if known == nil || known.tip != tip {
		return nil
	}
	return known
}

// keep keeps what a pass knows of its run. tip is the tip that the pass has left.
func (m *memory) keep(r *runPass, tip objstore.ID) error {
	if m == nil || !r.imported || r.head == nil || r.Ours.Status.Ended() {
		return nil
	}
	frames := r.frames
	for _, id := range r.made {
		// Anew, since what an entry that was just appended holds stays in memory with it.
		entry, err := snapshot.ReadEntry(r.im.store.Objects(), id)
		if err != nil {
			return err
		}
		if entry.Frame == snapshot.NoFrame {
			continue
		}
		if entry.Frame != int64(len(frames)) {
			return nil
		}
		frames = append(frames, kept.FrameOf(entry)) //nolint:gocritic // what is behind the known ones is nobody's
	}
	m.runs[r.ID] = &knownRun{
		tip: tip, frames: frames, peer: r.now, journal: r.journal, stored: r.stored, tree: r.ours, rows: r.rowsKnown(),
	}
	return nil
}

// recall takes over what is known of the run. It copies the peer, so that the stored one stays as it is.
func (r *runPass) recall(known *knownRun) {
	r.imported = true
	r.frames, r.journal, r.stored, r.ours = known.frames, known.journal, known.stored, known.tree
	r.was, r.recalled = known.peer, known.rows
	now := *known.peer
	now.Frames, now.Marks = maps.Clone(now.Frames), slices.Clone(now.Marks)
	r.now = &now
}

// settled is a run that has ended, as it was when all of it had been imported.
type settled struct {
	row    string // its row in _smithers_runs
	newest source.Head
	event  source.Value // the greatest seq
}

// settledOf returns how a run is now. ok is false if the run goes on.
func settledOf(tx *source.Tx, row source.Row) (now settled, ok bool, err error) {
	id := dbrow.TextOf(row, "run_id")
	run, _ := tables.ReadRun(row)
	table, newest := tx.Table(tables.Runs), (*source.Head)(nil)
	if !run.Status.Ended() || table == nil {
		return now, false, nil
	}
	if newest, err = tx.Newest(id); err != nil || newest == nil {
		return now, false, err
	}
	if now.event, err = tx.Greatest(tables.Events, id, "seq"); err != nil {
		return now, false, err
	}
	h := dbrow.NewDigester()
	h.Rows(*table, []source.Row{row})
	now.row, now.newest = h.Sum(), *newest
	return now, true, nil
}

// passesOver reports whether a pass of a watch need not look at a run. A pass over new frames looks at the runs that have some,
// and at the parents of new runs. Any other pass looks at runs that go on or have changed, or, if it is thorough, at all.
func (im *importJob) passesOver(tx *source.Tx, from dbrun.RunRow) (bool, error) {
	switch {
	case im.memory == nil || im.thorough || from.Row == nil:
		return false, nil
	case im.upTo != nil:
		_, wanted := im.upTo[from.ID]
		_, before := im.memory.settled[from.ID]
		return !wanted && !im.parents[from.ID] && (before || im.memory.runs[from.ID] != nil), nil
	}
	was, known := im.memory.settled[from.ID]
	now, ended, err := settledOf(tx, from.Row)
	return known && ended && now == was, err
}

// settle remembers that all of a run was imported.
func (im *importJob) settle(tx *source.Tx, from dbrun.RunRow) error {
	if im.memory == nil || im.upTo != nil {
		return nil
	}
	delete(im.memory.settled, from.ID)
	now, ended, err := settledOf(tx, from.Row)
	if err == nil {
		err = tx.Check()
	}
	if ended && err == nil {
		im.memory.settled[from.ID] = now
	}
	return err
}
