package engine

import (
	"context"
	"sync"
)

// scoreQueue runs scorers side by side and keeps their ends until take.
type scoreQueue struct {
	slots   chan struct{} // one for each scorer that may run
	news    chan struct{} // receives after a scorer has ended
	workers sync.WaitGroup
	open    int // launched and not taken; only the caller of launch and take uses it

	mu    sync.Mutex
	ended []scored
}

// newScoreQueue returns a queue that runs at most parallel scorers at a time.
func newScoreQueue(parallel int) *scoreQueue {
	return &scoreQueue{slots: make(chan struct{}, parallel), news: make(chan struct{}, 1)}
}

// launch begins a scoring as soon as there is a slot. The end of ctx ends it.
func (q *scoreQueue) launch(ctx context.Context, s *scoring) {
	q.open++
	q.workers.Go(func() {
		q.slots <- struct{}{}
		out := s.execute(ctx)
		<-q.slots
		q.mu.Lock()
		q.ended = append(q.ended, out)
		q.mu.Unlock()
		select {
		case q.news <- struct{}{}:
		default: // the receiver will take this one, too
		}
	})
}

// take returns the scorings that have ended since the last call.
func (q *scoreQueue) take() []scored {
	q.mu.Lock()
	defer q.mu.Unlock()
	ended := q.ended
	q.ended = nil
	q.open -= len(ended)
	return ended
}
