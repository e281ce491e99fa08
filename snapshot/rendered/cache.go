package rendered

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/lru"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// Cache reconstructs rendered trees from the blobs of frames, and caches the most recently used ones. Safe for
// concurrent use. A nil *Cache reconstructs without caching.
type Cache struct {
	frames *lru.Cache[objstore.ID, frame]
}

// frame is the rendered tree of a blob.
type frame struct {
	deltas   int // since the last whole tree
	rendered json.RawMessage
}

// frameUnit is the number of bytes of a rendered tree that count as one cached frame. Foreign history may have
// trees of any size that the format allows.
const frameUnit = 1 << 20

// NewCache returns a cache that keeps n frames, and at most n MiB.
func NewCache(n int) *Cache {
	return &Cache{lru.New[objstore.ID](int64(n), func(f frame) int64 { return 1 + int64(len(f.rendered)/frameUnit) })}
}

// Read returns the rendered tree of a frame's blob: canonical JSON, "null" for the zero id. It reads
// the blob and at most 49 that it builds on. The bytes are shared and must not be changed.
func (c *Cache) Read(r objstore.Reader, id objstore.ID) (json.RawMessage, error) {
	if id.IsZero() {
		return json.RawMessage("null"), nil
	}
	f, err := c.read(r, id)
	return f.rendered, err
}

// read returns the frame of a blob, verified against the digest that the blob names.
func (c *Cache) read(r objstore.Reader, id objstore.ID) (frame, error) {
	if f, ok := c.get(id); ok {
		return f, nil
	}
	var deltas []frameBlob // newest first
	var base frame
	for at := id; ; {
		blob, err := readFrameBlob(r, at)
		if err != nil {
			return frame{}, err
		}
		if len(deltas) > 0 && blob.deltas != deltas[len(deltas)-1].deltas-1 {
			return frame{}, corrupt(deltas[len(deltas)-1].id, "frame: delta %d builds on number %d", deltas[len(deltas)-1].deltas, blob.deltas)
		}
		if blob.encoding != encodingDelta {
			base = frame{blob.deltas, blob.payload}
			break
		}
		deltas = append(deltas, blob)
		at = blob.base
		if f, ok := c.get(at); ok {
			if f.deltas != blob.deltas-1 {
				return frame{}, corrupt(blob.id, "frame: delta %d builds on number %d", blob.deltas, f.deltas)
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

// advance applies deltas, the last one first.
func (f frame) advance(deltas []frameBlob) (frame, error) {
	if len(deltas) == 0 {
		return f, nil
	}
	tree, err := Parse(f.rendered)
	if err != nil {
		return frame{}, fmt.Errorf("base of frame %v: %w", deltas[len(deltas)-1].id, err)
	}
	for _, delta := range slices.Backward(deltas) {
		ops, err := decodeDelta(delta.id, delta.payload)
		if err != nil {
			return frame{}, err
		}
		if tree, err = applyDelta(tree, ops); err != nil {
			return frame{}, corrupt(delta.id, "frame: %v", err)
		}
	}
	newest := deltas[0]
	out := frame{newest.deltas, tree.Append(nil)}
	if page.Sum(sha256.Sum256(out.rendered)) != newest.sum {
		return frame{}, corrupt(newest.id, "frame: the delta leads to a tree with another digest")
	}
	return out, nil
}

// Write adds the blob of the frame that follows the frame of the blob before, and returns its id. The
// zero ID before means that there is no frame before. Write returns before if the tree is the same,
// and the zero ID for the null tree. It parses a tree that is not the one before.
func (c *Cache) Write(
	w objstore.Writer, before objstore.ID, tree json.RawMessage, parse func(json.RawMessage) (*Tree, error),
) (objstore.ID, error) {
	if f, ok := c.get(before); ok && bytes.Equal(f.rendered, tree) {
		return before, nil // an earlier Write has checked it
	}
	parsed, err := parse(tree)
	if parsed == nil || err != nil {
		return objstore.ID{}, err
	}
	next := frame{rendered: parsed.Append(make([]byte, 0, len(tree)))}
	blob := frameBlob{encoding: encodingFull, sum: sha256.Sum256(next.rendered), payload: next.rendered}
	if !before.IsZero() {
		last, err := c.read(w, before)
		if err != nil {
			return objstore.ID{}, err
		}
		if bytes.Equal(last.rendered, next.rendered) {
			return before, nil
		}
		blob.encoding = encodingKeyframe
		if err := blob.shorten(before, last, parsed); err != nil {
			return objstore.ID{}, err
		}
		next.deltas = blob.deltas
	}
	id := w.Add(objstore.Blob, blob.encode())
	c.put(id, next)
	return id, nil
}

// shorten makes the blob a delta on the frame before it, if one is allowed and shorter.
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
	// A delta is nested a little deeper than its tree.
	if delta := encodeDelta(ops); len(delta) < len(b.payload) && jsontext.Valid(delta) {
		b.encoding, b.deltas, b.base, b.payload = encodingDelta, last.deltas+1, before, delta
	}
	return nil
}

func (c *Cache) get(id objstore.ID) (frame, bool) {
	if c == nil || id.IsZero() {
		return frame{}, false
	}
	return c.frames.Get(id)
}

func (c *Cache) put(id objstore.ID, f frame) {
	if c != nil {
		c.frames.Put(id, f)
	}
}
