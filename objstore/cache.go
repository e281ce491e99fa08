package objstore

import "github.com/git-smithers/git-smithers/internal/lru"

// object is the kind and the bytes of an object. The bytes are shared and must not be changed.
type object struct {
	kind Kind
	data []byte
}

// cacheKey names an object in the cache. A verified object has its id as the key. An unverified base of a delta has the
// serial number of its pack and its offset in the pack as the key; the last byte tells the two kinds of keys apart.
type cacheKey [maxIDSize + 1]byte

// keyOf returns the key of the verified object id.
func keyOf(id ID) (key cacheKey) {
	copy(key[:], id.sum[:])
	key[maxIDSize] = id.size
	return key
}

// cache is a least-recently-used cache of objects, limited by their size in bytes. It is safe for
// concurrent use.
type cache struct {
	limit   int64
	objects *lru.Cache[cacheKey, object]
}

// cacheEntryCost is the approximate memory in bytes of a cache entry, without the object's bytes.
const cacheEntryCost = 256

// newCache returns an empty cache of at most limit bytes.
func newCache(limit int64) *cache { return &cache{limit, lru.New[cacheKey](limit, object.cost)} }

// cost returns the approximate memory in bytes of the object in a cache.
func (o object) cost() int64 { return int64(len(o.data)) + cacheEntryCost }

// get returns the object with the given key, and whether the cache has it.
func (c *cache) get(key cacheKey) (object, bool) { return c.objects.Get(key) }

// put adds an object to the cache, unless the object takes more than a quarter of the cache. Such
// an object would displace most others.
func (c *cache) put(key cacheKey, o object) {
	if o.cost() <= c.limit/4 {
		c.objects.Put(key, o)
	}
}
