package refs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"
)

const (
	firstDelay = time.Millisecond
	maxDelay   = 50 * time.Millisecond
)

// waiter delays the attempts to get a lock of another process.
type waiter struct {
	ctx      context.Context // the caller's
	patience context.Context // its deadline is the patience; nil until the first wait
	cancel   context.CancelFunc
	limit    time.Duration
	delay    time.Duration
}

func newWaiter(ctx context.Context, patience time.Duration) *waiter {
	return &waiter{ctx: ctx, limit: patience, delay: firstDelay}
}

// wait pauses before the next attempt. When patience has run out, it returns an
// error that wraps ErrLocked and names the lock.
func (w *waiter) wait(what string) error {
	if w.patience == nil {
		w.patience, w.cancel = context.WithTimeout(w.ctx, w.limit)
	}
	timer := time.NewTimer(w.delay/2 + rand.N(w.delay))
	defer timer.Stop()
	w.delay = min(2*w.delay, maxDelay)
	select {
	case <-timer.C:
		return nil
	case <-w.patience.Done():
		if err := w.ctx.Err(); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s", ErrLocked, what)
	}
}

func (w *waiter) stop() {
	if w.cancel != nil {
		w.cancel()
	}
}

// heldError means that another process holds a lock, or just held it.
type heldError struct{ path string }

// Error names the lock.
func (e *heldError) Error() string { return e.path + " exists" }

// looks is how often patiently looks for dead processes' locks when patience has run
// out: while another process inspects a dead owner's note, the owner seems to be alive.
const looks = 5

// patiently repeats a transaction while once returns a *heldError, as long as its
// refs have their expected values and patience lasts.
func (db *DB) patiently(ctx context.Context, updates []Update, once func() error) error {
	wait := newWaiter(ctx, db.opts.Patience)
	defer func() { wait.stop() }()
	var torn map[string]fs.FileInfo
	for first := true; ; first = false {
		err := once()
		var held *heldError
		if !errors.As(err, &held) {
			return err
		}
		if err := db.reader.check(updates); err != nil {
			return err
		}
		if first {
			var removed int
			if removed, torn, err = db.removeStaleLocks(nil); err != nil {
				return err
			} else if removed > 0 {
				continue
			}
		}
		waitErr := wait.wait(held.path)
		if waitErr == nil {
			continue
		}
		if !errors.Is(waitErr, ErrLocked) {
			return waitErr
		}
		// A lock that was unchanged all the while belongs to a dead process. A lock that is new now gets
		// its own waiting time.
		removed, left, err := db.lookForStale(ctx, torn)
		_, known := torn[held.path]
		if _, met := left[held.path]; err != nil || removed == 0 && (!met || known) {
			return errors.Join(waitErr, err)
		}
		wait.stop()
		wait, torn = newWaiter(ctx, db.opts.Patience), left
	}
}

// lookForStale removes the locks of dead processes, and tries again if it found none.
func (db *DB) lookForStale(ctx context.Context, seen map[string]fs.FileInfo) (removed int, torn map[string]fs.FileInfo, err error) {
	pause := newWaiter(ctx, time.Minute)
	defer pause.stop()
	for range looks {
		removed, torn, err = db.removeStaleLocks(seen)
		if removed > 0 || err != nil {
			return removed, torn, err
		}
		if err := pause.wait(""); err != nil {
			return 0, torn, err
		}
	}
	return 0, torn, nil
}
