package sqliteindex

import (
	"context"
	"errors"
	"io/fs"

	"github.com/git-smithers/git-smithers/refs"
)

// maxRounds is the maximum number of attempts of a Sync. A Sync starts again if another process wrote or the
// database was replaced; each time, some process has made progress.
const maxRounds = 16

// Stats counts the runs, entries and frames that a rebuild or a Sync read.
type Stats struct{ Runs, Entries, Frames int }

// Sync updates the index from the refs: it reads the new entries of the tips, and reads a run as a whole if
// its tip no longer descends from the indexed tip. It drops runs without a tip.
//
// Sync leaves out a run that cannot be read. [Index.Problems] reports the run, and the next Sync tries it
// again. If nothing changed, a Sync costs listing the tips and one query. After an error the index may be
// behind.
func (x *Index) Sync(ctx context.Context) error {
	release, err := x.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	_, err = x.sync(ctx, nil)
	return err
}

// SyncRun updates the index like [Index.Sync], but for one run: it reads no other ref. If the run cannot be
// read, SyncRun drops the run from the index and returns the [*RunError], or an error that wraps
// refs.ErrBroken. If the run does not exist, SyncRun drops it without an error.
func (x *Index) SyncRun(ctx context.Context, runID string) error {
	release, err := x.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return x.rounds(ctx, func() error { return x.syncRunOnce(ctx, runID) })
}

// Rebuild drops all rows of the index and reads them again from the refs: first the base tables, then the
// details. Other processes notice at their next Sync. If progress is not nil, Rebuild calls it after every run
// of both, with the number of runs read so far and in total. Only one goroutine at a time calls progress.
//
// If a file cannot be replaced, Rebuild returns an error, and the index continues in memory.
func (x *Index) Rebuild(ctx context.Context, progress func(done, total int)) (Stats, error) {
	stats, err := x.rebuild(ctx, func(ctx context.Context) (Stats, error) { return x.sync(ctx, progress) })
	if err != nil {
		return stats, err
	}
	d, err := x.openDetails(ctx)
	if err != nil {
		return stats, err
	}
	if err := d.rebuildAll(ctx, progress); err != nil {
		return stats, err
	}
	x.setProblems(withoutRepeats(append(x.Problems(), d.Problems()...)))
	return stats, nil
}

// rebuild replaces the database by an empty database and calls fill to fill it. It returns fill's Stats, and
// an error if the new database is in memory.
func (x *Index) rebuild(ctx context.Context, fill func(context.Context) (Stats, error)) (Stats, error) {
	release, err := x.acquire(ctx)
	if err != nil {
		return Stats{}, err
	}
	defer release()
	if err := x.conn.follow(ctx); err != nil { // ErrClosed if the index is closed
		return Stats{}, err
	}
	if err := x.conn.renew(ctx, func(fs.FileInfo) bool { return true }); err != nil {
		return Stats{}, err
	}
	stats, err := fill(ctx)
	return stats, errors.Join(err, x.conn.inMemory())
}

// acquire waits for the syncing token, the right to update the index. The caller must call release to return
// the token. If ctx is done first, the error is the cause of ctx.
func (x *Index) acquire(ctx context.Context) (release func(), err error) {
	select {
	case x.syncing <- struct{}{}:
		return func() { <-x.syncing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// sync updates the index as Sync does, for a caller that holds the syncing token. stats is the sum over all
// rounds. progress may be nil.
func (x *Index) sync(ctx context.Context, progress func(done, total int)) (stats Stats, err error) {
	err = x.rounds(ctx, func() error {
		round, err := x.syncOnce(ctx, progress)
		stats.Runs += round.Runs
		stats.Entries += round.Entries
		stats.Frames += round.Frames
		return err
	})
	return stats, err
}

// rounds calls fn until fn succeeds, at most maxRounds times. It calls fn again only after errOvertaken, or after an
// error for which heal has a remedy. It returns other errors at once, and the last error after maxRounds calls. Before
// each call, it reopens a replaced file.
func (x *Index) rounds(ctx context.Context, fn func() error) error {
	var err error
	for range maxRounds {
		if err := x.conn.follow(ctx); err != nil {
			return err
		}
		if err = fn(); err == nil {
			return nil
		}
		if errors.Is(err, errOvertaken) {
			continue
		}
		if healed, healErr := x.conn.heal(ctx, err); !healed || healErr != nil {
			return errors.Join(healErr, err)
		}
	}
	return err
}

// syncOnce makes one attempt of a Sync. It reads the indexed tips first and the refs second. When it writes, it
// replaces an indexed tip only if the tip is still as it was read. So it never replaces the result of a process that
// has read newer refs. If another process changed the indexed tips, syncOnce returns errOvertaken. progress may be
// nil.
func (x *Index) syncOnce(ctx context.Context, progress func(done, total int)) (Stats, error) {
	before, err := readDigest(ctx, &x.conn)
	if err != nil {
		return Stats{}, err
	}
	tips, err := x.opts.Refs.Tips(ctx)
	var problems []error
	if errors.Is(err, refs.ErrBroken) {
		problems = append(problems, err)
	} else if err != nil {
		return Stats{}, err
	}
	var now digest
	for _, t := range tips {
		now.add(t.Component, t.ID)
	}
	if now == before {
		x.setProblems(problems)
		return Stats{}, nil
	}
	indexed, err := readTips(ctx, &x.conn, before)
	if err != nil {
		return Stats{}, err
	}
	changed, gone := compare(tips, indexed)
	u := update{index: x, progress: progress, total: len(changed), batch: gone, problems: problems}
	if err := u.run(ctx, changed); err != nil {
		return u.stats, err
	}
	x.setProblems(u.problems)
	return u.stats, nil
}

// compare returns the tips that differ from their indexed tips, and a removal for each indexed run that has no
// tip. indexed has the indexed tips by ref component. compare removes the refs in tips from indexed.
func compare(tips []refs.TipRef, indexed map[string]tip) (changed []pending, gone []change) {
	for _, t := range tips {
		from := indexed[t.Component]
		delete(indexed, t.Component)
		if from.id != t.ID {
			changed = append(changed, pending{ref: t.Component, id: t.ID, indexed: from})
		}
	}
	for ref, t := range indexed {
		gone = append(gone, change{ref: ref, from: t.id})
	}
	return changed, gone
}

// syncRunOnce makes one attempt of a SyncRun. If the indexed run is already at its tip, it changes nothing. If the run
// does not exist, it drops the run from the index. If the run cannot be read, it drops the run and returns the reason.
// If another process changed the indexed run, it returns errOvertaken.
func (x *Index) syncRunOnce(ctx context.Context, runID string) error {
	name, err := refs.Tip(runID)
	if err != nil {
		return err
	}
	ref, err := refs.EscapeRun(runID)
	if err != nil {
		return err
	}
	indexed, err := readTip(ctx, &x.conn, ref)
	if err != nil {
		return err
	}
	c := change{ref: ref, from: indexed.id}
	switch id, err := x.opts.Refs.Resolve(ctx, name); {
	case errors.Is(err, refs.ErrNotFound): // the run does not exist, so c drops the run from the index
	case errors.Is(err, refs.ErrBroken):
		c.problem = err
	case err != nil:
		return err
	case id == indexed.id:
		return nil
	default:
		c = pending{ref: ref, id: id, indexed: indexed}.read(ctx, x.opts.Objects)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if c.chain == nil && c.from.IsZero() { // the run is not indexed, so there is nothing to drop
		return c.problem
	}
	applied, err := applyAll(ctx, &x.conn, []change{c})
	if err == nil && !applied[0] {
		err = errOvertaken
	}
	if err != nil {
		return err
	}
	return c.problem
}
