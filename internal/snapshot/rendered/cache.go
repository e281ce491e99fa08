package rendered

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/lru"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// Cache reconstructs rendered trees from the blobs of frames, and caches the most recently used trees. A Cache
// is safe for concurrent use. A nil *Cache reconstructs without caching.
type Cache struct {
	frames       *lru.Cache[objstore.ID, frame]
	hits, misses atomic.Int64 // of read
	written      [len(encodings)]writtenCounts
}

// writtenCounts counts the blobs of an encoding that Write has stored.
type writtenCounts struct{ blobs, bytes, deltas atomic.Int64 }

// frame is the rendered tree of a blob, as the cache keeps it.
type frame struct {
	deltas   int             // the number of deltas since the last whole tree, including the blob
	rendered json.RawMessage // the canonical JSON of the tree
}

// frameUnit is the number of bytes of a rendered tree that count as one more cached frame. The unit bounds the memory
// of the cache: fetched history may have trees of any size that the format allows.
const frameUnit = 1 << 20

// NewCache returns a cache that keeps at most n rendered trees, and at most n MiB.
func NewCache(n int) *Cache {
	return &Cache{frames: lru.New[objstore.ID](int64(n), func(f frame) int64 { return 1 + int64(len(f.rendered)/frameUnit) })}
}

// Read returns the rendered tree in the blob of a frame, as canonical JSON. For the zero id, it returns "null". Read
// reads the blob and at most 49 blobs that this blob builds on. If a blob is damaged, the error wraps
// objstore.ErrCorrupt. The caller must not change the bytes.
func (c *Cache) Read(r objstore.Reader, id objstore.ID) (json.RawMessage, error) {
	if id.IsZero() {
		return json.RawMessage("null"), nil
	}
	f, err := c.read(r, id)
	return f.rendered, err
}

// read returns the frame in the blob with the given id, and caches the frame. id must not be zero. If the numbers of
// the deltas are not consecutive, or the tree does not have the digest in the blob, the error wraps
// objstore.ErrCorrupt.
func (c *Cache) read(r objstore.Reader, id objstore.ID) (frame, error) {
	f, ok := c.get(id)
	c.count(ok)
	if ok {
		return f, nil
	}
	var deltas []frameBlob // newest first
	var base frame
	// Collect the deltas back to a whole tree, or to a blob in the cache.
	for at := id; ; {
		blob, err := readFrameBlob(r, at)
		if err != nil {
			return frame{}, err
		}
		if len(deltas) > 0 && blob.deltas != deltas[len(deltas)-1].deltas-1 {
			return frame{}, corrupt(deltas[len(deltas)-1].id, "frame: delta number %d builds on number %d", deltas[len(deltas)-1].deltas, blob.deltas)
		}
		if blob.encoding != encodingDelta {
			base = frame{blob.deltas, blob.payload}
			break
		}
		deltas = append(deltas, blob)
		at = blob.base
		if f, ok := c.get(at); ok {
			if f.deltas != blob.deltas-1 {
				return frame{}, corrupt(blob.id, "frame: delta number %d builds on number %d", blob.deltas, f.deltas)
			}
			base = f
			break
		}
	}
	f, err := base.advance(deltas)
	if err != nil {
		return frame{}, err
	}
	c.put(id, f)
	return f, nil
}

// advance applies deltas to the tree of f and returns the resulting frame. deltas are sorted from the newest to the
// oldest. If deltas is empty, the result is f. If a delta is invalid, or the result does not have the digest in the
// newest blob, the error wraps objstore.ErrCorrupt.
func (f frame) advance(deltas []frameBlob) (frame, error) {
	if len(deltas) == 0 {
		return f, nil
	}
	tree, err := Parse(f.rendered)
	if err != nil {
		return frame{}, fmt.Errorf("the base of blob %v: %w", deltas[len(deltas)-1].id, err)
	}
	for _, delta := range slices.Backward(deltas) {
		ops, err := decodeDelta(delta.id, delta.payload)
		if err != nil {
			return frame{}, err
		}
		if tree, err = applyDelta(tree, ops); err != nil {
			return frame{}, corrupt(delta.id, "frame: %v", err)
		}
		if tree == nil {
			return frame{}, corrupt(delta.id, "frame: the result of the delta is null, which is never stored")
		}
	}
	newest := deltas[0]
	out := frame{newest.deltas, tree.Append(nil)}
	if page.Sum(sha256.Sum256(out.rendered)) != newest.sum {
		return frame{}, corrupt(newest.id, "frame: the result of the delta does not have the digest in the frame")
	}
	return out, nil
}

// Write stores the rendered tree of a frame as a blob in w, caches the tree, and returns the blob's id. before is the
// id of the previous frame's blob, or zero if no frame has a blob yet. If the tree is the same as the previous
// frame's tree, Write stores nothing and returns the id of the previous frame's blob. For the null tree, it stores
// nothing and returns the zero ID.
//
// parse must parse and check a tree. Write returns the errors of parse. If the tree is the previous frame's tree, byte for byte,
// Write does not call parse.
func (c *Cache) Write(
	w objstore.Writer, before objstore.ID, tree json.RawMessage, parse func(json.RawMessage) (*Tree, error),
) (objstore.ID, error) {
	var last frame
	if !before.IsZero() {
		var err error
		if last, err = c.read(w, before); err != nil {
			return objstore.ID{}, err
		}
		if bytes.Equal(last.rendered, tree) {
			return before, nil // parsing may be dear, and finds nothing new
		}
	}
	parsed, err := parse(tree)
	if parsed == nil || err != nil {
		return objstore.ID{}, err
	}
	next := frame{rendered: parsed.Append(make([]byte, 0, len(tree)))}
	blob := frameBlob{encoding: encodingFull, sum: sha256.Sum256(next.rendered), payload: next.rendered}
	if !before.IsZero() {
		if bytes.Equal(last.rendered, next.rendered) {
			return before, nil
		}
		blob.encoding = encodingKeyframe
		if err := blob.shorten(before, last, parsed); err != nil {
			return objstore.ID{}, err
		}
		next.deltas = blob.deltas
	}
	data := blob.encode()
	id := w.Add(objstore.Blob, data)
	c.wrote(blob, len(data))
	c.put(id, next)
	return id, nil
}

// shorten turns b, the blob of tree, into a delta if the delta is shorter than the tree. The delta builds on the
// previous blob: before is the id of the previous blob, and last is the frame in it. If there are already maxDeltas
// deltas in a row, or the delta would have more than maxOps ops, shorten leaves b unchanged. If the tree of last is
// invalid, shorten returns an error.
func (b *frameBlob) shorten(before objstore.ID, last frame, tree *Tree) error {
	if last.deltas == maxDeltas {
		return nil
	}
	from, err := Parse(last.rendered)
	if err != nil {
		return err
	}
	ops := diffTrees(from, tree)
	if len(ops) > maxOps {
		return nil
	}
	// A delta is nested deeper than its tree. If the delta exceeds the maximum depth, jsontext.Valid returns false.
	if delta := encodeDelta(ops); len(delta) < len(b.payload) && jsontext.Valid(delta) {
		b.encoding, b.deltas, b.base, b.payload = encodingDelta, last.deltas+1, before, delta
	}
	return nil
}

// get returns the frame of the blob with the given id from the cache, and true. If the cache lacks the frame, it
// returns false. c may be nil.
func (c *Cache) get(id objstore.ID) (frame, bool) {
	if c == nil || id.IsZero() {
		return frame{}, false
	}
	return c.frames.Get(id)
}

// count counts a read of a tree that the cache had or lacked. If c is nil, count does nothing.
func (c *Cache) count(hit bool) {
	switch {
	case c == nil:
	case hit:
		c.hits.Add(1)
	default:
		c.misses.Add(1)
	}
}

// Counts is what a Cache has done since it was made.
type Counts struct {
	Hits, Misses int64     // of the trees that were read: the cache had them, or made them from the blobs of frames
	Written      []Written // by encoding: full, keyframe, delta
}

// Written is how many blobs of an encoding were stored, how many bytes they have before compression, and how many blobs in all are to be read before
// one of them to make its tree.
type Written struct {
	Encoding               string
	Blobs, Bytes, Distance int64
}

// Counts returns what the cache has done. A nil Cache counts nothing.
func (c *Cache) Counts() Counts {
	if c == nil {
		c = new(Cache)
	}
	out := Counts{Hits: c.hits.Load(), Misses: c.misses.Load()}
	for i, name := range encodings {
		n := &c.written[i]
		out.Written = append(out.Written, Written{name, n.blobs.Load(), n.bytes.Load(), n.deltas.Load()})
	}
	return out
}

// wrote counts a blob that was stored with a size in bytes. If c is nil, wrote does nothing.
func (c *Cache) wrote(b frameBlob, size int) {
	if c == nil {
		return
	}
	n := &c.written[slices.Index(encodings[:], b.encoding)]
	n.blobs.Add(1)
	n.bytes.Add(int64(size))
	n.deltas.Add(int64(b.deltas))
}

// put adds f, the frame of the blob with the given id, to the cache. If c is nil, put does nothing.
func (c *Cache) put(id objstore.ID, f frame) {
	if c != nil {
		c.frames.Put(id, f)
	}
}
