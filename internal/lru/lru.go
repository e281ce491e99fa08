// Package lru is a cache that drops the least recently used values.
package lru

import (
	"container/list"
	"sync"
)

// Cache keeps values by key, within a limit on the sum of their costs. Safe for concurrent use.
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

// New makes a cache. cost returns the cost of a value. It must be more than 0 and always the same
// for a value.
func New[K comparable, V any](limit int64, cost func(V) int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, cost: cost, entries: make(map[K]*list.Element), recent: list.New()}
}

// Get returns the value of a key, and makes it the most recently used.
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

// Put keeps a value, and drops the least recently used values if need be. An existing value of the
// key stays, because a key's value never changes.
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
