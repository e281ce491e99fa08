package sqliteindex

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
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
	return x.rounds(ctx, func() error {
		_, problems, err := x.syncOnce(ctx, []string{runID}, nil)
		return errors.Join(append(problems, err)...)
	})
}

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
	release, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	d.asked = slices.Clone(runIDs)
	if _, err := d.sync(ctx, nil); err != nil {
		return err
	}
	x.setProblems(append(x.Problems(), d.Problems()...))
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

// detailsPath returns the path of the details database of the index at path.
func detailsPath(path string) string { return strings.TrimSuffix(path, ".db") + "-details.db" }

// openDetails returns the index with the details, and opens its database at the first call. The details are in a
// separate database, so that other commands need no time for them. This database repeats the base tables, so that one
// query can use both. After Close, openDetails returns ErrClosed unless the details were open.
func (x *Index) openDetails(ctx context.Context) (*Index, error) {
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
	d := newIndex(opts, detailSchema())
	if err := d.conn.open(ctx); err != nil {
		return nil, err
	}
	x.detail = d
	return d, nil
}

// Rebuild drops all rows of the index and its details, and reads them again from the refs. Other processes notice at
// their next Sync. If progress is not nil, Rebuild calls it after every run, with the number of runs read so far and in
// total. Only one goroutine at a time calls progress.
//
// If a file cannot be replaced, Rebuild returns an error, and the index continues in memory.
func (x *Index) Rebuild(ctx context.Context, progress func(done, total int)) (stats Stats, err error) {
	release, err := x.empty(ctx)
	if err != nil {
		return stats, err
	}
	defer release()
	d, err := x.openDetails(ctx)
	if err != nil {
		return stats, err
	}
	releaseDetails, err := d.empty(ctx)
	if err != nil {
		return stats, err
	}
	defer releaseDetails()
	// The rows of the details include those of the base, so one reading fills both. The Sync of the base then reads only
	// the runs whose details are unreadable.
	d.base = &x.conn
	stats, err = d.sync(ctx, progress)
	d.base = nil
	more, baseErr := x.sync(ctx, nil)
	x.setProblems(append(x.Problems(), d.Problems()...))
	stats.Runs, stats.Entries, stats.Frames = stats.Runs+more.Runs, stats.Entries+more.Entries, stats.Frames+more.Frames
	return stats, errors.Join(baseErr, x.conn.inMemory(), err, d.conn.inMemory())
}

// empty takes the syncing token, which release returns, and replaces the database by an empty one for all runs.
func (x *Index) empty(ctx context.Context) (release func(), err error) {
	if release, err = x.acquire(ctx); err != nil {
		return nil, err
	}
	if err = x.conn.follow(ctx); err == nil { // ErrClosed if the index is closed
		err = x.conn.renew(ctx, func(fs.FileInfo) bool { return true })
	}
	if err != nil {
		release()
		return nil, err
	}
	x.asked = nil
	return release, nil
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

// sync updates the rows of the runs in x.asked, or of all runs, and sets the problems. The caller holds the syncing
// token. stats is the sum over all rounds. progress may be nil.
func (x *Index) sync(ctx context.Context, progress func(done, total int)) (stats Stats, err error) {
	err = x.rounds(ctx, func() error {
		round, problems, err := x.syncOnce(ctx, x.asked, progress)
		stats.Runs += round.Runs
		stats.Entries += round.Entries
		stats.Frames += round.Frames
		if err == nil {
			x.setProblems(problems)
		}
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

// syncOnce makes one attempt of a Sync of the given runs; without ids, of all runs. It reads the indexed tips first and
// the refs second. When it writes, it replaces an indexed tip only if the tip is still as it was read. So it never
// replaces the result of a process that has read newer refs. If another process changed the indexed tips, syncOnce
// returns errOvertaken. It returns a problem for each run that cannot be read. progress may be nil.
func (x *Index) syncOnce(ctx context.Context, runIDs []string, progress func(done, total int)) (Stats, []error, error) {
	var f findings
	var err error
	if len(runIDs) == 0 {
		f, err = x.findAll(ctx)
	}
	for i := 0; i < len(runIDs) && err == nil; i++ {
		err = x.find(ctx, &f, runIDs[i])
	}
	if err != nil {
		return Stats{}, nil, err
	}
	u := update{index: x, progress: progress, total: len(f.changed), batch: f.gone, problems: f.problems}
	if x.conn.schema.detailed {
		u.schemas = columns.NewCache()
	}
	err = u.run(ctx, f.changed)
	return u.stats, u.problems, err
}

// findings says how the refs differ from the indexed tips.
type findings struct {
	changed  []pending
	gone     []change // a removal for each indexed run that has no tip
	problems []error  // one for broken refs
}

// findAll compares all refs with the indexed tips.
func (x *Index) findAll(ctx context.Context) (f findings, err error) {
	before, err := readDigest(ctx, &x.conn)
	if err != nil {
		return f, err
	}
	tips, err := x.opts.Refs.Tips(ctx)
	if errors.Is(err, refs.ErrBroken) {
		f.problems = append(f.problems, err)
	} else if err != nil {
		return f, err
	}
	var now digest
	for _, t := range tips {
		now.add(t.Component, t.ID)
	}
	if now == before {
		return f, nil
	}
	indexed, err := readTips(ctx, &x.conn, before)
	if err != nil {
		return f, err
	}
	for _, t := range tips {
		from := indexed[t.Component]
		delete(indexed, t.Component)
		if from.ID != t.ID {
			f.changed = append(f.changed, pending{ref: t.Component, id: t.ID, indexed: from})
		}
	}
	for ref, t := range indexed {
		f.gone = append(f.gone, change{ref: ref, from: t.ID})
	}
	return f, nil
}

// find compares the ref of one run with the indexed tip, and adds the difference to f.
func (x *Index) find(ctx context.Context, f *findings, runID string) error {
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
	switch id, err := x.opts.Refs.Resolve(ctx, name); {
	case err == nil && id == indexed.ID:
		return nil
	case err == nil:
		f.changed = append(f.changed, pending{ref: ref, id: id, indexed: indexed})
		return nil
	case errors.Is(err, refs.ErrBroken):
		f.problems = append(f.problems, err)
	case !errors.Is(err, refs.ErrNotFound):
		return err
	}
	if !indexed.ID.IsZero() {
		f.gone = append(f.gone, change{ref: ref, from: indexed.ID})
	}
	return nil
}
