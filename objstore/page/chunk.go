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

// piece is one object of a stored value: the whole value, a part, a chunk, or a tree of those.
type piece struct {
	kind objstore.Kind
	data []byte
	id   objstore.ID
}

// cutValue returns the objects as which a value is stored. The last one is the root: all others are below it.
func cutValue(value []byte) []piece {
	var c cut
	if len(value) > maxInline {
		c.parts(value)
	} else {
		c.put(objstore.Blob, value)
	}
	return c.pieces
}

// rootOf returns the root of the pieces of cutValue.
func rootOf(pieces []piece) piece { return pieces[len(pieces)-1] }

// entry returns the tree entry of a piece.
func (p *piece) entry(name string) objstore.TreeEntry {
	mode := objstore.ModeFile
	if p.kind == objstore.Tree {
		mode = objstore.ModeTree
	}
	return objstore.TreeEntry{Name: name, Mode: mode, ID: p.id}
}

// objects is a set of ids that need not be written, because the base has them.
type objects map[objstore.ID]struct{}

// add writes the pieces that are not in known to w, those below a tree before the tree.
func (known objects) add(w objstore.Writer, pieces []piece) {
	for i := range pieces {
		if _, ok := known[pieces[i].id]; !ok {
			w.Add(pieces[i].kind, pieces[i].data)
		}
	}
}

// cut collects the pieces of a value, those below a tree before the tree.
type cut struct{ pieces []piece }

// put appends an object and returns its id.
func (c *cut) put(kind objstore.Kind, data []byte) objstore.ID {
	id := objstore.Hash(kind, data)
	c.pieces = append(c.pieces, piece{kind, data, id})
	return id
}

// parts cuts a value of more than maxInline bytes into a tree.
func (c *cut) parts(value []byte) {
	var nodes []objstore.TreeEntry
	for len(value) > 0 {
		n := parts.next(value)
		if n == len(value) && n > chunks.most {
			nodes = append(nodes, objstore.TreeEntry{Mode: objstore.ModeTree, ID: c.tail(value)})
		} else {
			nodes = append(nodes, objstore.TreeEntry{Mode: objstore.ModeFile, ID: c.put(objstore.Blob, value[:n:n])})
		}
		value = value[n:]
	}
	for len(nodes) > 1 {
		var parents []objstore.TreeEntry
		for children := range slices.Chunk(nodes, fanOut) {
			for i := range children {
				children[i].Name = digits[i : i+1]
			}
			id := c.put(objstore.Tree, objstore.EncodeTree(children))
			parents = append(parents, objstore.TreeEntry{Mode: objstore.ModeTree, ID: id})
		}
		nodes = parents
	}
}

// tail cuts the last part of a value into a tree of chunks, and returns the id of the tree. The part must have
// more than chunks.most bytes.
func (c *cut) tail(part []byte) objstore.ID {
	var entries []objstore.TreeEntry
	for len(part) > 0 {
		n := chunks.next(part)
		id := c.put(objstore.Blob, part[:n:n])
		entries = append(entries, objstore.TreeEntry{Name: tailName(len(entries)), Mode: objstore.ModeFile, ID: id})
		part = part[n:]
	}
	return c.put(objstore.Tree, objstore.EncodeTree(entries))
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
