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

// memory is what a watch remembers between passes, so that it does not read again the history that it has just
// written, nor the rows of ended runs. All of it can be found again.
type memory struct {
	runs    map[string]*knownRun
	settled map[string]settledRun
}

func newMemory() *memory {
	return &memory{runs: make(map[string]*knownRun), settled: make(map[string]settledRun)}
}

// knownRun is what a pass knows of a run in the repository at a tip.
type knownRun struct {
	tip     objstore.ID
	frames  []kept.Frame
	peer    *kept.Peer
	journal journal
	stored  []snapshot.Event
	tree    string
	rows    *knownRows // the rows of the database; nil if unknown
}

// take removes and returns what is known of a run, because the caller changes it. It returns nil if the run has
// another tip.
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

// keep remembers what a pass knows of its run. tip is the run's tip after the pass.
func (m *memory) keep(r *runPass, tip objstore.ID) error {
	if m == nil || !r.imported || r.head == nil || r.Ours.Status.Ended() {
		return nil
	}
	frames := r.frames
	for _, id := range r.made {
		// Read again, because a just appended entry holds much more memory.
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
		frames = append(frames, kept.FrameOf(entry)) //nolint:gocritic // no other slice uses the room behind the known frames
	}
	m.runs[r.ID] = &knownRun{
		tip: tip, frames: frames, peer: r.now, journal: r.journal, stored: r.stored, tree: r.ours, rows: r.rowsKnown(),
	}
	return nil
}

// recall restores what is known of the run. It copies the peer, so that the stored one does not change.
func (r *runPass) recall(known *knownRun) {
	r.imported = true
	r.frames, r.journal, r.stored, r.ours = known.frames, known.journal, known.stored, known.tree
	r.was, r.recalled = known.peer, known.rows
	now := *known.peer
	now.Frames, now.Marks = maps.Clone(now.Frames), slices.Clone(now.Marks)
	r.now = &now
}

// settledRun identifies the state of an ended run when all of it was imported.
type settledRun struct {
	row    string // digest of its row in _smithers_runs
	newest source.Head
	event  source.Value // the greatest seq
}

// settledOf returns the present state of a run. ok is false if the run has not ended.
func settledOf(tx *source.Tx, row source.Row) (now settledRun, ok bool, err error) {
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

// passesOver reports whether a pass of a watch can skip a run. A pass over new frames reads runs with new frames,
// parents of new runs, and runs that the watch does not know. Any other pass skips ended runs that have not changed,
// unless the pass is thorough.
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

// settle remembers an ended run whose rows were all imported.
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
