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

// pending is a run whose tip is not the indexed one.
type pending struct {
	ref     string
	id      objstore.ID
	indexed tip
}

// change is a change of one run's rows, valid if they are still those of the tip from.
type change struct {
	ref     string
	from    objstore.ID // zero means that the run was not indexed
	chain   *chain      // nil means that the run leaves the index
	problem error       // why it leaves although it has a tip
}

// read reads the change of the run. A run that cannot be read leaves the
// index, because its indexed rows no longer match its ref.
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
	progress func(done, total int) // may be nil
	total    int

	batch    []change // read but not yet written
	frames   int      // frames in batch
	done     int
	stats    Stats
	problems []error
	overtook bool // another process changed one of the runs
}

// run updates the index to the tips of the changed runs, in the order in which they are read.
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

// take adds one run's change to the batch.
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

// flush writes the batch.
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

// readEach reads runs in parallel, and calls take with each result.
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

// readSideBySide yields the results of reading runs, in the order in which they become
// ready. It uses one goroutine per processor, and all have ended when
// the loop has. It yields fewer results if ctx is done.
func readSideBySide[P, C any](ctx context.Context, runs []P, read func(context.Context, P) C) iter.Seq[C] {
	return func(yield func(C) bool) {
		ctx, cancel := context.WithCancel(ctx)
		results := make(chan C)
		var reading sync.WaitGroup
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
