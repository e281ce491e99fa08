package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// Sum is a SHA-256 digest.
type Sum [sha256.Size]byte

// String returns the sum in lower-case hex.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// Row is one row of a collection: a key and one JSON value, byte for byte as it was given. The
// bytes are shared and must not be changed.
type Row struct {
	Key   string
	Value []byte
}

// The names in a collection's tree, besides the digits of its children.
const (
	rowsPrefix = "rows-" // followed by the number of rows in decimal; an empty file
	valuesName = "values"
)

// Collection is an immutable set of rows with unique keys. It keeps a few ids, or its only page, in memory, and
// reads all other objects when they are needed. It is safe for concurrent use.
type Collection struct {
	r        objstore.Reader
	id       objstore.ID
	rows     int
	small    []byte        // the only page; nil for a tree of pages
	top      []objstore.ID // the children of a tree of pages, in the order of their digits
	valuesID objstore.ID   // zero if no value is stored apart
}

// Open opens the collection whose object is id, read through r. The zero id is the empty collection, for which
// r may be nil. Open reads only this object. If [Collection.Edit] would not write such an object, the error is
// a [*objstore.CorruptError]. Damage in a row, or in an object below this object, is found when the row or the
// object is read.
func Open(r objstore.Reader, id objstore.ID) (*Collection, error) {
	c := &Collection{r: r, id: id}
	if id.IsZero() {
		return c, nil
	}
	kind, data, err := objstore.GetAtMost(r, id, smallBytes)
	switch {
	case err != nil:
		return nil, err
	case kind == objstore.Tree:
		return c, c.openTree(data)
	case kind == objstore.Blob:
		return c, c.openSmall(data)
	}
	return nil, corrupt(id, "collection: expected a tree or a page")
}

// openSmall makes c the collection whose only page has the bytes data. It checks the size and the number of
// lines, and the error is a [*objstore.CorruptError] if either is out of range. Rows are checked when they are
// read.
func (c *Collection) openSmall(data []byte) error {
	c.small, c.rows = data, bytes.Count(data, []byte{'\n'})
	if len(data) > smallBytes || c.rows < 1 || c.rows > smallRows {
		return corrupt(c.id, "collection: a single page of %d rows and %d bytes", c.rows, len(data))
	}
	return nil
}

// openTree makes c the collection whose tree has the bytes data. If Edit does not write such a tree, the error is a
// [*objstore.CorruptError]. openTree does not read the objects in the tree.
func (c *Collection) openTree(data []byte) error {
	entries, err := objstore.DecodeTree(c.id, data)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(entries, func(e objstore.TreeEntry) bool { return strings.HasPrefix(e.Name, rowsPrefix) })
	if at < 0 {
		return corrupt(c.id, "collection: the number of rows is missing")
	}
	c.rows, err = strconv.Atoi(strings.TrimPrefix(entries[at].Name, rowsPrefix))
	if err != nil || c.rows < 1 || c.rows > MaxRows {
		return corrupt(c.id, "collection: %q is not a number from 1 to %d", entries[at].Name, MaxRows)
	}
	for _, e := range entries[:at] {
		c.top = append(c.top, e.ID)
	}
	if rest := entries[at+1:]; len(rest) > 0 {
		c.valuesID = rest[0].ID
	}
	pages := pagesFor(c.rows)
	if depth := depthFor(pages); len(c.top) != widthAt(pages, position{depth, 0}) || !bytes.Equal(data, c.encodeTree()) {
		return corrupt(c.id, "collection: expected the pages of %d rows, their number and values only", c.rows)
	}
	return nil
}

// encodeTree returns the bytes of the collection's tree: its children, an empty file whose name is the number
// of rows, and the tree of values if a value is stored apart.
func (c *Collection) encodeTree() []byte {
	data := appendChildren(make([]byte, 0, (len(c.top)+2)*(len(blobMode)+len(rowsPrefix)+maxIDSize)), c.top, depthFor(pagesFor(c.rows)))
	data = appendEntry(data, blobMode, rowsPrefix+strconv.Itoa(c.rows), c.top[0].Algorithm().EmptyBlob())
	if !c.valuesID.IsZero() {
		data = appendEntry(data, treeMode, valuesName, c.valuesID)
	}
	return data
}

// ID returns the id of the collection's object, or the zero ID if the collection is empty.
// Collections with the same rows have the same ID.
func (c *Collection) ID() objstore.ID { return c.id }

// Entry returns a tree entry with the given name for the collection. If the collection is empty, the ID of the entry is
// zero.
func (c *Collection) Entry(name string) objstore.TreeEntry {
	mode := objstore.ModeTree
	if c.small != nil {
		mode = objstore.ModeFile
	}
	return objstore.TreeEntry{Name: name, Mode: mode, ID: c.id}
}

// Len returns the number of rows.
func (c *Collection) Len() int { return c.rows }

// Get returns the value of the row with the given key. The second result is false if there is no such row. Get
// reads at most one page, the directories above the page, and the value if the value is stored apart. The bytes
// are shared and must not be changed. If an object is damaged, the error is a [*objstore.CorruptError]. Any
// other error is about reading.
func (c *Collection) Get(key string) ([]byte, bool, error) {
	l, err := c.find(key)
	if err != nil || l == nil {
		return nil, false, err
	}
	value, err := c.values().get(l)
	return value, err == nil, err
}

// Has reports whether there is a row with the given key. It reads what Get reads, but not the value.
func (c *Collection) Has(key string) (bool, error) {
	l, err := c.find(key)
	return l != nil, err
}

// find returns the line of the row with the given key, or nil if there is no such row.
func (c *Collection) find(key string) (*line, error) {
	if c.rows == 0 {
		return nil, nil
	}
	d := c.directory()
	lines, err := d.page(pageOf(hashKey(key), d.pages))
	if err != nil {
		return nil, err
	}
	i, found := slices.BinarySearchFunc(lines, key, func(l line, key string) int { return strings.Compare(l.key, key) })
	if !found {
		return nil, nil
	}
	return &lines[i], nil
}

// Keys yields the key of every row, sorted by the bytes of the key. It reads all pages before it yields the first key, and no
// values. After the first error Keys ends; the key that it yields with the error is "".
func (c *Collection) Keys() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		lines, err := c.lines()
		if err != nil {
			yield("", err)
			return
		}
		for i := range lines {
			if !yield(lines[i].key, nil) {
				return
			}
		}
	}
}

// Rows yields every row, sorted by the bytes of the key. It reads all pages before it yields the first row, and
// each value that is stored apart when it yields the row. After the first error Rows ends; the row that it
// yields with the error is zero.
func (c *Collection) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		lines, err := c.lines()
		if err != nil {
			yield(Row{}, err)
			return
		}
		values := c.values()
		for i := range lines {
			value, err := values.get(&lines[i])
			if err != nil {
				yield(Row{}, err)
				return
			}
			if !yield(Row{lines[i].key, value}, nil) {
				return
			}
		}
	}
}

// lines returns every row of the collection, sorted by key. The error is a [*objstore.CorruptError] if a page
// is damaged or the pages do not have c.rows rows. It is also a [*objstore.CorruptError] if the collection is a
// single page although Edit would write these rows as a tree, or the other way round.
func (c *Collection) lines() ([]line, error) {
	pages, err := c.directory().allPages()
	if err != nil {
		return nil, err
	}
	lines := slices.Concat(pages...)
	if len(lines) != c.rows {
		return nil, corrupt(c.id, "collection: %d rows in pages, %d counted", len(lines), c.rows)
	}
	if c.rows > 0 && isSmall(lines) != (c.small != nil) {
		return nil, corrupt(c.id, "collection: in the wrong one of its two forms")
	}
	sortLines(lines)
	return lines, nil
}

// isSmall reports whether a collection of these lines is stored as a single page: it has at most smallRows rows
// and smallBytes bytes, and no value is stored apart. lines must not be empty.
func isSmall(lines []line) bool {
	if len(lines) > smallRows {
		return false
	}
	size := 0
	for i := range lines {
		if size += len(lines[i].raw); size > smallBytes || lines[i].apart {
			return false
		}
	}
	return true
}

// directory returns a reader of the collection's pages, for one operation.
func (c *Collection) directory() *directory {
	d := &directory{r: c.r, root: c.id, rows: c.rows, nodes: make(map[position][]objstore.ID)}
	switch {
	case c.small != nil:
		d.pages, d.small = 1, c.small
	case c.rows > 0:
		d.pages = pagesFor(c.rows)
		d.depth = depthFor(d.pages)
		d.nodes[position{d.depth, 0}] = c.top
	}
	return d
}

// values returns a reader of the values that are stored apart, for one operation.
func (c *Collection) values() *values { return newValues(c.r, c.valuesID) }

// sortLines sorts lines by key.
func sortLines(lines []line) {
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.key, b.key) })
}
