package snapshot

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/snapshot/rendered"
	"github.com/git-smithers/git-smithers/objstore"
)

// FrameCache reconstructs rendered trees and caches the most recently used trees. A FrameCache is safe for
// concurrent use. A nil *FrameCache reconstructs without caching.
type FrameCache struct{ trees *rendered.Cache }

// NewFrameCache returns a cache for at most n rendered trees, and at most n MiB.
func NewFrameCache(n int) *FrameCache { return &FrameCache{rendered.NewCache(n)} }

// Rendered returns the rendered tree of an entry or, if the entry is not a frame, of the last frame before it. The
// tree is canonical JSON, or "null" if no tree was rendered. The caller must not change the bytes. Rendered reads the
// frame's blob and at most 49 blobs that this blob builds on.
func (c *FrameCache) Rendered(r objstore.Reader, e *Entry) (json.RawMessage, error) {
	id, err := e.part(frameName)
	if err != nil {
		return nil, err
	}
	return c.known().Read(r, id)
}

// Counts returns how much was read and stored through the cache.
func (c *FrameCache) Counts() rendered.Counts { return c.known().Counts() }

// known returns the cache of trees in c. If c is nil, known returns nil, which is a valid cache that keeps nothing.
func (c *FrameCache) known() *rendered.Cache {
	if c == nil {
		return nil
	}
	return c.trees
}

// CheckRendered returns an error that wraps ErrInvalid if tree is not a rendered tree. tree must be valid JSON.
func CheckRendered(tree []byte) error {
	if _, err := rendered.Parse(tree); err != nil {
		return invalid("rendered tree: %w", err)
	}
	return nil
}
