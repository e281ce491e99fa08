package page

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"

	"github.com/git-smithers/git-smithers/objstore"
)

// cutter is a rule that cuts bytes into pieces by content. Cuts are eight times as likely after avg
// bytes as before, so that most pieces have about avg bytes.
type cutter struct {
	least, avg, most int // bytes; a piece is longer than least, except at the end
	before, after    int // leading zero bits of the rolling hash at a cut before avg bytes, and from there on
}

// A value is cut into parts, and its last part into chunks. If the value grows, the parts before
// the last one stay.
var (
	parts  = cutter{least: 32 << 10, avg: 64 << 10, most: 128 << 10, before: 17, after: 14}
	chunks = cutter{least: 2 << 10, avg: 4 << 10, most: 8 << 10, before: 13, after: 10}
)

const (
	maxPartDepth = 4 // digits for MaxValue/parts.least parts
	tailDigits   = 2 // digits for parts.most/chunks.least chunks
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

// next returns the length of the first piece of value, which must not be empty. It depends on the
// bytes of the piece alone.
func (c *cutter) next(value []byte) int {
	table := gear()
	end := min(len(value), c.most)
	middle := min(end, c.avg-1)
	var hash uint64
	i := c.least
	for limit := uint64(1) << (64 - c.before); i < middle; i++ {
		if hash = hash<<1 + table[value[i]]; hash < limit {
			return i + 1
		}
	}
	for limit := uint64(1) << (64 - c.after); i < end; i++ {
		if hash = hash<<1 + table[value[i]]; hash < limit {
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

// addParts writes a value of more than maxInline bytes as a tree.
func addParts(w objstore.Writer, value []byte, known objects) objstore.ID {
	var nodes []objstore.TreeEntry
	for len(value) > 0 {
		n := parts.next(value)
		if n == len(value) && n > chunks.most {
			nodes = append(nodes, objstore.TreeEntry{Mode: objstore.ModeTree, ID: addTail(w, value, known)})
		} else {
			nodes = append(nodes, objstore.TreeEntry{Mode: objstore.ModeFile, ID: known.put(w, objstore.Blob, value[:n:n])})
		}
		value = value[n:]
	}
	for len(nodes) > 1 {
		var parents []objstore.TreeEntry
		for children := range slices.Chunk(nodes, fanOut) {
			for i := range children {
				children[i].Name = digits[i : i+1]
			}
			id := known.put(w, objstore.Tree, objstore.EncodeTree(children))
			parents = append(parents, objstore.TreeEntry{Mode: objstore.ModeTree, ID: id})
		}
		nodes = parents
	}
	return nodes[0].ID
}

// addTail writes the last part of a value as a tree of chunks. The part must have more than
// chunks.most bytes.
func addTail(w objstore.Writer, part []byte, known objects) objstore.ID {
	var entries []objstore.TreeEntry
	for len(part) > 0 {
		n := chunks.next(part)
		id := known.put(w, objstore.Blob, part[:n:n])
		entries = append(entries, objstore.TreeEntry{Name: tailName(len(entries)), Mode: objstore.ModeFile, ID: id})
		part = part[n:]
	}
	return known.put(w, objstore.Tree, objstore.EncodeTree(entries))
}

// tailName returns the name of chunk i in its tree.
func tailName(i int) string { return digits[i/fanOut:i/fanOut+1] + digits[i%fanOut:i%fanOut+1] }

// reach adds the trees, parts and chunks of a stored value to known. Only trees are read.
func (known objects) reach(r objstore.Reader, e objstore.TreeEntry, level int) error {
	if _, ok := known[e.ID]; ok {
		return nil
	}
	known[e.ID] = struct{}{}
	if e.Mode != objstore.ModeTree {
		return nil
	}
	if level > maxPartDepth { // the tail is a level of its own
		return corrupt(e.ID, "value: more than %d levels of parts", maxPartDepth)
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
