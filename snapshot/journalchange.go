package snapshot

import (
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// IsEngineJournal reports whether collection is in the journal, and engines add rows to it: "attempts", "logs" or
// "tool-calls". Only git-smithers adds rows to "ops".
func IsEngineJournal(collection string) bool {
	of := registered.named(collection)
	return of != nil && of.place == inJournal && !of.ownToRun
}

// EngineChange returns the stored form of c, a change of the journal as an engine has written it. If c removes a row,
// has no value, or belongs to another collection than those of IsEngineJournal, EngineChange returns c unchanged, and
// Append decides whether to accept c. limits bound the value.
//
// prev is the previous entry, or nil before a run's first entry. If prev has a row of the same key, the result keeps
// the members of prev's row that this version does not know. The error wraps ErrInvalid if the change cannot be
// stored. An unknown member in c is such an error, because the engine may have misspelled the name.
func EngineChange(limits Limits, prev *Entry, c Change) (Change, error) {
	if c.Op != OpSet || c.Value == nil || !IsEngineJournal(c.Collection) {
		return c, nil // Append refuses the change, or knows where it belongs
	}
	if err := limits.CheckValue(c.Value); err != nil {
		return Change{}, c.invalid(err)
	}
	of := registered.named(c.Collection)
	stored, err := of.encode(c.Key, c.Value)
	if err != nil {
		return Change{}, c.invalid(err)
	}
	if prev != nil && of.carry != nil {
		if stored, err = prev.carryInto(of, stored); err != nil {
			return Change{}, err
		}
	}
	return SetRow(c.Collection, stored), nil
}

// carryInto returns a copy of the row in now that also has the unknown members of e's row with the same key. If e has
// no row with this key, carryInto returns now. of is the row's collection in the journal; of.carry must not be nil.
func (e *Entry) carryInto(of *collection, now page.Row) (page.Row, error) {
	rows, err := e.journalRows(of.name)
	if err != nil {
		return page.Row{}, err
	}
	value, found, err := rows.Get(now.Key)
	if err != nil || !found {
		return now, err
	}
	return of.carry(page.Row{Key: now.Key, Value: value}, now)
}

// carryRows returns the function carry for a collection of rows of one kind. carry returns the row in now with the
// members of the row in before that this version does not know. carryRows returns nil if rows of the kind cannot have
// such members.
func carryRows[T any](kind *row.Kind[T]) func(before, now page.Row) (page.Row, error) {
	if kind.Carried == nil {
		return nil
	}
	return func(before, now page.Row) (page.Row, error) {
		was, err := kind.Decode(before)
		if err != nil || len(*kind.Carried(&was)) == 0 {
			return now, err
		}
		v, err := kind.Decode(now)
		if err != nil {
			return page.Row{}, err
		}
		*kind.Carried(&v) = *kind.Carried(&was)
		return kind.Encode(v), nil
	}
}
