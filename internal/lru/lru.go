// Package lru has a cache that drops the least recently used values.
package lru

import "sync"

// Cache keeps values by key. The sum of the values' costs stays within a limit. It is safe for
// concurrent use.
type Cache[K comparable, V any] struct {
	limit int64
	cost  func(V) int64

	mu      sync.Mutex
	used    int64 // sum of the costs
	entries map[K]*entry[K, V]
	ring    entry[K, V] // its newer entry is the least recently used, and its older entry the most recently used one
}

// entry is a value of a Cache, between the entry that was used before it and the entry that was used after it.
type entry[K comparable, V any] struct {
	key          K
	value        V
	older, newer *entry[K, V]
}

// New returns an empty cache for values with a total cost of at most limit. cost returns the cost of a
// value; it must be more than 0 and always the same for the same value.
func New[K comparable, V any](limit int64, cost func(V) int64) *Cache[K, V] {
	c := &Cache[K, V]{limit: limit, cost: cost, entries: make(map[K]*entry[K, V])}
	c.ring.older, c.ring.newer = &c.ring, &c.ring
	return c
}

// Get returns the value of a key and marks it as the most recently used value. found is false if the
// cache does not have the key.
func (c *Cache[K, V]) Get(key K) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, found := c.entries[key]
	if !found {
		return value, false
	}
	e.remove()
	c.add(e)
	return e.value, true
}

// Put adds a value, and drops the least recently used values until the costs are within the limit. A
// value that costs more than the limit is dropped at once. If the cache has the key already, Put only
// marks its value as the most recently used value, because the value of a key never changes.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		e.remove()
		c.add(e)
		return
	}
	e := &entry[K, V]{key: key, value: value}
	c.entries[key] = e
	c.add(e)
	c.used += c.cost(value)
	for c.used > c.limit {
		oldest := c.ring.newer
		oldest.remove()
		delete(c.entries, oldest.key)
		c.used -= c.cost(oldest.value)
	}
}

// add makes e the most recently used entry.
func (c *Cache[K, V]) add(e *entry[K, V]) {
	e.older, e.newer = c.ring.older, &c.ring
	e.older.newer, e.newer.older = e, e
}

// remove takes e out of its ring.
func (e *entry[K, V]) remove() { e.older.newer, e.newer.older = e.newer, e.older }
