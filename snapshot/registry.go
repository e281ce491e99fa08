package snapshot

import (
	"encoding/json"
	"iter"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// place is the part of an entry that a collection belongs to.
type place int

const (
	// inState is the workflow state. It is in the content hash, goes back with a travel, and
	// changes in frames only.
	inState place = iota
	// inMailbox is what nodes wait for and what has arrived. It is stored in the state's tree and
	// goes back with a travel. It is not in the content hash, and every entry may change it.
	inMailbox
	// inJournal is the record of past work. It does not go back, and its rows are never removed.
	inJournal
)

// collection describes one collection of rows. All code that reads, edits, verifies or hashes collections uses a
// registry of these descriptions.
type collection struct {
	name  string // in trees and in a Change
	place place
	// ownToRun means that the collection of a fork begins empty.
	ownToRun bool
	// encode returns the stored row of a value that an engine wrote.
	encode func(key string, value json.RawMessage) (page.Row, error)
	// decode checks a stored row.
	decode func(page.Row) error
	// dump writes the rows as a member of a whole state. Nil for the journal, which is not in one.
	dump func(d *dumper, member string, rows *page.Collection)
	// edited checks what changes make of the collection. Nil for no check.
	edited func(before, after *page.Collection, changes []page.Change) error
	// together checks a collection against a sound one. Nil for no check.
	together func(known, c *page.Collection) error
}

// rowsOf declares a collection of rows of one kind.
func rowsOf[T any](name string, in place, kind *row.Kind[T]) *collection {
	return &collection{
		name: name, place: in,
		encode: func(key string, value json.RawMessage) (page.Row, error) {
			v, err := kind.Parse(key, value)
			if err != nil {
				return page.Row{}, err
			}
			return kind.Encode(v), nil
		},
		decode: func(r page.Row) error {
			_, err := kind.Decode(r)
			return err
		},
		dump: func(d *dumper, member string, rows *page.Collection) { dumpRows(d, member, rows, kind) },
	}
}

// registry lists collections. Collections of one place are written in this order.
type registry []*collection

// registered lists every collection of an entry, besides the output tables and the input. An entry with any other
// collection is refused, because a newer version wrote it.
var registered = registry{
	rowsOf(CollectionNodes, inState, &nodeKind),
	rowsOf(CollectionLoops, inState, &loopKind),
	rowsOf(CollectionApprovals, inMailbox, &approvalKind),
	rowsOf(CollectionHumanRequests, inMailbox, &humanRequestKind),
	signalRows(),
	rowsOf(CollectionWaits, inMailbox, &waitKind),
	rowsOf(CollectionAttempts, inJournal, &attemptKind),
	logRows(),
	opRows(),
}

// named returns the collection with a name, or nil.
func (known registry) named(name string) *collection {
	for _, c := range known {
		if c.name == name {
			return c
		}
	}
	return nil
}

// has reports whether a change concerns a collection in a place.
func (known registry) has(in place, c Change) bool {
	of := known.named(c.Collection)
	return of != nil && of.place == in
}

// empty returns the collections of a place without rows.
func (known registry) empty(in place) rowSet {
	s := make(rowSet, 0, len(known))
	none := emptyCollection()
	for _, c := range known {
		if c.place == in {
			s = append(s, rows{c, none})
		}
	}
	return s
}

// rows is one collection with its rows.
type rows struct {
	of *collection
	*page.Collection
}

// rowSet is the collections of one place.
type rowSet []rows

// at returns the collection with a name, or an empty collection.
func (s rowSet) at(name string) *page.Collection {
	if i := s.index(name); i >= 0 {
		return s[i].Collection
	}
	return emptyCollection()
}

func (s rowSet) index(name string) int {
	for i := range s {
		if s[i].of.name == name {
			return i
		}
	}
	return -1
}

// open opens the collection for an entry of a tree. known is false if the set has no collection of that name.
func (s rowSet) open(r objstore.Reader, tree objstore.ID, e objstore.TreeEntry) (known bool, err error) {
	i := s.index(e.Name)
	if i < 0 {
		return false, nil
	}
	s[i].Collection, err = openCollection(r, tree, e)
	return true, err
}

// edit applies changes, given by the names of their collections.
func (s rowSet) edit(w objstore.Writer, changes map[string][]page.Change) (rowSet, error) {
	next := make(rowSet, len(s))
	for i, c := range s {
		after, err := editCollection(c.Collection, w, c.of.name, changes[c.of.name])
		if err == nil && c.of.edited != nil {
			err = c.of.edited(c.Collection, after, changes[c.of.name])
		}
		if err != nil {
			return nil, err
		}
		next[i] = rows{c.of, after}
	}
	return next, nil
}

// entries returns the entries of the collections that have rows.
func (s rowSet) entries() []objstore.TreeEntry {
	var entries []objstore.TreeEntry
	for _, c := range s {
		if e := c.Entry(c.of.name); !e.ID.IsZero() {
			entries = append(entries, e)
		}
	}
	return entries
}

// same reports whether two sets have the same rows. It reads nothing.
func (s rowSet) same(other rowSet) bool {
	for i := range s {
		if s[i].ID() != other[i].ID() {
			return false
		}
	}
	return true
}

// all yields the collections with their names.
func (s rowSet) all() iter.Seq2[string, *page.Collection] {
	return func(yield func(string, *page.Collection) bool) {
		for _, c := range s {
			if !yield(c.of.name, c.Collection) {
				return
			}
		}
	}
}

// verify reads and checks the rows that sound does not know as valid.
func (s rowSet) verify(sound *Sound) error {
	for _, c := range s {
		if err := sound.verify(c.of.name, c.Collection, c.of.decode, c.of.together); err != nil {
			return err
		}
	}
	return nil
}
