package sqliteindex

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// These constants limit the retries of an operation that another process blocks. SQLite's busy timeout covers
// short transactions; retries cover longer ones.
const (
	maxRetries = 6
	firstDelay = 50 * time.Millisecond // doubled after each retry
	maxDelay   = 2 * time.Second
	jitter     = 0.25 // a delay varies by at most this part, up or down, so that two processes do not collide again
)

// retrier repeats operations that fail for a temporary reason. It is safe for concurrent use.
type retrier struct {
	sleep  func(context.Context, time.Duration) error
	random func() float64 // in [0, 1)
	count  atomic.Int64   // number of retries so far
}

// do calls fn, and repeats the call while fn fails for a temporary reason (see isTransient), at most maxRetries times.
// It sleeps before each repetition, each time about twice as long, up to maxDelay. It returns fn's last error. If sleep
// returns an error, do returns both errors.
func (r *retrier) do(ctx context.Context, fn func() error) error {
	delay := firstDelay
	for retries := 0; ; retries++ {
		err := fn()
		if err == nil || !isTransient(err) || retries == maxRetries {
			return err
		}
		r.count.Add(1)
		factor := 1 + jitter*(2*r.random()-1)
		if interrupted := r.sleep(ctx, min(time.Duration(float64(delay)*factor), maxDelay)); interrupted != nil {
			return errors.Join(interrupted, err)
		}
		delay *= 2
	}
}

// sleepOnTimer waits for d, or until ctx is done. It returns the cause if ctx is done first.
func sleepOnTimer(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
