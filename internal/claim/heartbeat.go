package claim

import (
	"errors"
	"io/fs"
	"sync"
	"time"
)

// beatsPerStale is the number of heartbeats within smithers.staleAfter.
const beatsPerStale = 6

// heartbeat calls a function periodically in the background, until end is called or the heartbeat is lost.
type heartbeat struct {
	lost    chan struct{} // closed when the heartbeat is lost
	stop    chan struct{} // closed by end
	running sync.WaitGroup
}

// startHeartbeat calls the function beat in the background until end, each time after the duration every. If beat
// returns an error that wraps fs.ErrNotExist, the heartbeat stops and closes its channel lost. The heartbeat ignores
// other errors, since the next call may succeed.
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

// end stops the heartbeat and returns after the last call of beat has returned. The caller calls end only once.
func (h *heartbeat) end() {
	close(h.stop)
	h.running.Wait()
}
