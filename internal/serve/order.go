package serve

import "sync"

// order makes calls about the same thread take effect one after the other, in the order in which they came.
type order struct {
	mu      sync.Mutex
	last    map[string]chan struct{} // by thread: closed when its newest call is done
	barrier chan struct{}            // closed when the newest call about all threads is done; nil before the first
}

// enter adds a call. threads are the ids that it is about; nil means all. The call begins with wait and ends with done.
func (o *order) enter(threads []string) (wait, done func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		o.last = make(map[string]chan struct{})
	}
	ends := make(chan struct{})
	var before []chan struct{}
	if o.barrier != nil {
		before = append(before, o.barrier)
	}
	if threads == nil {
		for _, other := range o.last {
			before = append(before, other)
		}
		o.last, o.barrier = make(map[string]chan struct{}), ends
	}
	for _, id := range threads {
		if other := o.last[id]; other != nil {
			before = append(before, other)
		}
		o.last[id] = ends
	}
	wait = func() {
		for _, other := range before {
			<-other
		}
	}
	return wait, func() {
		close(ends)
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, id := range threads {
			if o.last[id] == ends {
				delete(o.last, id)
			}
		}
		if o.barrier == ends {
			o.barrier = nil
		}
	}
}
