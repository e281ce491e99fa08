package timeline

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause waits a moment that grows with the number of tries, so that writers who
// meet at one run do not meet again.
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
