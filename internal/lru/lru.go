// Package lru is a cache that forgets what was used longest ago.
package lru

import (
	"container/list"
	"sync"
)

// Cache keeps values by their keys within a limit on the sum of their costs. Safe
// for concurrent use.
type Cache[K comparable, V any] struct {
	limit int64
	cost  func(V) int64

	mu      sync.Mutex
	used    int64
	entries map[K]*list.Element
	recent  *list.List // of *entry[K, V], the most recently used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New makes a cache. cost is what a value counts for; it must always be the same for
// a value, and more than 0.
func New[K comparable, V any](limit int64, cost func(V) int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, cost: cost, entries: make(map[K]*list.Element), recent: list.New()}
}

// Get returns the value of a key, which then is the one used last.
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

// Put keeps a value, at the expense of those used longest ago. What was kept under
// the key before stays: a key's value never changes.
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

func valueOf[K comparable, V any](el *list.Element) *entry[K, V] {
	e, ok := el.Value.(*entry[K, V])
	if !ok {
		panic("lru: the list holds something else")
	}
	return e
}
