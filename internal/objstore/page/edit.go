package page

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// Change sets the row with the key Key to Value, or removes the row if Value is nil. Removing a missing row
// changes nothing.
type Change struct {
	Key   string
	Value []byte
}

// Edit returns the collection that results from applying changes to c. It writes the new objects to w, which
// must be able to read the objects of c. If there are several changes to a key, the last change counts. The new
// collection reads through w, and is as durable as w is.
//
// Edit reads the pages of the changed rows, the pages that a new number of rows splits or joins, and the
// directories above these pages. If the new collection has at most 32 rows, Edit reads all pages. If a change
// concerns a value that is stored apart, Edit also reads trees of values. It writes only objects that differ
// from those of c.
//
// If a change cannot be stored, even a change that a later change overrides, the error wraps [ErrInvalid] and
// nothing is written. Any other error is about reading c. The caller must not change the values afterwards.
func (c *Collection) Edit(w objstore.Writer, changes []Change) (*Collection, error) {
	pending, err := prepare(objstore.HashOf(w), changes)
	if err != nil {
		return nil, err
	}
	if len(pending) == 0 {
		return c.through(w), nil
	}
	e := &edit{base: c, w: w, dir: c.directory(), pages: make(map[int]*editedPage)}
	if err := e.merge(pending); err != nil {
		return nil, err
	}
	if e.rows > MaxRows {
		return nil, fmt.Errorf("%w: %d rows, the limit is %d", ErrInvalid, e.rows, MaxRows)
	}
	if err := e.layOut(); err != nil {
		return nil, err
	}
	if e.rows == 0 {
		return &Collection{r: w}, nil
	}
	dirty := e.writePages()
	if len(dirty) == 0 && e.rows == c.rows {
		return c.through(w), nil
	}
	if e.small {
		return e.single(dirty)
	}
	next := &Collection{r: w, rows: e.rows}
	if next.valuesID, err = e.writeValues(); err != nil {
		return nil, err
	}
	if next.top, err = e.writeDirectories(dirty); err != nil {
		return nil, err
	}
	// The name of this empty file is the number of rows.
	w.Add(objstore.Blob, nil)
	next.id = w.Add(objstore.Tree, next.encodeTree())
	return next, nil
}

// through returns a copy of c that reads through r.
func (c *Collection) through(r objstore.Reader) *Collection {
	same := *c
	same.r = r
	return &same
}

// pendingChange is a change that was checked and encoded.
type pendingChange struct {
	line
	page   int     // number of the row's page in the base
	remove bool    // removes the row
	pieces []piece // the objects of a value that is stored apart
}

// prepare checks and encodes all changes, and returns the last change of each key, sorted by key. If a change
// cannot be stored, even a change that a later change overrides, the error wraps ErrInvalid.
func prepare(hash objstore.Algorithm, changes []Change) ([]pendingChange, error) {
	pending := make([]pendingChange, 0, len(changes))
	for _, change := range changes {
		if err := checkKey(change.Key); err != nil {
			return nil, err
		}
		p := pendingChange{line: line{key: change.Key}, remove: change.Value == nil}
		if !p.remove {
			var err error
			if p.line, p.pieces, err = newLine(hash, change.Key, change.Value); err != nil {
				return nil, err
			}
		}
		pending = append(pending, p)
	}
	slices.SortStableFunc(pending, func(a, b pendingChange) int { return strings.Compare(a.key, b.key) })
	last := pending[:0]
	for i := range pending {
		if i+1 == len(pending) || pending[i+1].key != pending[i].key {
			last = append(last, pending[i])
		}
	}
	return last, nil
}

// edit is the state of one call of [Collection.Edit].
type edit struct {
	base  *Collection
	w     objstore.Writer
	dir   *directory          // of the base
	pages map[int]*editedPage // the pages that were read, by number; after relocate, by new number
	rows  int                 // number of rows of the result
	count int                 // number of its pages
	small bool                // the result is a single page
	// lost has the keys of rows that lose a value that is stored apart. gained has the keys of rows that gain
	// such a value.
	lost   map[string]struct{}
	gained map[string]gainedValue
}

// editedPage is a page that was read, with its new lines.
type editedPage struct {
	isNew  bool   // the base has no page of this number
	before []byte // the bytes in the base
	lines  []line
}

// gainedValue is a value to be stored apart.
type gainedValue struct {
	pieces   []piece
	replaces bool // the row had its value stored apart before
}

// load returns the page of the base with the number index. If the page is not in e.pages yet, load reads the
// page and adds it to e.pages. An empty base has no pages; its page 0 is then a new page without lines.
func (e *edit) load(index int) (*editedPage, error) {
	if p, ok := e.pages[index]; ok {
		return p, nil
	}
	p := &editedPage{isNew: true}
	if e.base.rows > 0 {
		id, data, err := e.dir.raw(index)
		if err != nil {
			return nil, err
		}
		if p.lines, err = e.dir.decode(id, data, index); err != nil {
			return nil, err
		}
		p.before, p.isNew = data, false
	}
	e.pages[index] = p
	return p, nil
}

// merge applies the changes in pending to the pages of the base, and loads these pages first. It sets e.rows to
// the number of rows of the result. It reorders pending.
func (e *edit) merge(pending []pendingChange) error {
	pages := max(1, e.dir.pages)
	for i := range pending {
		pending[i].page = pageOf(hashKey(pending[i].key), pages)
	}
	slices.SortStableFunc(pending, func(a, b pendingChange) int { return a.page - b.page })
	e.rows = e.base.rows
	for len(pending) > 0 {
		n := 1
		for n < len(pending) && pending[n].page == pending[0].page {
			n++
		}
		p, err := e.load(pending[0].page)
		if err != nil {
			return err
		}
		before := len(p.lines)
		p.lines = e.mergeLines(p.lines, pending[:n])
		e.rows += len(p.lines) - before
		pending = pending[n:]
	}
	return nil
}

// mergeLines returns the lines that result from applying changes to lines, the lines of one page. Both
// parameters and the result are sorted by key. mergeLines calls noteValues for each change.
func (e *edit) mergeLines(lines []line, changes []pendingChange) []line {
	merged := make([]line, 0, len(lines)+len(changes))
	for i := range changes {
		change := &changes[i]
		for len(lines) > 0 && lines[0].key < change.key {
			merged = append(merged, lines[0])
			lines = lines[1:]
		}
		var old line
		if len(lines) > 0 && lines[0].key == change.key {
			old = lines[0]
			lines = lines[1:]
		}
		if !change.remove {
			merged = append(merged, change.line)
		}
		e.noteValues(old, change)
	}
	return append(merged, lines...)
}

// layOut sets e.small and e.count, and moves the lines of the loaded pages to the pages of the result. For a
// result of at most smallRows rows, layOut loads all pages of the base. If their number of rows differs from
// the number that the base records, the error is a [*objstore.CorruptError].
func (e *edit) layOut() error {
	e.count = pagesFor(e.rows)
	// All rows together decide whether the result is a single page.
	if e.rows <= smallRows {
		var lines []line
		for index := range e.dir.pages {
			if _, err := e.load(index); err != nil {
				return err
			}
		}
		for _, p := range e.pages {
			lines = append(lines, p.lines...)
		}
		if len(lines) != e.rows {
			return corrupt(e.base.id, "collection: %d rows in pages, %d counted",
				e.base.rows+len(lines)-e.rows, e.base.rows)
		}
		if e.small = isSmall(lines); e.small {
			e.count = 1
		}
	}
	return e.relocate()
}

// relocate moves the lines of the loaded pages to the pages that the new number of pages e.count requires.
// Before that, it loads the pages that split or join. If the number of pages stays the same, relocate does
// nothing.
func (e *edit) relocate() error {
	before, after := e.dir.pages, e.count
	if before == after {
		return nil
	}
	// An added page takes its rows from a page of the base. A removed page gives its rows to a page of the
	// result. Load all these pages.
	for index := before; index < after && before > 0; index++ {
		if _, err := e.load(pageOf(uint64(index), before)); err != nil {
			return err
		}
	}
	for index := after; index < before; index++ {
		for _, source := range []int{index, pageOf(uint64(index), after)} {
			if _, err := e.load(source); err != nil {
				return err
			}
		}
	}
	moved := make(map[int]*editedPage, len(e.pages))
	for index, p := range e.pages {
		if index < after {
			moved[index] = &editedPage{isNew: p.isNew, before: p.before}
		}
	}
	for index := before; index < after; index++ {
		moved[index] = &editedPage{isNew: true}
	}
	for _, p := range e.pages {
		for _, l := range p.lines {
			to := moved[pageOf(hashKey(l.key), after)]
			to.lines = append(to.lines, l)
		}
	}
	for _, p := range moved {
		sortLines(p.lines)
	}
	e.pages = moved
	return nil
}

// writePages writes the pages that are new or whose bytes differ from the base. It returns the ids of the
// written pages by page number.
func (e *edit) writePages() map[int]objstore.ID {
	dirty := make(map[int]objstore.ID)
	for _, index := range slices.Sorted(maps.Keys(e.pages)) {
		p := e.pages[index]
		data := encodePage(p.lines)
		if p.isNew || !bytes.Equal(data, p.before) {
			dirty[index] = e.w.Add(objstore.Blob, data)
		}
	}
	return dirty
}

// writeDirectories writes the directories above the dirty pages, and the directories whose number of children
// has changed. dirty has the ids that writePages returned. The top directory is part of the collection's tree,
// so writeDirectories does not write the top directory, but returns the ids of its children.
func (e *edit) writeDirectories(dirty map[int]objstore.ID) ([]objstore.ID, error) {
	depth := depthFor(e.count)
	changed := slices.Collect(maps.Keys(dirty))
	// The directory above an added or removed page gets another number of children.
	for index := min(e.dir.pages, e.count); index < max(e.dir.pages, e.count); index++ {
		changed = append(changed, index)
	}
	built := dirty
	for level := 1; level < depth; level++ {
		for i := range changed {
			changed[i] /= fanOut
		}
		slices.Sort(changed)
		changed = slices.Compact(changed)
		next := make(map[int]objstore.ID, len(changed))
		for _, index := range changed {
			if index >= nodesAt(e.count, level) {
				continue // the result has no such directory
			}
			children, err := e.childrenOf(position{level, index}, built)
			if err != nil {
				return nil, err
			}
			next[index] = e.w.Add(objstore.Tree, appendChildren(nil, children, level))
		}
		built = next
	}
	return e.childrenOf(position{depth, 0}, built)
}

// childrenOf returns the ids of the children of the directory at p in the result. built has the ids of the
// children that Edit has written, by their index at their level. All other children are the same as in the
// base.
func (e *edit) childrenOf(p position, built map[int]objstore.ID) ([]objstore.ID, error) {
	children := make([]objstore.ID, widthAt(e.count, p))
	for i := range children {
		at := p.index*fanOut + i
		if id, ok := built[at]; ok {
			children[i] = id
			continue
		}
		var err error
		if children[i], err = e.dir.id(position{p.level - 1, at}); err != nil {
			return nil, err
		}
	}
	return children, nil
}

// single returns the result as a collection of a single page. dirty has the id of page 0 if writePages wrote
// page 0. Otherwise the id of page 0 is the same as in the base.
func (e *edit) single(dirty map[int]objstore.ID) (*Collection, error) {
	id, ok := dirty[0]
	if !ok {
		var err error
		if id, err = e.dir.id(position{0, 0}); err != nil {
			return nil, err
		}
	}
	return &Collection{r: e.w, id: id, rows: e.rows, small: encodePage(e.pages[0].lines)}, nil
}
