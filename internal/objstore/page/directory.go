package page

import (
	"crypto/sha256"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
)

const (
	blobMode  = "100644 "
	treeMode  = "40000 "
	maxIDSize = sha256.Size
)

// position is the place of a page or a directory in a collection. Pages are at level 0. The directory above the
// position (level, index) is at (level+1, index/16). A position covers the same pages in a collection of any
// depth.
type position struct{ level, index int }

// parent returns the position of the directory above p.
func (p position) parent() position { return position{p.level + 1, p.index / fanOut} }

// directory reads the pages of a collection and remembers the ids that it has read. The directory of a small
// collection has depth 0: its root is its only page. A directory is made for one operation and is not safe for
// concurrent use.
type directory struct {
	r     objstore.Reader
	root  objstore.ID // of the collection
	rows  int
	pages int
	depth int
	small []byte                     // the only page, if it is the root
	nodes map[position][]objstore.ID // the ids of children, in the order of their digits
}

// has reports whether the collection has a page or a directory at p.
func (d *directory) has(p position) bool {
	return p.level <= d.depth && p.index < nodesAt(d.pages, p.level)
}

// id returns the id of the object at p. d.has(p) must be true. id reads the directories above p that d has not
// read yet.
func (d *directory) id(p position) (objstore.ID, error) {
	if p.level == d.depth {
		return d.root, nil
	}
	children, err := d.children(p.parent())
	if err != nil {
		return objstore.ID{}, err
	}
	return children[p.index%fanOut], nil
}

// children returns the ids of the children of the directory at p. The level of p is at least 1. If the object
// at p is not a directory with the expected number of children, the error is a [*objstore.CorruptError]. The
// caller must not change the slice.
func (d *directory) children(p position) ([]objstore.ID, error) {
	if ids, ok := d.nodes[p]; ok {
		return ids, nil
	}
	id, err := d.id(p)
	if err != nil {
		return nil, err
	}
	data, err := objstore.GetKind(d.r, id, objstore.Tree)
	if err != nil {
		return nil, err
	}
	want := widthAt(d.pages, p)
	ids, rest, ok := cutChildren(data, want, p.level, idSize(id))
	if !ok || len(rest) > 0 {
		return nil, corrupt(id, "page directory: expected %d children", want)
	}
	d.nodes[p] = ids
	return ids, nil
}

// raw returns the id and the undecoded bytes of the page with the number index.
func (d *directory) raw(index int) (objstore.ID, []byte, error) {
	id, err := d.id(position{0, index})
	if err != nil || d.small != nil {
		return id, d.small, err
	}
	data, err := objstore.GetBlob(d.r, id, maxPage)
	return id, data, err
}

// page returns the rows of the page with the number index. If the page is damaged, the error is a
// [*objstore.CorruptError].
func (d *directory) page(index int) ([]line, error) {
	id, data, err := d.raw(index)
	if err != nil {
		return nil, err
	}
	return d.decode(id, data, index)
}

// decode returns the rows in data, the bytes of the page with the given id. index is the number of the page. If
// Edit would not write these bytes for this page of the collection, the error is a [*objstore.CorruptError].
// The lines share memory with data.
func (d *directory) decode(id objstore.ID, data []byte, index int) ([]line, error) {
	lines, err := decodePage(id, data, index, d.pages, d.rows)
	if err == nil && d.small != nil && slices.ContainsFunc(lines, func(l line) bool { return l.apart }) {
		return nil, corrupt(id, "collection: a single page has no values apart")
	}
	return lines, err
}

// childMode returns the mode of the children of a directory at the given level, in the spelling of a tree. The
// children of a directory at level 1 are pages, which are files. The children at higher levels are directories,
// which are trees.
func childMode(level int) string {
	if level > 1 {
		return treeMode
	}
	return blobMode
}

// appendChildren appends to b the tree entries of the children of a directory at the given level, and returns the
// result. The names of the entries are hex digits in order.
func appendChildren(b []byte, children []objstore.ID, level int) []byte {
	for i, id := range children {
		b = appendEntry(b, childMode(level), digits[i:i+1], id)
	}
	return b
}

// cutChildren decodes the first count entries of data as the children of a directory at the given level. size
// is the number of bytes of an id. It returns the ids, and the bytes of data after these entries. ok is false
// if appendChildren would not write these entries.
func cutChildren(data []byte, count, level, size int) (ids []objstore.ID, rest []byte, ok bool) {
	ids = make([]objstore.ID, count)
	for i := range ids {
		if ids[i], data, ok = cutEntry(data, childMode(level), digits[i:i+1], size); !ok {
			return nil, nil, false
		}
	}
	return ids, data, true
}

// appendEntry appends one tree entry to b and returns the result. The caller appends entries in the order that git
// requires.
func appendEntry(b []byte, mode, name string, id objstore.ID) []byte {
	b = append(b, mode...)
	b = append(b, name...)
	return id.AppendTo(append(b, 0))
}

// cutEntry decodes the first entry of the tree in b. size is the number of bytes of an id. It returns the id of
// the entry and the bytes after the entry. The third result is false if the entry is cut short or does not have
// the given mode and name.
func cutEntry(b []byte, mode, name string, size int) (objstore.ID, []byte, bool) {
	head := len(mode) + len(name) + 1
	if len(b) < head+size || string(b[:len(mode)]) != mode ||
		string(b[len(mode):head-1]) != name || b[head-1] != 0 {
		return objstore.ID{}, b, false
	}
	id, err := objstore.IDFromBytes(b[head : head+size])
	return id, b[head+size:], err == nil
}

// idSize returns the number of bytes of id: 20 or 32, or 0 for the zero ID.
func idSize(id objstore.ID) int {
	var buf [maxIDSize]byte
	return len(id.AppendTo(buf[:0]))
}
