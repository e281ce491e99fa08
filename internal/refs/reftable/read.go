package reftable

import (
	"iter"

	"github.com/git-smithers/git-smithers/objstore"
)

// Record is the value of a ref.
type Record struct {
	Name   string      // any bytes, if another program wrote the table
	ID     objstore.ID // zero if the ref is symbolic
	Peeled objstore.ID // the object at which an annotated tag points; zero if the ref is no annotated tag or git did not note it
	Target string      // the name of the ref at which a symbolic ref points; otherwise empty
}

// Get returns the value of a ref. found is false if the ref does not exist.
func (v *View) Get(name string) (rec Record, found bool, err error) { return rec, false, nil }

// Each yields the refs whose names begin with prefix, in the order of their names. If after is not empty, it begins
// behind the name after. At the first error, it yields the error with an empty Record, and ends.
func (v *View) Each(prefix, after string) iter.Seq2[Record, error] { return nil }

// HasLog reports whether a table of the stack has a reflog entry of a ref whose name begins with prefix. An entry that a
// newer table deletes counts until git merges both tables.
func (v *View) HasLog(prefix string) (bool, error) { return false, nil }
