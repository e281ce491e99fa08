package page

import (
	"github.com/git-smithers/git-smithers/objstore"
)

// chunkReader joins the parts and chunks of one value.
type chunkReader struct {
	r     objstore.Reader
	limit int // of the value, in bytes
	value []byte
	parts []int // sizes of the parts that are blobs
	tail  []int // sizes of the chunks of the last part, or nil if the last part is a blob
}

// readParts returns the value whose tree of parts or chunks has the given id. If cutValue would not write such
// a tree, or the value has more than limit bytes, the error is a [*objstore.CorruptError].
func readParts(r objstore.Reader, id objstore.ID, limit int) ([]byte, error) {
	c := &chunkReader{r: r, limit: limit}
	depth, err := c.depth(id)
	if err != nil {
		return nil, err
	}
	if depth == 0 {
		err = c.readTail(id)
	} else {
		err = c.readTree(id, depth, depth, true)
	}
	if err != nil {
		return nil, err
	}
	if len(c.value) <= maxInline {
		return nil, corrupt(id, "chunks: a value of %d bytes is one blob", len(c.value))
	}
	if !c.wellCut() {
		return nil, corrupt(id, "chunks: not cut where the content says")
	}
	return c.value, nil
}

// wellCut reports whether cutValue cuts c.value into the parts and chunks that were read. c.parts and c.tail
// are the sizes of the parts and chunks that were read.
func (c *chunkReader) wellCut() bool {
	rest := c.value
	for i, size := range c.parts {
		// The last part is a blob only if it has at most chunks.most bytes.
		last := c.tail == nil && i == len(c.parts)-1
		if parts.next(rest) != size || (size == len(rest)) != last || last && size > chunks.most {
			return false
		}
		rest = rest[size:]
	}
	if c.tail == nil {
		return true
	}
	// The last part is a tree of chunks only if it has more than chunks.most bytes.
	if len(rest) <= chunks.most || parts.next(rest) != len(rest) {
		return false
	}
	for _, size := range c.tail {
		if chunks.next(rest) != size {
			return false
		}
		rest = rest[size:]
	}
	return true
}

// depth returns the number of levels of trees above the parts of the value whose root is id. It follows the
// first child of each tree. If the value is a single part, the root is a tree of chunks, and depth returns 0.
// The error is a [*objstore.CorruptError] if there are more than maxPartDepth levels, or if a tree is empty.
func (c *chunkReader) depth(id objstore.ID) (int, error) {
	for depth, at := 1, id; depth <= maxPartDepth; depth++ {
		entries, err := objstore.ReadTree(c.r, at)
		if err != nil {
			return 0, err
		}
		if len(entries) == 0 {
			return 0, corrupt(at, "chunks: empty tree")
		}
		if depth == 1 && len(entries[0].Name) == tailDigits {
			return 0, nil
		}
		if entries[0].Mode != objstore.ModeTree {
			return depth, nil
		}
		at = entries[0].ID
	}
	return 0, corrupt(id, "chunks: more than %d levels", maxPartDepth)
}

// readTree reads the parts below the tree with the given id. level is the number of levels from the parts up to
// this tree, and depth is the number of levels from the parts up to the root. last is true if the last part of
// the value is below this tree. Only the root and the last tree of a level may have fewer than 16 children.
func (c *chunkReader) readTree(id objstore.ID, level, depth int, last bool) error {
	entries, err := objstore.ReadTree(c.r, id)
	if err != nil {
		return err
	}
	// least is the smallest allowed number of children.
	least := fanOut
	switch {
	case level == depth:
		least = 2
	case last:
		least = 1
	}
	if len(entries) < least || len(entries) > fanOut {
		return corrupt(id, "chunks: tree of %d entries", len(entries))
	}
	for i, e := range entries {
		if e.Name != digits[i:i+1] {
			return corrupt(id, "chunks: unexpected entry %q", e.Name)
		}
		if err := c.readChild(id, e, level-1, depth, last && i == len(entries)-1); err != nil {
			return err
		}
	}
	return nil
}

// readChild reads the entry e of the tree id. If level is above 0, e must be a tree of parts; at level 0, e
// must be a part. last is true if the last part of the value is e or is below e. Only this part may be a tree
// of chunks. If e has any other mode, the error is a [*objstore.CorruptError].
func (c *chunkReader) readChild(id objstore.ID, e objstore.TreeEntry, level, depth int, last bool) error {
	switch {
	case level > 0 && e.Mode == objstore.ModeTree:
		return c.readTree(e.ID, level, depth, last)
	case level == 0 && e.Mode == objstore.ModeTree && last:
		return c.readTail(e.ID)
	case level == 0 && e.Mode == objstore.ModeFile:
		return c.readPiece(e.ID, &parts, last, &c.parts)
	}
	return corrupt(id, "chunks: unexpected mode %o of entry %q", uint32(e.Mode), e.Name)
}

// readTail reads the last part of a value. id is the id of the part's tree of chunks. If cutValue would not
// write such a tree, the error is a [*objstore.CorruptError].
func (c *chunkReader) readTail(id objstore.ID) error {
	entries, err := objstore.ReadTree(c.r, id)
	if err != nil {
		return err
	}
	if len(entries) < 2 || len(entries) > parts.most/chunks.least {
		return corrupt(id, "chunks: tail of %d entries", len(entries))
	}
	for i, e := range entries {
		if e.Mode != objstore.ModeFile || e.Name != tailName(i) {
			return corrupt(id, "chunks: unexpected entry %q", e.Name)
		}
		if err := c.readPiece(e.ID, &chunks, i == len(entries)-1, &c.tail); err != nil {
			return err
		}
	}
	return nil
}

// readPiece reads the blob with the given id, a part or a chunk that is cut by rule. It appends the bytes to
// c.value, and the number of bytes to sizes. Only the last piece may have rule.least bytes or fewer. For a
// piece of any other impossible size, and for a value of more than c.limit bytes, the error is a
// [*objstore.CorruptError].
func (c *chunkReader) readPiece(id objstore.ID, rule *cutter, last bool, sizes *[]int) error {
	data, err := objstore.GetBlob(c.r, id, int64(rule.most))
	if err != nil {
		return err
	}
	switch {
	case len(data) > rule.most, len(data) == 0, len(data) <= rule.least && !last:
		return corrupt(id, "chunk of %d bytes", len(data))
	case len(c.value)+len(data) > c.limit:
		return corrupt(id, "chunks: more than %d bytes", c.limit)
	}
	c.value = append(c.value, data...)
	*sizes = append(*sizes, len(data))
	return nil
}
