package timeline

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause waits a random time of at most try milliseconds, and at most 20, so that two writers of one run do not collide
// again. If ctx ends first, it returns the error of ctx.
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
