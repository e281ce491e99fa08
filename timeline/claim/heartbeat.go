package claim

import (
	"errors"
	"io/fs"
	"sync"
	"time"
)

// beatsPerStale is the number of heartbeats within smithers.staleAfter.
const beatsPerStale = 6

// heartbeat calls a function periodically in the background, until it is ended or lost.
type heartbeat struct {
	lost    chan struct{}
	stop    chan struct{}
	running sync.WaitGroup
}

// startHeartbeat calls beat in the background at each interval. If beat returns an error that wraps fs.ErrNotExist, the
// heartbeat is lost: it stops and closes lost. It ignores other errors, which the next beat may overcome.
func startHeartbeat(every time.Duration, beat func() error) *heartbeat {
	h := &heartbeat{lost: make(chan struct{}), stop: make(chan struct{})}
	h.running.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-h.stop:
				return
			case <-ticker.C:
			}
			if errors.Is(beat(), fs.ErrNotExist) {
				close(h.lost)
				return
			}
		}
	})
	return h
}

// end stops the heartbeat and waits until its goroutine has returned. It must be called once.
func (h *heartbeat) end() {
	close(h.stop)
	h.running.Wait()
}
