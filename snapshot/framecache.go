package snapshot

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot/rendered"
)

// FrameCache reconstructs rendered frames and caches the most recently used ones.
// Safe for concurrent use. A nil *FrameCache reconstructs without caching.
type FrameCache struct{ trees *rendered.Cache }

// NewFrameCache returns a cache for n frames, and at most n MiB.
func NewFrameCache(n int) *FrameCache { return &FrameCache{rendered.NewCache(n)} }

// Rendered returns the rendered tree of an entry, or of its nearest frame if the entry is not a
// frame: canonical JSON, "null" if there is none. It reads the frame's blob and at most 49 that
// it builds on. The bytes are shared and must not be changed.
func (c *FrameCache) Rendered(r objstore.Reader, e *Entry) (json.RawMessage, error) {
	id, err := e.part(frameName)
	if err != nil {
		return nil, err
	}
	return c.known().Read(r, id)
}

// known returns the trees of the cache, which may be nil.
func (c *FrameCache) known() *rendered.Cache {
	if c == nil {
		return nil
	}
	return c.trees
}

// CheckRendered returns an error wrapping ErrInvalid if a frame cannot have a rendered tree.
func CheckRendered(tree []byte) error {
	if _, err := rendered.Parse(tree); err != nil {
		return invalid("rendered tree: %w", err)
	}
	return nil
}
