package smithers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/smithersdb"
	"github.com/git-smithers/git-smithers/snapshot"
)

// read reads all that the database has of the run, but for its snapshots.
func (r *runPass) read() error {
	var names []string
	for _, table := range peerTables(r.tx.Tables()) {
		names = append(names, table.Name)
	}
	if err := r.readThese(names...); err != nil {
		return err
	}
	for row, err := range r.tx.Rows(tableColumns, "") {
		if err != nil {
			return err
		}
		r.columns = append(r.columns, outputColumn{textOf(row, "table_name"), textOf(row, "column_name"), textOf(row, "kind")})
	}
	return nil
}

// readForFrames reads what frames are made of.
func (r *runPass) readForFrames() error {
	return r.readThese(tableAttempts, tableEvents, tableApprovals, tableHumanRequests, tableSignals)
}

// readThese reads the run's snapshots, rendered trees, and its rows in tables.
func (r *runPass) readThese(tables ...string) (err error) {
	if v := r.row["run_id"]; v.Kind != smithersdb.Text {
		return fmt.Errorf("%w: a run's id is no text", smithersdb.ErrDamaged)
	}
	r.run, r.at = runOf(r.row)
	if r.heads, err = r.tx.Heads(r.id); err != nil {
		return err
	}
	for i := range r.heads {
		r.heads[i].AtMs = ourTime(r.heads[i].AtMs)
	}
	r.rows = make(map[string][]smithersdb.Row)
	if err := r.readRows(tables...); err != nil {
		return err
	}
	r.frameRows = make(map[int64]smithersdb.Row)
	for row, err := range r.tx.Rows(tableFrames, r.id) {
		if err != nil {
			return err
		}
		if err := r.addTree(row); err != nil {
			return err
		}
	}
	r.findLonely()
	r.sortIn()
	return nil
}

// readRows reads the run's rows in tables.
func (r *runPass) readRows(tables ...string) error {
	for _, table := range tables {
		for row, err := range r.tx.Rows(table, r.id) {
			if err != nil {
				return err
			}
			r.rows[table] = append(r.rows[table], row)
		}
	}
	return nil
}

// addTree adds a row of _smithers_frames.
func (r *runPass) addTree(row smithersdb.Row) error {
	no, ok := columnNumber(row, "frame_no")
	if !ok {
		return fmt.Errorf("%w: a frame's number is none", smithersdb.ErrDamaged)
	}
	r.frameRows[no] = row
	return nil
}

// findLonely finds the rows of _smithers_frames without a snapshot.
func (r *runPass) findLonely() {
	for _, no := range slices.Sorted(maps.Keys(r.frameRows)) {
		_, captured := slices.BinarySearchFunc(r.heads, no, func(h smithersdb.Head, no int64) int { return cmp.Compare(h.Frame, no) })
		if !captured {
			r.lonely = append(r.lonely, no)
		}
	}
}

// sortIn makes ours of the rows that have a place in time.
func (r *runPass) sortIn() {
	for _, row := range r.rows[tableAttempts] {
		r.addAttempt(row)
	}
	r.captured = make(map[int64]int)
	for i, row := range r.rows[tableEvents] {
		e := peerEventOf(row)
		r.events = append(r.events, e)
		if e.frameNo != noPeer {
			r.captured[e.frameNo] = i
		}
	}
	r.readMailbox()
	if r.neverRan() {
		r.run.Status = snapshot.RunPending
	}
	r.copies = r.im.copies.ofRun(r.row, r.rows[tableAttempts])
}

// addAttempt adds a row of _smithers_attempts.
func (r *runPass) addAttempt(row smithersdb.Row) {
	a, log, ok := attemptOf(row)
	if !ok {
		return
	}
	one := attemptRow{attempt: a, log: log}
	if w, ok := waitOf(row, a); ok {
		one.wait = &w
	}
	r.attempts = append(r.attempts, one)
}

// neverRan tells whether the run is a fork that nobody has started: then Smithers shows the status of the
// run that it was forked from.
func (r *runPass) neverRan() bool {
	return r.fork != nil && r.run.StartedAtMs == nil && len(r.attempts) == 0 && len(r.frameRows) == 0 && (r.had == nil || r.had.rendered == 0)
}
