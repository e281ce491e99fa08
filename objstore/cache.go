package objstore

import (
	"container/list"
	"sync"
)

// object is the kind and the bytes of an object; the bytes are shared and never changed.
type object struct {
	kind Kind
	data []byte
}

// cacheKey names a verified object by its id, or, for the bases of deltas, which
// are not verified by themselves, the place in a pack where one was read.
type cacheKey struct {
	id     ID
	pack   uint64
	offset int64
}

// cache is a least-recently-used cache of objects, bounded by their bytes. Safe
// for concurrent use.
type cache struct {
	mu      sync.Mutex
	limit   int64
	used    int64
	entries map[cacheKey]*list.Element
	recent  *list.List // of *cacheEntry, the most recently used first
}

type cacheEntry struct {
	key cacheKey
	object
}

// cacheEntryCost is about what an entry takes beside its bytes.
const cacheEntryCost = 256

func newCache(limit int64) *cache {
	return &cache{limit: limit, entries: make(map[cacheKey]*list.Element), recent: list.New()}
}

func (e *cacheEntry) cost() int64 { return int64(len(e.data)) + cacheEntryCost }

func (c *cache) get(key cacheKey) (object, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.entries[key]
	if !ok {
		return object{}, false
	}
	c.recent.MoveToFront(el)
	return entryOf(el).object, true
}

// put keeps an object, unless it is so large that it would push out most of the others.
func (c *cache) put(key cacheKey, o object) {
	e := &cacheEntry{key, o}
	if e.cost() > c.limit/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[key]; ok {
		c.recent.MoveToFront(el)
		return
	}
	c.entries[key] = c.recent.PushFront(e)
	c.used += e.cost()
	for c.used > c.limit {
		oldest := c.recent.Back()
		gone := entryOf(oldest)
		c.recent.Remove(oldest)
		delete(c.entries, gone.key)
		c.used -= gone.cost()
	}
}

func entryOf(el *list.Element) *cacheEntry {
	e, ok := el.Value.(*cacheEntry)
	if !ok {
		panic("objstore: the cache's list holds something else")
	}
	return e
}
