package smithers

import (
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// memory is the state that a watch keeps between passes. With the memory, a pass reads neither the history that the
// previous pass wrote nor the rows of ended runs. A pass without memory has the same result. The methods accept a nil
// memory.
type memory struct {
	runs    map[string]*knownRun  // the runs that have not ended, by id
	settled map[string]settledRun // the ended runs that were imported completely, by id
}

// newMemory returns an empty memory.
func newMemory() *memory {
	return &memory{runs: make(map[string]*knownRun), settled: make(map[string]settledRun)}
}

// knownRun is the stored part of a run at a tip, as a pass left the run.
type knownRun struct {
	tip     objstore.ID
	frames  []stored.Frame   // all frames by number
	peer    *stored.Peer     // ext/smithers
	journal journal          // the journal at the tip
	stored  []snapshot.Event // the run's events
	tree    string           // the rendered tree at the tip; "" if the tip has no tree
}

// take removes the knownRun of the run with the id run from m, and returns it. The caller may change the knownRun.
// take returns nil if m does not have the run, or has the run at a tip other than tip.
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

// keep remembers the run of the pass r at tip, the run's tip after the pass. It remembers nothing if the pass created
// the run, or if the run has ended or was never imported before. It also remembers nothing if the numbers of the new
// frames do not follow the known frames.
func (m *memory) keep(r *runPass, tip objstore.ID) error {
	if m == nil || !r.imported || r.head == nil || r.Ours.Status.Ended() {
		return nil
	}
	frames := r.frames
	for _, id := range r.made {
		// Read the entry again, because an entry from Append uses much more memory.
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
		frames = append(frames, stored.FrameOf(entry)) //nolint:gocritic // no other slice uses the capacity behind r.frames
	}
	m.runs[r.ID] = &knownRun{
		tip: tip, frames: frames, peer: r.now, journal: r.journal, stored: r.stored, tree: r.ours,
	}
	return nil
}

// recall sets the fields of r that readKept reads from the repository. It takes them from known, a run that a
// watch remembers. r.now is a copy of the known ext/smithers, so that changes of r.now do not change r.was.
func (r *runPass) recall(known *knownRun) {
	r.imported = true
	r.frames, r.journal, r.stored, r.ours = known.frames, known.journal, known.stored, known.tree
	r.was = known.peer
	now := *known.peer
	now.Frames, now.Marks = maps.Clone(now.Frames), slices.Clone(now.Marks)
	r.now = &now
}

// settledRun identifies the state of an ended run in the database.
type settledRun struct {
	row    string       // the run's row in _smithers_runs, as dbrow.KeepOne writes it
	newest source.Head  // the newest snapshot
	event  source.Value // the greatest seq of the run's events
}

// settledOf returns a value that identifies the present state of a run in the database. row is the run's row of
// _smithers_runs. ok is false if the run has not ended or has no snapshot.
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
	kept, err := dbrow.KeepOne(*table, row, "")
	now.row, now.newest = string(kept), *newest
	return now, err == nil, err
}

// passesOver reports whether a pass of a watch can skip from, a run of the database.
//
//   - No pass skips a run without a row: the import of the run must report the error.
//   - An import without memory and a pass with im.thorough skip no run.
//   - Any other pass skips an ended run that has not changed since its import.
func (im *importJob) passesOver(tx *source.Tx, from dbrun.RunRow) (bool, error) {
	if im.memory == nil || im.thorough || from.Row == nil {
		return false, nil
	}
	was, known := im.memory.settled[from.ID]
	now, ended, err := settledOf(tx, from.Row)
	return known && ended && now == was, err
}

// settle remembers the state of from, a run of the database, so that later passes skip the run. It does so only if
// the run has ended. The pass must have imported all rows of the run. An import without memory and a pass over new
// frames do not need settle, which then does nothing. The error is source.ErrOvertaken if the rows may be from two
// states of the database.
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
