package timeline

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause waits a random time, so that two writers of one run do not collide again. The time is at most try
// milliseconds, and never more than 20 ms. try is the number of failed tries so far, at least 1. If ctx ends
// first, Pause returns the error of ctx.
func Pause(ctx context.Context, try int) error {
	limit := min(time.Duration(try)*time.Millisecond, 20*time.Millisecond)
	timer := time.NewTimer(rand.N(limit) + 1)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
