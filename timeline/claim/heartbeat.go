package claim

import (
	"errors"
	"io/fs"
	"sync"
	"time"
)

// beatsPerStale is how many beats a process may miss before it counts as stale.
const beatsPerStale = 6

// heartbeat beats in the background, until it is ended or a beat says that there is
// nothing left to beat for.
type heartbeat struct {
	lost    chan struct{}
	stop    chan struct{}
	running sync.WaitGroup
}

// startHeartbeat calls beat again and again. An error that wraps fs.ErrNotExist means
// that it is lost; any other is overcome by the next beat, or not.
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

// end returns when nothing is left in the background. It is called once.
func (h *heartbeat) end() {
	close(h.stop)
	h.running.Wait()
}
