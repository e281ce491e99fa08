// Package patience repeats operations that another process keeps from succeeding for a while.
package patience

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

// Retrier repeats operations that fail for a temporary reason. It is safe for concurrent use if its functions are.
type Retrier struct {
	Sleep     func(context.Context, time.Duration) error // see Sleep
	Random    func() float64                             // in [0, 1)
	Temporary func(error) bool                           // reports whether the same operation may succeed later
	count     atomic.Int64
}

// Count returns the number of retries so far.
func (r *Retrier) Count() int64 { return r.count.Load() }

// Do calls fn, and repeats the call while fn fails for a temporary reason, at most six times. It sleeps before each repetition: first
// about 50 ms, each time about twice as long, and at most 2 s. It returns fn's last error. If r.Sleep returns an error, Do returns both
// errors.
func (r *Retrier) Do(ctx context.Context, fn func() error) error {
	delay := firstDelay
	for retries := 0; ; retries++ {
		err := fn()
		if err == nil || !r.Temporary(err) || retries == maxRetries {
			return err
		}
		r.count.Add(1)
		factor := 1 + jitter*(2*r.Random()-1)
		if interrupted := r.Sleep(ctx, min(time.Duration(float64(delay)*factor), maxDelay)); interrupted != nil {
			return errors.Join(interrupted, err)
		}
		delay *= 2
	}
}

// Sleep waits for d, or until ctx is done. It returns the cause if ctx is done first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
