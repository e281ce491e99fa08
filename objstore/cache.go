package objstore

import "github.com/git-smithers/git-smithers/internal/lru"

// object is the kind and the bytes of an object. The bytes are shared and must not be changed.
type object struct {
	kind Kind
	data []byte
}

// cacheKey names a verified object by its id. The base of a delta, which is not verified by itself,
// is named by the pack and the offset it was read from.
type cacheKey struct {
	id     ID
	pack   uint64
	offset int64
}

// cache is a least-recently-used cache of objects, bounded by their bytes. Safe
// for concurrent use.
type cache struct {
	limit   int64
	objects *lru.Cache[cacheKey, object]
}

// cacheEntryCost is the approximate memory of an entry in bytes, besides the object's bytes.
const cacheEntryCost = 256

func newCache(limit int64) *cache { return &cache{limit, lru.New[cacheKey](limit, object.cost)} }

func (o object) cost() int64 { return int64(len(o.data)) + cacheEntryCost }

func (c *cache) get(key cacheKey) (object, bool) { return c.objects.Get(key) }

// put caches an object, unless the object is so large that it would push out most of the others.
func (c *cache) put(key cacheKey, o object) {
	if o.cost() <= c.limit/4 {
		c.objects.Put(key, o)
	}
}
