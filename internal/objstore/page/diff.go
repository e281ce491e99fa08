package page

import (
	"bytes"
	"iter"
)

// Delta is one difference between two collections. From is the value of the row in the first collection, or nil
// if the row was added. To is the value in the second collection, or nil if the row was removed. The bytes are
// shared and must not be changed.
type Delta struct {
	Key      string
	From, To []byte
}

// Diff yields the rows that differ between a and b, sorted by the bytes of the key. If a and b have the same
// id, Diff reads nothing. If either is empty, Diff reads all pages of the other. Otherwise Diff reads the pages
// that differ and the directories above these pages.
//
// Diff compares values that are stored apart by their size and id, and reads such a value when it yields the
// row. After the first error Diff ends; the delta that it yields with the error is zero.
func Diff(a, b *Collection) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		if a.id == b.id {
			return
		}
		changes, err := changedLines(a, b)
		if err != nil {
			yield(Delta{}, err)
			return
		}
		from, to := a.values(), b.values()
		for _, change := range changes {
			delta, err := change.delta(from, to)
			if err != nil {
				yield(Delta{}, err)
				return
			}
			if !yield(delta, nil) {
				return
			}
		}
	}
}

// NewKeys returns the keys of the rows of b that a lacks or has with another value, sorted. It reads no value that is stored apart.
func NewKeys(a, b *Collection) ([]string, error) {
	if a.id == b.id {
		return nil, nil
	}
	changes, err := changedLines(a, b)
	if err != nil {
		return nil, err
	}
	var keys []string
	for i := range changes {
		if changes[i].to.raw != nil {
			keys = append(keys, changes[i].to.key)
		}
	}
	return keys, nil
}

// changedLine is a row that differs between two collections. If a collection lacks the row, the line of that
// collection is zero.
type changedLine struct{ from, to line }

// key returns the key of the row. A missing line has an empty key, so the greater of the two keys is the key of
// the row.
func (c *changedLine) key() string { return max(c.from.key, c.to.key) }

// delta returns the change with the row's values in both collections. If a collection lacks the row, the value
// is nil. fromValues reads a value of c.from that is stored apart, and toValues reads such a value of c.to.
func (c *changedLine) delta(fromValues, toValues *values) (Delta, error) {
	d := Delta{Key: c.key()}
	var err error
	if c.from.raw != nil {
		if d.From, err = fromValues.get(&c.from); err != nil {
			return Delta{}, err
		}
	}
	if c.to.raw != nil {
		if d.To, err = toValues.get(&c.to); err != nil {
			return Delta{}, err
		}
	}
	return d, nil
}

// changedLines returns the rows whose lines differ in a and b, sorted by key. A row that only one of the
// collections has is also returned, and its line for the other collection is zero.
func changedLines(a, b *Collection) ([]changedLine, error) {
	from, to, err := differing(a, b)
	if err != nil {
		return nil, err
	}
	var changes []changedLine
	for len(from) > 0 || len(to) > 0 {
		switch {
		case len(to) == 0 || len(from) > 0 && from[0].key < to[0].key:
			changes = append(changes, changedLine{from: from[0]})
			from = from[1:]
		case len(from) == 0 || to[0].key < from[0].key:
			changes = append(changes, changedLine{to: to[0]})
			to = to[1:]
		default:
			if !bytes.Equal(from[0].raw, to[0].raw) {
				changes = append(changes, changedLine{from[0], to[0]})
			}
			from, to = from[1:], to[1:]
		}
	}
	return changes, nil
}

// differing returns lines of a and lines of b that include every difference. Both are sorted by key. If a or b
// is empty, differing returns all lines of both. Otherwise it returns the lines on the pages that a and b do
// not share, so some lines may be equal.
func differing(a, b *Collection) (from, to []line, err error) {
	if a.rows == 0 || b.rows == 0 { // lines also checks the number of rows and the form
		if from, err = a.lines(); err == nil {
			to, err = b.lines()
		}
		return from, to, err
	}
	// If the numbers of pages differ, an unchanged row may be on another page in b. Its old page and its new
	// page both differ, so both lines are read, and they are equal.
	c := &comparison{a: a.directory(), b: b.directory()}
	if err := c.collect(position{max(c.a.depth, c.b.depth), 0}); err != nil {
		return nil, nil, err
	}
	if from, err = c.a.linesOf(c.pages); err == nil {
		to, err = c.b.linesOf(c.pages)
	}
	return from, to, err
}

// comparison finds the pages that two directories do not share.
type comparison struct {
	a, b  *directory
	pages []int
}

// collect adds to c.pages the numbers of the pages that differ, or that only one of the collections has. It
// looks at the page at p, or at all pages below the directory at p.
func (c *comparison) collect(p position) error {
	inA, inB := c.a.has(p), c.b.has(p)
	if inA && inB {
		a, err := c.a.id(p)
		if err != nil {
			return err
		}
		b, err := c.b.id(p)
		if err != nil || a == b {
			return err
		}
	}
	if p.level == 0 {
		c.pages = append(c.pages, p.index)
		return nil
	}
	for i := range fanOut {
		child := position{p.level - 1, p.index*fanOut + i}
		// Children have consecutive numbers, so no later child exists either.
		if !c.a.has(child) && !c.b.has(child) {
			break
		}
		if err := c.collect(child); err != nil {
			return err
		}
	}
	return nil
}

// linesOf returns the lines of the given pages, sorted by key. It skips a page that the collection does not have.
func (d *directory) linesOf(pages []int) ([]line, error) {
	var lines []line
	for _, index := range pages {
		if !d.has(position{0, index}) {
			continue
		}
		page, err := d.page(index)
		if err != nil {
			return nil, err
		}
		lines = append(lines, page...)
	}
	sortLines(lines)
	return lines, nil
}
