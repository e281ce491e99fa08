package page

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"

	"github.com/git-smithers/git-smithers/objstore"
)

// cutter is a rule that cuts bytes into pieces by their content. From avg bytes on, a cut is eight times as
// likely as before, so most pieces have about avg bytes.
type cutter struct {
	least, avg, most int // bytes; a piece is longer than least, except the last piece
	before, after    int // leading zero bits of the rolling hash at a cut: before avg bytes, and after
}

// A value is cut into parts, and its last part into chunks. If bytes are appended to the value, only the last part
// changes.
var (
	parts  = cutter{least: 32 << 10, avg: 64 << 10, most: 128 << 10, before: 17, after: 14}
	chunks = cutter{least: 2 << 10, avg: 4 << 10, most: 8 << 10, before: 13, after: 10}
)

const (
	maxPartDepth = 4 // digits for MaxValue/parts.least parts
	tailDigits   = 2 // digits for parts.most/chunks.least chunks
)

// gear is the table of the rolling hash: a random number for each byte. The numbers must never change, because
// they decide where values are cut.
var gear = sync.OnceValue(func() *[256]uint64 {
	var table [256]uint64
	for b := range table {
		sum := sha256.Sum256([]byte("git-smithers gear " + strconv.Itoa(b)))
		table[b] = binary.BigEndian.Uint64(sum[:])
	}
	return &table
})

// next returns the length of the first piece of value. value must not be empty. The piece ends at the first
// place after c.least bytes where the rolling hash has enough leading zero bits: c.before bits up to about
// c.avg bytes, and then c.after bits. If there is no such place, the piece ends after c.most bytes or at the
// end of value. The bytes after a cut have no influence on the cut.
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

// piece is one object of a stored value: the whole value, a part, a chunk, or a tree above parts or chunks.
type piece struct {
	kind objstore.Kind
	data []byte
	id   objstore.ID
}

// cutValue returns the objects that store value, with the ids that hash gives them. Each object comes before the tree that contains it, so the
// last object is the root. A value of at most maxInline bytes is a single blob, and a larger value is a tree.
func cutValue(hash objstore.Algorithm, value []byte) []piece {
	c := cut{hash: hash}
	if len(value) > maxInline {
		c.parts(value)
	} else {
		c.put(objstore.Blob, value)
	}
	return c.pieces
}

// rootOf returns the root of pieces, a result of cutValue.
func rootOf(pieces []piece) piece { return pieces[len(pieces)-1] }

// entry returns the tree entry of the piece p, with the given name.
func (p *piece) entry(name string) objstore.TreeEntry {
	mode := objstore.ModeFile
	if p.kind == objstore.Tree {
		mode = objstore.ModeTree
	}
	return objstore.TreeEntry{Name: name, Mode: mode, ID: p.id}
}

// objects is a set of the ids of objects that are stored already and need not be written again.
type objects map[objstore.ID]struct{}

// add writes to w each piece whose id is not in known. It keeps the order of pieces, so an object is written
// before the tree that contains it.
func (known objects) add(w objstore.Writer, pieces []piece) {
	for i := range pieces {
		if _, ok := known[pieces[i].id]; !ok {
			w.Add(pieces[i].kind, pieces[i].data)
		}
	}
}

// cut collects the objects of a value, each before the tree that contains it.
type cut struct {
	hash   objstore.Algorithm
	pieces []piece
}

// put appends an object to c.pieces and returns its id.
func (c *cut) put(kind objstore.Kind, data []byte) objstore.ID {
	id := c.hash.ID(kind, data)
	c.pieces = append(c.pieces, piece{kind, data, id})
	return id
}

// parts cuts value into parts and appends the objects of value to c.pieces. value must have more than maxInline
// bytes. Each part is a blob, except a last part of more than chunks.most bytes, which is a tree of chunks. The
// last object is the root: a tree of all parts or, if value is a single part, the tree of its chunks.
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
	// Add levels of trees, each tree with up to 16 children, until one root is left.
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

// tail appends the chunks of part to c.pieces, and then the tree of these chunks. It returns the id of the
// tree. part is the last part of a value, and must have more than chunks.most bytes.
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

// tailName returns the name of chunk i in the tree of chunks: i as two hex digits.
func tailName(i int) string { return digits[i/fanOut:i/fanOut+1] + digits[i%fanOut:i%fanOut+1] }

// reach adds to known the id of e and the ids of all objects below e. It does not look below an id that is in
// known already, and reads only trees. e is the root of a stored value or an entry below the root, and level is
// the number of trees above e.
//
// If trees are nested more deeply than cutValue nests them, the error is a [*objstore.CorruptError]. Any other
// error is about reading a tree.
func (known objects) reach(r objstore.Reader, e objstore.TreeEntry, level int) error {
	if _, ok := known[e.ID]; ok {
		return nil
	}
	known[e.ID] = struct{}{}
	if e.Mode != objstore.ModeTree {
		return nil
	}
	if level > maxPartDepth { // below maxPartDepth levels of parts, the tail is one more tree
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
