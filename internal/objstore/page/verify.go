package page

import (
	"github.com/git-smithers/git-smithers/objstore"
)

// Verify decodes every page and value. It returns an error for the first damage, a [*objstore.CorruptError], or
// the error of a read. If Verify returns nil, Edit writes the same objects for the same rows.
func (c *Collection) Verify() error {
	if c.rows == 0 {
		return nil
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

// verifyAll checks that the tree of values has exactly count values. The caller has found a value for each of
// count rows, so if the tree has more values, some belong to no row. The error is then a
// [*objstore.CorruptError].
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
