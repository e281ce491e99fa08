package snapshot

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// place is the part of an entry that a collection belongs to.
type place int

const (
	// inState is the workflow state. The content hash covers the state, a travel restores the state, and only a
	// frame changes the state.
	inState place = iota
	// inMailbox is the mailbox: the requests and waits of nodes, and the received signals. The state's tree contains
	// the mailbox, and a travel restores the mailbox. The content hash does not cover the mailbox, and every entry
	// may change the mailbox.
	inMailbox
	// inJournal is the journal, the record of past work. A travel does not restore the journal, and rows of the
	// journal are never removed.
	inJournal
)

// collection describes one collection of rows. All code that reads, edits, verifies or hashes collections uses a
// registry of these descriptions.
type collection struct {
	name  string // in trees and in a Change
	place place
	// ownToRun means that the collection of a fork begins empty.
	ownToRun bool
	// free lists the members of the value that hold text from outside: what people, commands and engines say. Secrets are
	// taken out of them. Other members are ids, numbers and words of git-smithers.
	free []string
	// isText means that the whole value is a text from outside.
	isText bool
	// rekey returns the row with the key that follows from its value. It is nil if keys do not follow from values.
	rekey func(page.Row) (page.Row, error)
	// carry returns a copy of now with the unknown members of before: the members that this version does not know.
	// before is the stored row with the key of now, and now has no unknown members. carry is nil if rows must not have
	// unknown members. An unknown member in a stored row is then an error that wraps ErrNewerFormat.
	carry func(before, now page.Row) (page.Row, error)
	// encode returns the stored row of a key and a value that an engine wrote, or an error if the row is invalid.
	encode func(key string, value json.RawMessage) (page.Row, error)
	// decode returns an error if a stored row is invalid.
	decode func(page.Row) error
	// dump writes rows as a member of a whole state. member is the member's name. dump is nil for a collection of the
	// journal, because a whole state has no journal.
	dump func(d *dumper, member string, rows *page.Collection)
	// edited returns an error if changes must not turn before into after. It is nil if all changes are allowed.
	edited func(before, after *page.Collection, changes []page.Change) error
	// together returns an error if the rows of c are invalid together. Each of the rows must be valid by itself. known
	// is a valid version of the collection: together may skip the rows that c shares with known. together is nil if
	// rows that are valid by themselves are always valid together.
	together func(known, c *page.Collection) error
}

// rowsOf describes a collection with the given name, whose rows have the given kind. The parameter in is the place of
// the collection, and free lists the members with text from outside. rowsOf does not set ownToRun, edited and together.
func rowsOf[T any](name string, in place, kind *row.Kind[T], free ...string) *collection {
	return &collection{
		name: name, place: in, free: free, rekey: rekeyed(kind), carry: carryRows(kind),
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

// rekeyed returns the function collection.rekey for rows of a kind.
func rekeyed[T any](kind *row.Kind[T]) func(page.Row) (page.Row, error) {
	if kind.Key.Split != nil {
		return nil
	}
	return func(r page.Row) (page.Row, error) {
		v, err := kind.Parse("", r.Value)
		r.Key = kind.Key.Of(&v)
		return r, err
	}
}

// isFree reports whether a member of the value holds text from outside.
func (c *collection) isFree(member string) bool { return slices.Contains(c.free, member) }

// registry lists collections. Collections of one place are written in this order.
type registry []*collection

// registered lists every collection of an entry, besides the output tables and the input. Any other collection of the
// state is an error that wraps ErrNewerFormat, because a newer version wrote the collection. Other collections of the
// journal stay unread: see journal.
var registered = registry{
	rowsOf(CollectionNodes, inState, &nodeKind, "label"),
	rowsOf(CollectionLoops, inState, &loopKind),
	rowsOf(CollectionApprovals, inMailbox, &approvalKind, "title", "summary", "note", "decidedBy"),
	rowsOf(CollectionHumanRequests, inMailbox, &humanRequestKind, "prompt", "form", "response", "answeredBy"),
	signalRows(),
	rowsOf(CollectionWaits, inMailbox, &waitKind),
	rowsOf(CollectionAttempts, inJournal, &attemptKind, "error"),
	logRows(),
	rowsOf(CollectionToolCalls, inJournal, &toolCallKind, "input", "output", "error", "revertError", "forcedPast", "revert"),
	rowsOf(CollectionScores, inJournal, &scoreKind, "scorerName", "reason", "meta", "input", "output", "groundTruth", "context"),
	transcriptRows(),
	opRows(),
}

// named returns the description of the collection with the given name, or nil if the registry has no such collection.
func (known registry) named(name string) *collection {
	for _, c := range known {
		if c.name == name {
			return c
		}
	}
	return nil
}

// has reports whether the registry has the collection that c changes, and this collection belongs to the given place.
func (known registry) has(in place, c Change) bool {
	of := known.named(c.Collection)
	return of != nil && of.place == in
}

// empty returns all collections that belong to the given place, in the order of the registry and each without rows.
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

// rows is one collection of an entry: its description and its rows.
type rows struct {
	of *collection
	*page.Collection
}

// rowSet has all collections of one place, in the order of the registry.
type rowSet []rows

// at returns the collection with the name, or an empty collection if s has no such collection.
func (s rowSet) at(name string) *page.Collection {
	if i := s.index(name); i >= 0 {
		return s[i].Collection
	}
	return emptyCollection()
}

// index returns the index of the collection with the name, or -1 if s has no such collection.
func (s rowSet) index(name string) int {
	for i := range s {
		if s[i].of.name == name {
			return i
		}
	}
	return -1
}

// open opens the collection that has the name of the tree entry e, and puts it into s. If s has no collection with
// this name, known is false and s is unchanged.
func (s rowSet) open(r objstore.Reader, e objstore.TreeEntry) (known bool, err error) {
	i := s.index(e.Name)
	if i < 0 {
		return false, nil
	}
	s[i].Collection, err = openCollection(r, e)
	return true, err
}

// edit returns a copy of s with changes applied, and writes new objects to w. changes has the changes of each
// collection, by name. edit ignores a name that s does not have. If a change is invalid, the error wraps ErrInvalid.
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

// parts returns the tree entries of the collections that have rows.
func (s rowSet) parts() []objstore.TreeEntry {
	var entries []objstore.TreeEntry
	for _, c := range s {
		if e := c.Entry(c.of.name); !e.ID.IsZero() {
			entries = append(entries, e)
		}
	}
	return entries
}

// same reports whether s and other have the same rows. Both must be sets of the same place. same compares ids, so it
// reads no object.
func (s rowSet) same(other rowSet) bool {
	for i := range s {
		if s[i].ID() != other[i].ID() {
			return false
		}
	}
	return true
}

// all yields each collection with its name, in the order of the registry.
func (s rowSet) all() iter.Seq2[string, *page.Collection] {
	return func(yield func(string, *page.Collection) bool) {
		for _, c := range s {
			if !yield(c.of.name, c.Collection) {
				return
			}
		}
	}
}

// verify reads and checks the rows of all collections, and returns the first error. sound has the collections that were
// found valid before: verify skips the parts that a collection shares with such a collection. It adds each collection
// that it finds valid to sound.
func (s rowSet) verify(sound *Sound) error {
	for _, c := range s {
		if err := sound.verify(c.of.name, c.Collection, c.of.decode, c.of.together); err != nil {
			return err
		}
	}
	return nil
}
