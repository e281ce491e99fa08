package sqliteindex

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/refs"
)

// details is an index with the rows that only some commands need: nodes, loops, events, mailboxes, ops and outputs. The
// details are in a separate database, so that other commands need no time for them. This database repeats the base
// tables, so that one query can use both.
type details struct {
	*Index

	asked []string // run ids of the last SyncDetails; nil means all runs. Only the holder of the syncing token uses it
}

// detailsPath returns the path of the details database of the index at path.
func detailsPath(path string) string { return strings.TrimSuffix(path, ".db") + "-details.db" }

// SyncDetails updates the index like [Index.Sync], and then the details of the given runs: nodes, loops,
// events, mailboxes, ops and outputs. runIDs are whole run ids; without ids, SyncDetails updates all runs. It
// leaves out a run that cannot be read, and [Index.Problems] reports the run. An unknown run has no details.
func (x *Index) SyncDetails(ctx context.Context, runIDs ...string) error {
	if err := x.Sync(ctx); err != nil {
		return err
	}
	d, err := x.openDetails(ctx)
	if err != nil {
		return err
	}
	if err := d.bringUp(ctx, runIDs); err != nil {
		return err
	}
	x.setProblems(withoutRepeats(append(x.Problems(), d.Problems()...)))
	return nil
}

// DetailedRun returns the run with a whole run id as Run does, at the entry that the details of the run are of.
func (x *Index) DetailedRun(ctx context.Context, runID string) (row RunRow, ok bool, err error) {
	d, err := x.openDetails(ctx)
	if err != nil {
		return row, false, err
	}
	return d.Run(ctx, runID)
}

// openDetails returns the details of the index, and opens their database at the first call. After Close, it
// returns ErrClosed unless the details were open.
func (x *Index) openDetails(ctx context.Context) (*details, error) {
	x.detailMu.Lock()
	defer x.detailMu.Unlock()
	if x.detail != nil {
		return x.detail, nil
	}
	if x.conn.isClosed() {
		return nil, ErrClosed
	}
	opts := x.opts
	opts.Path = detailsPath(opts.Path)
	d := &details{Index: newIndex(opts, detailSchema())}
	d.refill = func(ctx context.Context) error { return d.fill(ctx, nil) }
	if err := d.conn.open(ctx); err != nil {
		return nil, err
	}
	x.detail = d
	return d, nil
}

// bringUp updates the details of the given runs; without ids, of all runs. It takes the syncing token.
func (d *details) bringUp(ctx context.Context, runIDs []string) error {
	release, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	d.asked = slices.Clone(runIDs)
	return d.fill(ctx, nil)
}

// rebuildAll replaces the database by an empty database, and reads the details of all runs again. progress
// may be nil.
func (d *details) rebuildAll(ctx context.Context, progress func(done, total int)) error {
	_, err := d.rebuild(ctx, func(ctx context.Context) (Stats, error) {
		d.asked = nil
		return Stats{}, d.fill(ctx, progress)
	})
	return err
}

// fill updates the base tables and the details of the runs in d.asked, and sets the problems. progress may be
// nil. The caller holds the syncing token.
func (d *details) fill(ctx context.Context, progress func(done, total int)) error {
	return d.rounds(ctx, func() error {
		problems, err := d.syncBase(ctx)
		if err != nil {
			return err
		}
		found, err := d.syncDetails(ctx, progress)
		if err != nil {
			return err
		}
		d.setProblems(append(problems, found...))
		return nil
	})
}

// syncBase updates the base tables for the runs in d.asked, or for all runs if d.asked is empty. It returns a problem
// for each run that cannot be read, and an error for any other failure.
func (d *details) syncBase(ctx context.Context) (problems []error, err error) {
	if len(d.asked) == 0 {
		_, err := d.syncOnce(ctx, nil)
		return d.Problems(), err
	}
	for _, runID := range d.asked {
		err := d.syncRunOnce(ctx, runID)
		if _, unreadable := errors.AsType[*RunError](err); unreadable || errors.Is(err, refs.ErrBroken) {
			problems = append(problems, err)
		} else if err != nil {
			return nil, err
		}
	}
	return problems, nil
}

// syncDetails updates the details of the runs in d.asked, or of all runs if d.asked is empty. It reads only runs whose
// details are not at the tip in their base row. It also removes the details of runs that no longer exist. It returns a
// problem for each run that cannot be read. progress may be nil.
func (d *details) syncDetails(ctx context.Context, progress func(done, total int)) ([]error, error) {
	behind, err := d.runsBehind(ctx)
	if err != nil || len(behind) == 0 {
		return nil, err
	}
	u := detailUpdate{details: d, progress: progress, total: len(behind)}
	if err := u.run(ctx, behind); err != nil {
		return nil, err
	}
	return u.problems, nil
}

// withoutRepeats returns the errors in problems without repeated messages: of several errors with the same message,
// only the first remains. It reuses the array of problems, so the caller must use only the result.
func withoutRepeats(problems []error) []error {
	said := make(map[string]bool)
	return slices.DeleteFunc(problems, func(err error) bool {
		text := err.Error()
		if said[text] {
			return true
		}
		said[text] = true
		return false
	})
}
