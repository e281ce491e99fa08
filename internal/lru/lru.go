// Package lru has a cache that drops the least recently used values.
package lru

import (
	"container/list"
	"sync"
)

// Cache keeps values by key. The sum of the values' costs stays within a limit. It is safe for
// concurrent use.
type Cache[K comparable, V any] struct {
	limit int64
	cost  func(V) int64

	mu      sync.Mutex
	used    int64 // sum of the costs
	entries map[K]*list.Element
	recent  *list.List // of *entry[K, V], the most recently used first
}

// entry is an element of Cache.recent.
type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty cache for values with a total cost of at most limit. cost returns the cost of a
// value; it must be more than 0 and always the same for the same value.
func New[K comparable, V any](limit int64, cost func(V) int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, cost: cost, entries: make(map[K]*list.Element), recent: list.New()}
}

// Get returns the value of a key and marks it as the most recently used value. found is false if the
// cache does not have the key.
func (c *Cache[K, V]) Get(key K) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, found := c.entries[key]
	if !found {
		return value, false
	}
	c.recent.MoveToFront(el)
	return valueOf[K, V](el).value, true
}

// Put adds a value, and drops the least recently used values until the costs are within the limit. A
// value that costs more than the limit is dropped at once. If the cache has the key already, Put only
// marks its value as the most recently used value, because the value of a key never changes.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[key]; ok {
		c.recent.MoveToFront(el)
		return
	}
	c.entries[key] = c.recent.PushFront(&entry[K, V]{key, value})
	c.used += c.cost(value)
	for c.used > c.limit {
		oldest := c.recent.Back()
		gone := valueOf[K, V](oldest)
		c.recent.Remove(oldest)
		delete(c.entries, gone.key)
		c.used -= c.cost(gone.value)
	}
}

// valueOf returns the entry in an element of Cache.recent.
func valueOf[K comparable, V any](el *list.Element) *entry[K, V] {
	e, ok := el.Value.(*entry[K, V])
	if !ok {
		panic("lru: an element of the list is not an entry")
	}
	return e
}
