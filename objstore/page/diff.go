package page

import (
	"bytes"
	"iter"
)

// Delta is one difference between two collections. From is nil for an added row, To for a removed
// one. The bytes are shared and must not be changed.
type Delta struct {
	Key      string
	From, To []byte
}

// Diff yields the rows that differ from a to b, in the order of the bytes of keys. If both collections have the same
// id, it reads nothing. If one of them is empty, it reads all pages of the other. Otherwise it reads the pages that
// differ and the directories above them. Values that are stored apart are compared by their size and id, and are read
// when they are yielded. After the first error Diff ends; the delta that comes with the error is zero.
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

// changedLine is a row that differs. If one side lacks the row, its line is zero.
type changedLine struct{ from, to line }

// key returns the key of the row. A side without the row has an empty key, so the greater key counts.
func (c *changedLine) key() string { return max(c.from.key, c.to.key) }

// delta returns the change with the row's values on both sides. A side without the row has a nil value.
// fromValues and toValues read the values that are stored apart: fromValues for the side c.from, and toValues
// for the side c.to.
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

// differing returns lines of a and lines of b, sorted by key, that include every difference. If a or b is
// empty, these are all lines. Otherwise they are the lines on the pages that a and b do not share, so some
// lines may be equal.
func differing(a, b *Collection) (from, to []line, err error) {
	if a.rows == 0 || b.rows == 0 { // lines also checks the number of rows and the form
		if from, err = a.lines(); err == nil {
			to, err = b.lines()
		}
		return from, to, err
	}
	// If the number of pages differs, a row may only have moved to another page. It is missing on
	// its old page and new on the other, so both pages differ, both lines are read, and they are
	// equal.
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

// collect adds to c.pages the numbers of the pages that differ, or that only one side has. It looks at the page
// or the directory at p and at all pages below it.
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
