package page

import (
	"crypto/sha256"

	"github.com/git-smithers/git-smithers/objstore"
)

// Verify recomputes every page, sum and value. Its error is the first flaw, a
// [*objstore.CorruptError], or the error of a read. If it returns nil, Edit writes the same
// collection for the same rows.
func (c *Collection) Verify() error {
	if c.rows == 0 {
		return nil
	}
	d := c.directory()
	if err := d.verify(position{d.depth, 0}); err != nil {
		return err
	}
	lines, err := c.lines()
	if err != nil {
		return err
	}
	values := c.values()
	apart := 0
	for i := range lines {
		if !lines[i].apart {
			continue
		}
		if _, err := values.get(&lines[i]); err != nil {
			return err
		}
		apart++
	}
	return values.verifyAll(apart)
}

// verify recomputes the sums below a directory. A page has none.
func (d *directory) verify(p position) error {
	if p.level == 0 {
		return nil
	}
	sums, err := d.sums(p)
	if err != nil {
		return err
	}
	for i, want := range sums {
		child := position{p.level - 1, p.index*fanOut + i}
		got, err := d.sumOf(child)
		if err != nil {
			return err
		}
		if got != want {
			return corrupt(d.nodes[p].sumsID, "sums: wrong for child %c", digits[i])
		}
		if err := d.verify(child); err != nil {
			return err
		}
	}
	return nil
}

// sumOf computes the sum of a page or a directory.
func (d *directory) sumOf(p position) (Sum, error) {
	if p.level == 0 {
		_, data, err := d.raw(p.index)
		return sha256.Sum256(data), err
	}
	sums, err := d.sums(p)
	return sumOfSums(sums), err
}

// verifyAll checks that there is exactly one value for each row whose value is stored apart.
func (v *values) verifyAll(count int) error {
	if err := v.load(); err != nil {
		return err
	}
	stored := 0
	for folder := range v.folders {
		entries, err := v.list(folder)
		if err != nil {
			return err
		}
		stored += len(entries)
	}
	if stored != count {
		return &objstore.CorruptError{ID: v.root, Reason: "values: some that no row refers to"}
	}
	return nil
}
