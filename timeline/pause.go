package timeline

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause waits a random moment that grows with the number of tries, so that two writers of one
// run do not collide again. It returns the error of ctx if ctx ends first.
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
