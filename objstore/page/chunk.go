package page

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/git-smithers/git-smithers/objstore"
)

// The sizes of chunks, in bytes. A cut is as likely at every byte from minChunk to
// avgChunk, and twice as likely from there to maxChunk: about 4 KiB on average.
const (
	minChunk = 1 << 10
	avgChunk = 4 << 10
	maxChunk = maxInline

	// The number of leading bits of the rolling hash that are zero at a cut.
	bitsBeforeAvg = 12
	bitsAfterAvg  = 11

	maxChunkDepth = 5 // digits for MaxValue/minChunk chunks
)

// gear is the table of the rolling hash: a random number for each byte.
var gear = sync.OnceValue(func() *[256]uint64 {
	var table [256]uint64
	for b := range table {
		sum := sha256.Sum256([]byte("git-smithers gear " + strconv.Itoa(b)))
		table[b] = binary.BigEndian.Uint64(sum[:])
	}
	return &table
})

// nextChunk returns the length of the first chunk of value, which must not be empty. It depends on
// the bytes of the chunk alone.
func nextChunk(value []byte) int {
	table := gear()
	end := min(len(value), maxChunk)
	var hash uint64
	for i := minChunk; i < end; i++ {
		hash = hash<<1 + table[value[i]]
		zeros := bitsBeforeAvg
		if i+1 >= avgChunk {
			zeros = bitsAfterAvg
		}
		if hash>>(64-zeros) == 0 {
			return i + 1
		}
	}
	return end
}

// objects is a set of ids that need not be written, because the base has them.
type objects map[objstore.ID]struct{}

// put adds an object unless it is in the set.
func (known objects) put(w objstore.Writer, kind objstore.Kind, data []byte) objstore.ID {
	if len(known) > 0 {
		id := objstore.Hash(kind, data)
		if _, ok := known[id]; ok {
			return id
		}
	}
	return w.Add(kind, data)
}

// addChunks writes a value of more than maxInline bytes as a tree of chunks.
func addChunks(w objstore.Writer, value []byte, known objects) objstore.ID {
	var ids []objstore.ID
	for len(value) > 0 {
		n := nextChunk(value)
		ids = append(ids, known.put(w, objstore.Blob, value[:n:n]))
		value = value[n:]
	}
	mode := blobMode
	for len(ids) > 1 {
		var parents []objstore.ID
		for len(ids) > 0 {
			n := min(len(ids), fanOut)
			var tree []byte
			for i, id := range ids[:n] {
				tree = appendEntry(tree, mode, digits[i:i+1], id)
			}
			parents = append(parents, known.put(w, objstore.Tree, tree))
			ids = ids[n:]
		}
		ids, mode = parents, treeMode
	}
	return ids[0]
}

// chunkReader joins the chunks of a value.
type chunkReader struct {
	r     objstore.Reader
	limit int // of the value, in bytes
	value []byte
	sizes []int // of the chunks
}

// readChunks reads a tree of chunks of at most limit bytes in total. It accepts only a tree that
// addChunks writes.
func readChunks(r objstore.Reader, id objstore.ID, limit int) ([]byte, error) {
	c := &chunkReader{r: r, limit: limit}
	depth, err := c.depth(id)
	if err != nil {
		return nil, err
	}
	if err := c.tree(id, depth, depth, true); err != nil {
		return nil, err
	}
	if len(c.value) <= maxInline {
		return nil, corrupt(id, "chunks: a value of %d bytes is one blob", len(c.value))
	}
	rest := c.value
	for _, size := range c.sizes {
		if nextChunk(rest) != size {
			return nil, corrupt(id, "chunks: not cut where the content says")
		}
		rest = rest[size:]
	}
	return c.value, nil
}

// depth returns the number of levels of trees. It follows the first children.
func (c *chunkReader) depth(id objstore.ID) (int, error) {
	for depth, at := 1, id; depth <= maxChunkDepth; depth++ {
		entries, err := objstore.ReadTree(c.r, at)
		if err != nil {
			return 0, err
		}
		if len(entries) == 0 {
			return 0, corrupt(at, "chunks: empty tree")
		}
		if entries[0].Mode != objstore.ModeTree {
			return depth, nil
		}
		at = entries[0].ID
	}
	return 0, corrupt(id, "chunks: more than %d levels", maxChunkDepth)
}

// tree reads the chunks below a tree. If last, no chunks follow the tree.
func (c *chunkReader) tree(id objstore.ID, level, depth int, last bool) error {
	entries, err := objstore.ReadTree(c.r, id)
	if err != nil {
		return err
	}
	want := objstore.ModeFile
	if level > 1 {
		want = objstore.ModeTree
	}
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
		if e.Mode != want || e.Name != digits[i:i+1] {
			return corrupt(id, "chunks: unexpected entry %q", e.Name)
		}
		lastChild := last && i == len(entries)-1
		if level > 1 {
			err = c.tree(e.ID, level-1, depth, lastChild)
		} else {
			err = c.chunk(e.ID, lastChild)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *chunkReader) chunk(id objstore.ID, last bool) error {
	data, err := objstore.GetBlob(c.r, id, maxChunk)
	if err != nil {
		return err
	}
	switch {
	case len(data) > maxChunk, len(data) == 0, len(data) < minChunk && !last:
		return corrupt(id, "chunk of %d bytes", len(data))
	case len(c.value)+len(data) > c.limit:
		return corrupt(id, "chunks: more than %d bytes", c.limit)
	}
	c.value = append(c.value, data...)
	c.sizes = append(c.sizes, len(data))
	return nil
}

// reach adds the trees and chunks of a stored value to known. Only trees are read.
func (known objects) reach(r objstore.Reader, e objstore.TreeEntry, level int) error {
	if _, ok := known[e.ID]; ok {
		return nil
	}
	known[e.ID] = struct{}{}
	if e.Mode != objstore.ModeTree {
		return nil
	}
	if level == maxChunkDepth {
		return corrupt(e.ID, "chunks: more than %d levels", maxChunkDepth)
	}
	children, err := objstore.ReadTree(r, e.ID)
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := known.reach(r, child, level+1); err != nil {
			return err
		}
	}
	return nil
}
