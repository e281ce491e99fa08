package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
)

const (
	sumsName  = "sums"
	blobMode  = "100644 "
	treeMode  = "40000 "
	maxIDSize = sha256.Size
)

// position is where a node is in a directory of pages. Pages are at level 0, and the node above
// (level, index) is (level+1, index/16). A position covers the same pages in a directory of any
// depth.
type position struct{ level, index int }

func (p position) parent() position { return position{p.level + 1, p.index / fanOut} }

// node is one directory: the ids of its children in the order of their digits.
type node struct {
	children []objstore.ID
	sumsID   objstore.ID
	sums     []Sum // nil until they are read
}

// ref is a page or a directory, with its sum.
type ref struct {
	id  objstore.ID
	sum Sum
}

// directory reads the pages of a collection and remembers the nodes that it has read. The directory
// of a small collection has depth 0: its root is its only page. It is made for one operation and is
// not safe for concurrent use.
type directory struct {
	r     objstore.Reader
	root  objstore.ID
	rows  int
	pages int
	depth int
	small []byte // the only page, if it is the root
	nodes map[position]*node
}

// has reports whether there is a node at p.
func (d *directory) has(p position) bool {
	return p.level <= d.depth && p.index < nodesAt(d.pages, p.level)
}

// id returns the id of the object at p, which must exist.
func (d *directory) id(p position) (objstore.ID, error) {
	if p.level == d.depth {
		return d.root, nil
	}
	n, err := d.node(p.parent())
	if err != nil {
		return objstore.ID{}, err
	}
	return n.children[p.index%fanOut], nil
}

// ref returns the id and the sum of the object at p.
func (d *directory) ref(p position) (ref, error) {
	id, err := d.id(p)
	if err != nil {
		return ref{}, err
	}
	if p.level == d.depth {
		sum, err := d.sumOf(p)
		return ref{id, sum}, err
	}
	sums, err := d.sums(p.parent())
	if err != nil {
		return ref{}, err
	}
	return ref{id, sums[p.index%fanOut]}, nil
}

// node reads the directory at p, whose level is at least 1.
func (d *directory) node(p position) (*node, error) {
	if n, ok := d.nodes[p]; ok {
		return n, nil
	}
	id, err := d.id(p)
	if err != nil {
		return nil, err
	}
	data, err := objstore.GetKind(d.r, id, objstore.Tree)
	if err != nil {
		return nil, err
	}
	want := min(fanOut, nodesAt(d.pages, p.level-1)-p.index*fanOut)
	n, ok := decodeNode(data, want, p.level > 1, idSize(id))
	if !ok {
		return nil, corrupt(id, "page directory: expected %d children and their sums", want)
	}
	d.nodes[p] = n
	return n, nil
}

// sums returns the sums of the children of the directory at p.
func (d *directory) sums(p position) ([]Sum, error) {
	n, err := d.node(p)
	if err != nil {
		return nil, err
	}
	if n.sums != nil {
		return n.sums, nil
	}
	data, err := objstore.GetBlob(d.r, n.sumsID, fanOut*sumLine)
	if err != nil {
		return nil, err
	}
	sums, ok := parseSums(data, len(n.children))
	if !ok {
		return nil, corrupt(n.sumsID, "sums: expected %d lines of 64 hex digits", len(n.children))
	}
	n.sums = sums
	return n.sums, nil
}

// raw reads the bytes of a page.
func (d *directory) raw(index int) (objstore.ID, []byte, error) {
	id, err := d.id(position{0, index})
	if err != nil || d.small != nil {
		return id, d.small, err
	}
	data, err := objstore.GetBlob(d.r, id, maxPage)
	return id, data, err
}

// page reads the rows of a page.
func (d *directory) page(index int) ([]line, error) {
	id, data, err := d.raw(index)
	if err != nil {
		return nil, err
	}
	return d.decode(id, data, index)
}

// decode decodes the rows of a page. It accepts only bytes that encodePage writes for the
// collection. The lines share memory with data.
func (d *directory) decode(id objstore.ID, data []byte, index int) ([]line, error) {
	lines, err := decodePage(id, data, index, d.pages, d.rows)
	if err == nil && d.small != nil && slices.ContainsFunc(lines, func(l line) bool { return l.apart }) {
		return nil, corrupt(id, "collection: a single page has no values apart")
	}
	return lines, err
}

// addNode writes a directory and its sums. trees is true if its children are directories.
func addNode(w objstore.Writer, children []ref, trees bool) ref {
	sums := make([]byte, 0, len(children)*sumLine)
	for _, c := range children {
		sums = appendSum(sums, c.sum)
	}
	mode := blobMode
	if trees {
		mode = treeMode
	}
	data := make([]byte, 0, (len(children)+1)*(len(blobMode)+len(sumsName)+1+maxIDSize))
	for i, c := range children {
		data = appendEntry(data, mode, digits[i:i+1], c.id)
	}
	data = appendEntry(data, blobMode, sumsName, w.Add(objstore.Blob, sums))
	return ref{w.Add(objstore.Tree, data), sha256.Sum256(sums)}
}

// decodeNode decodes a directory of exactly want children.
func decodeNode(data []byte, want int, trees bool, size int) (*node, bool) {
	mode := blobMode
	if trees {
		mode = treeMode
	}
	n := &node{children: make([]objstore.ID, want)}
	var ok bool
	for i := range n.children {
		n.children[i], data, ok = cutEntry(data, mode, digits[i:i+1], size)
		if !ok {
			return nil, false
		}
	}
	n.sumsID, data, ok = cutEntry(data, blobMode, sumsName, size)
	return n, ok && len(data) == 0
}

// appendEntry appends one entry to the bytes of a tree. The caller keeps git's order.
func appendEntry(b []byte, mode, name string, id objstore.ID) []byte {
	b = append(b, mode...)
	b = append(b, name...)
	return id.AppendTo(append(b, 0))
}

// cutEntry decodes the first entry of a tree, which must have the mode and the name.
func cutEntry(b []byte, mode, name string, size int) (objstore.ID, []byte, bool) {
	head := len(mode) + len(name) + 1
	if len(b) < head+size || string(b[:len(mode)]) != mode ||
		string(b[len(mode):head-1]) != name || b[head-1] != 0 {
		return objstore.ID{}, b, false
	}
	id, err := objstore.IDFromBytes(b[head : head+size])
	return id, b[head+size:], err == nil
}

// hasEntry reports whether the first entry of a tree has the mode and the name.
func hasEntry(b []byte, mode, name string) bool {
	return bytes.HasPrefix(b, []byte(mode+name+"\x00"))
}

// idSize returns the number of bytes of an id.
func idSize(id objstore.ID) int {
	var buf [maxIDSize]byte
	return len(id.AppendTo(buf[:0]))
}

// sumLine is the length in bytes of a line of sums.
const sumLine = 2*sha256.Size + 1

// appendSum appends a line of sums: lower-case hex and LF, so that git shows a changed sum as a
// changed line.
func appendSum(b []byte, sum Sum) []byte { return append(hex.AppendEncode(b, sum[:]), '\n') }

// parseSums decodes exactly want lines of sums.
func parseSums(data []byte, want int) ([]Sum, bool) {
	if len(data) != want*sumLine {
		return nil, false
	}
	sums := make([]Sum, want)
	for i := range sums {
		line := data[i*sumLine : (i+1)*sumLine]
		sum, ok := parseSum(line[:sumLine-1])
		if !ok || line[sumLine-1] != '\n' {
			return nil, false
		}
		sums[i] = sum
	}
	return sums, true
}

// sumOfSums returns the sum of a directory.
func sumOfSums(sums []Sum) Sum {
	text := make([]byte, 0, len(sums)*sumLine)
	for _, s := range sums {
		text = appendSum(text, s)
	}
	return sha256.Sum256(text)
}
