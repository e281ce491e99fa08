package sqliteindex

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Retries of a write that another process blocks, in addition to the busy timeout, which covers short
// transactions.
const (
	maxRetries = 6
	firstDelay = 50 * time.Millisecond
	maxDelay   = 2 * time.Second
	jitter     = 0.25 // of a delay, up or down, so that two processes do not collide again
)

// retrier repeats what failed for a temporary reason. Safe for concurrent use.
type retrier struct {
	sleep  func(context.Context, time.Duration) error
	random func() float64 // in [0, 1)
	count  atomic.Int64
}

// do calls fn until it succeeds, fails permanently, or was retried maxRetries times.
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

// sleepOnTimer waits for d, or until ctx is done.
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
