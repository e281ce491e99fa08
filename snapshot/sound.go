package snapshot

import (
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// Sound remembers which collections were found sound, so that the versions of a collection are verified by what
// changes from one to the next. The zero Sound remembers none. For one goroutine at a time.
type Sound struct {
	met  map[soundTree]bool
	last map[string]*page.Collection // by name: of those that were met last
}

// soundTree is a tree as what it was found sound: rows that are sound as nodes are not so as approvals.
type soundTree struct {
	name string
	id   objstore.ID
}

// Verify reads what a collection does not share with sound ones of its name, and returns the first thing that is wrong
// with it. Rows are checked with decode.
func (s *Sound) Verify(name string, c *page.Collection, decode func(page.Row) error) error {
	return s.verify(name, c, decode, nil)
}

// verify is Verify, and checks what rows must be together besides, by a sound collection, which may be empty.
func (s *Sound) verify(name string, c *page.Collection, decode func(page.Row) error, together func(known, c *page.Collection) error) error {
	if c.Len() == 0 {
		return nil
	}
	if s.met == nil {
		s.met, s.last = make(map[soundTree]bool), make(map[string]*page.Collection)
	}
	tree := soundTree{name, c.ID()}
	if !s.met[tree] {
		if err := verifyRows(s.last[name], c, decode, together); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	s.met[tree], s.last[name] = true, c
	return nil
}

func verifyRows(known, c *page.Collection, decode func(page.Row) error, together func(known, c *page.Collection) error) error {
	if err := c.VerifySince(known); err != nil {
		return err
	}
	if known == nil {
		known = emptyCollection()
	}
	for delta, err := range page.Diff(known, c) {
		if err == nil && delta.To != nil {
			err = decode(page.Row{Key: delta.Key, Value: delta.To})
		}
		if err != nil {
			return err
		}
	}
	if together == nil {
		return nil
	}
	return together(known, c)
}
