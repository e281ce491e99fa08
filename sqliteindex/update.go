package sqliteindex

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
	"github.com/git-smithers/git-smithers/objstore"
)

// batchRows is the approximate number of rows in one transaction. Every longText bytes of an input or output count as
// one more row.
const (
	batchRows = 8192
	longText  = 4096
)

// pending is a run whose tip differs from its indexed tip.
type pending struct {
	ref     string      // the run's ref component
	id      objstore.ID // the run's tip
	indexed tip         // zero if the run is not indexed
}

// change is a change of one run's rows. It is valid only while the run is indexed at the tip from.
type change struct {
	ref     string      // the run's ref component
	from    objstore.ID // the indexed tip; zero means that the run was not indexed
	rows    *runRows    // the new rows; nil means that the run leaves the index
	problem error       // the reason why a run with a tip leaves the index; otherwise nil
}

// update reads runs in parallel and writes them in batches.
type update struct {
	index    *Index
	schemas  *columns.Cache        // nil if the index has no details
	progress func(done, total int) // called after each run; may be nil
	total    int                   // number of runs to read

	batch    []change // read but not yet written
	size     int      // approximate number of rows in batch
	done     int      // number of runs read
	stats    Stats    // counts of the rows that were written
	problems []error  // one for each run that could not be read
	overtook bool     // another process changed one of the runs
}

// run reads the changed runs and writes their rows, in the order in which the runs are read. It returns
// errOvertaken if another process changed one of the runs.
func (u *update) run(ctx context.Context, changed []pending) error {
	for c := range readSideBySide(ctx, changed, u.read) {
		if ctx.Err() != nil {
			break
		}
		if err := u.take(ctx, c); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := u.flush(ctx); err != nil {
		return err
	}
	if u.overtook {
		return errOvertaken
	}
	return nil
}

// read reads the run's new rows and returns the change that stores them. If the run cannot be read, or ctx is done,
// the problem of the change is a *RunError. Such a change removes the run's rows, because they no longer match the
// ref.
func (u *update) read(ctx context.Context, p pending) change {
	d := reader{
		r: u.index.opts.Objects, schemas: u.schemas, collections: u.index.conn.schema.collections, runRows: &runRows{},
		seen: make(map[rowKey]bool), opened: make(map[string]*page.Collection), known: make(workflowSet), hashes: make(map[objstore.ID]string),
	}
	if err := d.read(ctx, p); err != nil {
		return change{ref: p.ref, from: p.indexed.ID, problem: &RunError{Ref: p.ref, Tip: p.id, Err: err}}
	}
	return change{ref: p.ref, from: p.indexed.ID, rows: d.runRows}
}

// take adds a change to the batch, records the change's problem, and reports the progress. A change that removes a run
// is added only if the run is indexed. If the batch has at least batchRows rows, take writes the batch.
func (u *update) take(ctx context.Context, c change) error {
	if c.problem != nil {
		u.problems = append(u.problems, c.problem)
	}
	if c.rows != nil || !c.from.IsZero() {
		u.batch = append(u.batch, c)
	}
	if c.rows != nil {
		u.size += c.rows.size
	}
	u.done++
	if u.progress != nil {
		u.progress(u.done, u.total)
	}
	if u.size < batchRows {
		return nil
	}
	return u.flush(ctx)
}

// flush writes the changes of the batch, adds to u.stats, and empties the batch. It sets u.overtook if
// another process changed one of the runs.
func (u *update) flush(ctx context.Context) error {
	if len(u.batch) == 0 {
		return nil
	}
	var base sync.WaitGroup
	if u.index.base != nil {
		// After an error, the Sync of the base reads what it lacks.
		base.Go(func() { _, _ = applyAll(ctx, u.index.base, baseChanges(u.batch)) })
	}
	applied, err := applyAll(ctx, &u.index.conn, u.batch)
	base.Wait()
	if err != nil {
		return err
	}
	for i, c := range u.batch {
		switch {
		case !applied[i]:
			u.overtook = true
		case c.rows != nil:
			u.stats.Runs++
			u.stats.Entries += c.rows.entries
			u.stats.Frames += c.rows.frames
		}
	}
	u.batch, u.size = nil, 0
	return nil
}

// baseChanges returns the changes of new runs for the database without details, which leaves out the rows of tables that
// it lacks.
func baseChanges(changes []change) (base []change) {
	for _, c := range changes {
		if c.rows == nil || !c.from.IsZero() {
			continue
		}
		rows := *c.rows
		rows.declared, rows.outputs, rows.gone = nil, nil, nil // the base has no row of the run
		base = append(base, change{ref: c.ref, rows: &rows})
	}
	return base
}

// readSideBySide yields the result of read for each run, in the order in which the results become ready. It uses at
// most GOMAXPROCS goroutines, which have all ended when the loop over the results ends. If ctx is done, it yields fewer
// results.
func readSideBySide[P, C any](ctx context.Context, runs []P, read func(context.Context, P) C) iter.Seq[C] {
	return func(yield func(C) bool) {
		ctx, cancel := context.WithCancel(ctx)
		results := make(chan C)
		var reading sync.WaitGroup
		// cancel runs before the wait, so that no reader waits for ever to send its result.
		defer reading.Wait()
		defer cancel()
		reading.Go(func() {
			defer close(results)
			var readers errgroup.Group
			readers.SetLimit(runtime.GOMAXPROCS(0))
			for _, p := range runs {
				readers.Go(func() error {
					select {
					case results <- read(ctx, p):
					case <-ctx.Done():
					}
					return nil
				})
			}
			_ = readers.Wait() // no reader returns an error
		})
		for c := range results {
			if !yield(c) {
				return
			}
		}
	}
}
