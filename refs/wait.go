package refs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"
)

// firstDelay is the average length of a waiter's first pause. The length doubles each time, up to maxDelay.
const (
	firstDelay = time.Millisecond
	maxDelay   = 50 * time.Millisecond
)

// waiter pauses between attempts to take a lock that another process holds.
type waiter struct {
	ctx      context.Context    // the context of the caller
	patience context.Context    // ends after limit; nil until the first wait
	cancel   context.CancelFunc // cancels patience; nil until the first wait
	limit    time.Duration      // how long all waits may take, from the first wait on
	delay    time.Duration      // the average length of the next pause
}

// newWaiter returns a waiter whose waits may take at most patience in total. The caller must call stop.
func newWaiter(ctx context.Context, patience time.Duration) *waiter {
	return &waiter{ctx: ctx, limit: patience, delay: firstDelay}
}

// wait pauses before the next attempt to take a lock. what is the path of the lock, for the error. If w.limit has
// passed since the first wait, the error wraps ErrLocked. If the caller's context ends first, wait returns the error of
// this context.
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

// stop releases the timer of w. After stop, wait must not be called.
func (w *waiter) stop() {
	if w.cancel != nil {
		w.cancel()
	}
}

// heldError means that another process holds a lock, or just held it.
type heldError struct{ path string }

// Error returns a message with the path of the lock.
func (e *heldError) Error() string { return e.path + " exists" }

// looks is the maximum number of times that lookForStale looks for locks of dead processes. One time is not enough:
// while another process inspects the note of a dead owner, the owner seems to be alive.
const looks = 5

// patiently calls attempt, and repeats the call as long as attempt returns a *heldError, which means that another
// process holds a lock. patiently returns any other result of attempt.
//
// After each *heldError, patiently compares the refs with the expected values of updates. If a ref differs, it
// returns a *ConflictError. If a ref is broken, it returns a *BrokenError. Otherwise, it removes the locks of dead
// processes or waits. If the waits take longer than Options.Patience, patiently looks once more for locks of dead
// processes. If it removes one, or if the lock is incomplete and new, so that a living process may still be writing
// it, the waiting time begins again. Otherwise the error wraps ErrLocked. If ctx ends first, patiently returns the
// error of ctx.
func (db *DB) patiently(ctx context.Context, updates []Update, attempt func() error) error {
	wait := newWaiter(ctx, db.opts.Patience)
	defer func() { wait.stop() }() // stops the last waiter, because the loop below replaces wait
	var torn map[string]fs.FileInfo
	for first := true; ; first = false {
		err := attempt()
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
		// An incomplete lock that did not change during the wait belongs to a dead process, and is removed. For a new
		// incomplete lock, a new waiting time begins.
		removed, left, err := db.lookForStale(ctx, torn)
		_, known := torn[held.path]
		if _, met := left[held.path]; err != nil || removed == 0 && (!met || known) {
			return errors.Join(waitErr, err)
		}
		wait.stop()
		wait, torn = newWaiter(ctx, db.opts.Patience), left
	}
}

// lookForStale calls removeStaleLocks with the argument seen up to looks times, with pauses between the calls. It stops
// when a call removes a lock or fails. It returns the results of the last call. If ctx ends during a pause, it returns
// the error of ctx.
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
