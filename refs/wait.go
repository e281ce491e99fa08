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

// waiter spaces the attempts at a lock that somebody else holds.
type waiter struct {
	ctx      context.Context // of the caller
	patience context.Context // ends with patience; nil until the first wait
	cancel   context.CancelFunc
	limit    time.Duration
	delay    time.Duration
}

func newWaiter(ctx context.Context, patience time.Duration) *waiter {
	return &waiter{ctx: ctx, limit: patience, delay: firstDelay}
}

// wait pauses before the next attempt. When patience is at its end it returns an
// error that wraps ErrLocked and names what is locked.
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

// heldError says that somebody else holds a lock, or held it a moment ago.
type heldError struct{ path string }

// Error names the lock.
func (e *heldError) Error() string { return e.path + " exists" }

// looks is how often patiently looks for locks of dead processes when patience is at its
// end: while somebody else looks at what a dead one noted, that one seems to be alive.
const looks = 5

// patiently repeats a transaction while once returns a *heldError, as long as its
// refs are as it expects them and patience lasts.
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
		// A lock that a dead process may have left, and that nobody touched all the
		// while, was left by it. One that is met only now has its own while to wait.
		removed, left, err := db.lookForStale(ctx, torn)
		_, known := torn[held.path]
		if _, met := left[held.path]; err != nil || removed == 0 && (!met || known) {
			return errors.Join(waitErr, err)
		}
		wait.stop()
		wait, torn = newWaiter(ctx, db.opts.Patience), left
	}
}

// lookForStale removes what dead processes left, and looks again where there was nothing.
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
