package sqliteindex

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/refs"
)

// details is the index with everything that only some commands ask for: nodes, loops,
// events, mailboxes, ops and outputs. It is a database of its own, which has the base
// tables too, so that it answers any query by itself and costs nobody anything who does
// not ask.
type details struct {
	*Index

	asked []string // run ids of the last SyncDetails; nil: all. Of who holds the syncing token
}

// detailsPath is where the details of the index at path are.
func detailsPath(path string) string { return strings.TrimSuffix(path, ".db") + "-details.db" }

// SyncDetails is [Index.Sync], and brings up to date what only some commands ask for:
// nodes, loops, events, mailboxes, ops and outputs of the runs named by their whole ids;
// of all runs where none is named. Runs that cannot be read are left out, and are in
// [Index.Problems]. A run that does not exist has no details.
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

// openDetails opens the database of details, once.
func (x *Index) openDetails(ctx context.Context) (*details, error) {
	x.detailMu.Lock()
	defer x.detailMu.Unlock()
	if x.detail != nil {
		return x.detail, nil
	}
	x.mu.RLock()
	closed := x.closed
	x.mu.RUnlock()
	if closed {
		return nil, ErrClosed
	}
	opts := x.opts
	opts.Path = detailsPath(opts.Path)
	d := &details{Index: newIndex(opts, detailSchema())}
	d.refill = func(ctx context.Context) error { return d.fill(ctx, nil) }
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	x.detail = d
	return d, nil
}

// bringUp brings the named runs up to date; all where none is named.
func (d *details) bringUp(ctx context.Context, runIDs []string) error {
	release, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	d.asked = slices.Clone(runIDs)
	return d.fill(ctx, nil)
}

// rebuildAll drops everything and reads it again.
func (d *details) rebuildAll(ctx context.Context, progress func(done, total int)) error {
	_, err := d.rebuild(ctx, func(ctx context.Context) (Stats, error) {
		d.asked = nil
		return Stats{}, d.fill(ctx, progress)
	})
	return err
}

// fill brings what was asked for up to date. The caller holds the token.
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

// syncBase brings the base tables up to date for the runs that were asked for. It
// returns what could not be read.
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

// syncDetails reads the details of what the base tables say has moved.
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

// withoutRepeats leaves out the errors that say what another one says.
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
