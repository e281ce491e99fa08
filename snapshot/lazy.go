package snapshot

import "sync"

// lazy is a value that is computed when it is first requested. Errors are not stored.
type lazy[T any] struct {
	mu    sync.Mutex
	ready bool
	value T
}

// get returns the value, and loads it if it is not known yet.
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

// set stores the value that get returns.
func (l *lazy[T]) set(value T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value, l.ready = value, true
}

// peek returns the value if it is already known.
func (l *lazy[T]) peek() (T, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.ready
}
