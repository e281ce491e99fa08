package snapshot

import "sync"

// lazy is a value that is computed when it is first requested. An error is not stored: the next request
// computes the value again. A lazy is safe for concurrent use.
type lazy[T any] struct {
	mu    sync.Mutex
	ready bool
	value T
}

// get returns the stored value. If no value is stored, get stores and returns the result of load. If load
// fails, get stores nothing.
func (l *lazy[T]) get(load func() (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready {
		return l.value, nil
	}
	value, err := load()
	if err != nil {
		var zero T
		return zero, err
	}
	l.value, l.ready = value, true
	return value, nil
}

// set stores the value that get returns from now on.
func (l *lazy[T]) set(value T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value, l.ready = value, true
}
