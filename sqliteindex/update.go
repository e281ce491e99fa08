package sqliteindex

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/git-smithers/git-smithers/objstore"
)

// batchFrames is the approximate number of frames in one transaction.
const batchFrames = 4096

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
	chain   *chain      // the new rows; nil means that the run leaves the index
	problem error       // the reason why a run with a tip leaves the index; otherwise nil
}

// read reads the run's new rows and returns the change that stores them. If the run cannot be read, or ctx is done,
// the problem of the change is a *RunError. Such a change removes the run's rows, because they no longer match the
// ref.
func (p pending) read(ctx context.Context, r objstore.Reader) change {
	c := change{ref: p.ref, from: p.indexed.id}
	err := ctx.Err()
	if err == nil {
		c.chain, err = readChain(ctx, r, p.ref, p.id, p.indexed)
	}
	if err != nil {
		c.problem = &RunError{Ref: p.ref, Tip: p.id, Err: err}
	}
	return c
}

// update reads runs in parallel and writes them in batches.
type update struct {
	index    *Index
	progress func(done, total int) // called after each run; may be nil
	total    int                   // number of runs to read

	batch    []change // read but not yet written
	frames   int      // frames in batch
	done     int      // number of runs read
	stats    Stats    // counts of the rows that were written
	problems []error  // one for each run that could not be read
	overtook bool     // another process changed one of the runs
}

// run reads the changed runs and writes their rows, in the order in which the runs are read. It returns
// errOvertaken if another process changed one of the runs.
func (u *update) run(ctx context.Context, changed []pending) error {
	read := func(ctx context.Context, p pending) change { return p.read(ctx, u.index.opts.Objects) }
	if err := readEach(ctx, changed, read, u.take); err != nil {
		return err
	}
	if err := u.flush(ctx); err != nil {
		return err
	}
	if u.overtook {
		return errOvertaken
	}
	return nil
}

// take adds a change to the batch, records the change's problem, and reports the progress. A change that removes a run
// is added only if the run is indexed. If the batch has at least batchFrames frames, take writes the batch.
func (u *update) take(ctx context.Context, c change) error {
	if c.problem != nil {
		u.problems = append(u.problems, c.problem)
	}
	if c.chain != nil || !c.from.IsZero() {
		u.batch = append(u.batch, c)
	}
	if c.chain != nil {
		u.frames += len(c.chain.frames)
	}
	u.done++
	if u.progress != nil {
		u.progress(u.done, u.total)
	}
	if u.frames < batchFrames {
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
	applied, err := applyAll(ctx, &u.index.conn, u.batch)
	if err != nil {
		return err
	}
	for i, c := range u.batch {
		switch {
		case !applied[i]:
			u.overtook = true
		case c.chain != nil:
			u.stats.Runs++
			u.stats.Entries += c.chain.entries
			u.stats.Frames += len(c.chain.frames)
		}
	}
	u.batch, u.frames = nil, 0
	return nil
}

// readEach reads runs in parallel with read, and calls take with each result, one at a time. It stops at the
// first error of take. If ctx is done, it returns the cause of ctx.
func readEach[P, C any](ctx context.Context, runs []P, read func(context.Context, P) C, take func(context.Context, C) error) error {
	for c := range readSideBySide(ctx, runs, read) {
		if ctx.Err() != nil {
			break
		}
		if err := take(ctx, c); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
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
