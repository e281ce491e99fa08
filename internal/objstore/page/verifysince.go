package page

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
)

// VerifySince verifies c as [Collection.Verify] does, with the same errors, but skips the objects that c shares
// with known. The collection known must be sound; normally it is an earlier or later version of c. So the cost
// of verifying a chain of versions depends only on their changes.
//
// If known is nil, or either collection has at most 32 rows, VerifySince verifies all of c. It also does so if
// the values that are stored apart do not match the rows, to find the damage.
func (c *Collection) VerifySince(known *Collection) error {
	if known == nil || known.rows <= smallRows || c.rows <= smallRows {
		return c.Verify()
	}
	if c.id == known.id {
		return nil
	}
	v := &sinceVerifier{known: known.directory(), next: c.directory()}
	v.splits = splitPages(v.known.pages, v.next.pages)
	if err := v.verify(position{v.next.depth, 0}); err != nil {
		return err
	}
	for index := v.next.pages; index < v.known.pages; index++ {
		v.pages = append(v.pages, index)
	}
	from, err := v.known.linesOf(v.pages)
	if err != nil {
		return err
	}
	to, err := v.next.linesOf(v.pages)
	if err != nil {
		return err
	}
	if rows := known.rows - len(from) + len(to); rows != c.rows {
		return corrupt(c.id, "collection: %d rows in pages, %d counted", rows, c.rows)
	}
	same, err := sameValues(known.values(), c.values(), from, to)
	if err != nil || same {
		return err
	}
	// The trees of values do not match the rows. Verify finds the damage and returns the error.
	return c.Verify()
}

// sinceVerifier verifies the pages of a collection, next, that a sound collection, known, does not share.
type sinceVerifier struct {
	known, next *directory
	splits      []int // pages of known whose rows may be on other pages in next, sorted
	pages       []int // pages that known and next do not share
}

// splitPages returns the sorted numbers of the pages that linear hashing splits while a collection grows from
// one number of pages to another. If to is not above from, the result is empty. The rows of an added page come
// from the page whose number is the added page's number without the highest bit.
func splitPages(from, to int) []int {
	var splits []int
	for added := from; added < to; added++ {
		splits = append(splits, added&^(1<<(bits.Len(uint(added))-1)))
	}
	slices.Sort(splits)
	return slices.Compact(splits)
}

// verify checks the directory at p and all directories below p. The nodes at p differ between the two
// collections. verify adds to v.pages the numbers of the pages that the collections do not share. It does not
// check the rows of these pages.
func (v *sinceVerifier) verify(p position) error {
	if p.level == 0 {
		v.pages = append(v.pages, p.index)
		return nil
	}
	for i := range widthAt(v.next.pages, p) {
		child := position{p.level - 1, p.index*fanOut + i}
		shared, err := v.shared(child)
		if err == nil && !shared {
			err = v.verify(child)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shared reports whether known and next have the same pages at p and below p, and whether the same rows belong
// on these pages in both. p is a position of next. If the numbers of pages below p differ, or a page below p
// was split, shared returns false without comparing ids.
func (v *sinceVerifier) shared(p position) (bool, error) {
	// The pages at p or below p have the numbers first to end-1.
	first, end := p.index<<(digitBits*p.level), (p.index+1)<<(digitBits*p.level)
	if !v.known.has(p) || min(end, v.known.pages) != min(end, v.next.pages) {
		return false, nil
	}
	if at, _ := slices.BinarySearch(v.splits, first); at < len(v.splits) && v.splits[at] < end {
		return false, nil
	}
	id, err := v.next.id(p)
	if err != nil {
		return false, err
	}
	was, err := v.known.id(p)
	return was == id, err
}

// sameValues compares the trees of values of two collections. oldLines and newLines are the lines of known and
// next on the pages that the two do not share. For each new or changed line, sameValues reads a value that is
// stored apart, and returns the error if the value is damaged.
//
// The result is true if the changes of the lines explain every difference of the trees. It is false if a value
// is new or changed in the tree but not in the lines, if the tree lost a value that a row still has, or if the
// tree has a value that no row of next has.
func sameValues(known, next *values, oldLines, newLines []line) (bool, error) {
	before, after := make(map[string]line), make(map[string]bool)
	for _, l := range oldLines {
		if l.apart {
			before[valueName(l.key)] = l
		}
	}
	changed := make(map[string]bool)
	for i := range newLines {
		l := &newLines[i]
		if !l.apart {
			continue
		}
		name := valueName(l.key)
		after[name] = true
		if bytes.Equal(before[name].raw, l.raw) {
			continue
		}
		changed[name] = true
		if _, err := next.get(l); err != nil {
			return false, err
		}
	}
	added, removed, err := differentValues(known, next)
	if err != nil {
		return false, err
	}
	for _, name := range added {
		if !changed[name] {
			return false, nil
		}
	}
	for name := range removed {
		if _, was := before[name]; !was || after[name] {
			return false, nil
		}
	}
	for name := range before {
		if !after[name] && !removed[name] {
			return false, nil
		}
	}
	return true, nil
}

// valueName returns the folder and the name of the value of the row with the given key, joined to one text.
func valueName(key string) string {
	folder, name := splitName(key)
	return folder + name
}

// differentValues compares two trees of values. added has the names of the values that known lacks or has with
// another mode or id. removed has the names of the values that only known has; it is nil if the trees are the
// same. The names have the form that valueName returns.
func differentValues(known, next *values) (added []string, removed map[string]bool, err error) {
	if known.root == next.root {
		return nil, nil, nil
	}
	if err := known.load(); err != nil {
		return nil, nil, err
	}
	if err := next.load(); err != nil {
		return nil, nil, err
	}
	for folder, id := range next.folders {
		if known.folders[folder] == id {
			continue
		}
		entries, err := lacking(next, known, folder)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			added = append(added, folder+e.Name)
		}
	}
	removed = make(map[string]bool)
	for folder, id := range known.folders {
		if next.folders[folder] == id {
			continue
		}
		entries, err := lacking(known, next, folder)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			if _, found, err := next.entry(folder, e.Name); err != nil {
				return nil, nil, err
			} else if !found {
				removed[folder+e.Name] = true
			}
		}
	}
	return added, removed, nil
}

// lacking returns the entries in a folder of v that the same folder of base lacks or has with another mode or
// id.
func lacking(v, base *values, folder string) ([]objstore.TreeEntry, error) {
	entries, err := v.list(folder)
	if err != nil {
		return nil, err
	}
	var out []objstore.TreeEntry
	for _, e := range entries {
		o, _, err := base.entry(folder, e.Name)
		if err != nil {
			return nil, err
		}
		if o != e {
			out = append(out, e)
		}
	}
	return out, nil
}
