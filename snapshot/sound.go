package snapshot

import (
	"fmt"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// Sound remembers valid collections, so that verifying a new version of a collection reads only its changes.
// The zero Sound is empty. A Sound must be used by one goroutine at a time.
type Sound struct {
	met  map[soundTree]bool
	last map[string]*page.Collection // the last valid collection of each name
}

// soundTree identifies a valid collection by its name and tree. The name matters, because valid rows of nodes are
// not valid rows of approvals.
type soundTree struct {
	name string
	id   objstore.ID
}

// Verify reads and checks the collection c, and returns the first flaw as an error. If c is empty, or s has already
// verified c under this name, Verify reads nothing. Otherwise, Verify skips the parts that c shares with the last
// valid collection of the name. decode must return an error if a row is invalid.
func (s *Sound) Verify(name string, c *page.Collection, decode func(page.Row) error) error {
	return s.verify(name, c, decode, nil)
}

// verify checks the collection c as Verify does. After it has checked each row, verify calls together, unless together
// is nil. together checks all rows as a whole. The argument known of together is the last valid collection of the name,
// or an empty collection. If c is empty, or s has already verified c under this name, verify calls neither decode nor
// together.
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

// verifyRows reads and checks the parts of c that differ from known, a valid collection or nil, and returns the
// first flaw. decode checks a row, and together, which may be nil, checks the rows as a whole.
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
