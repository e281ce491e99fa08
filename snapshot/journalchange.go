package snapshot

import (
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// IsEngineJournal reports whether collection is a collection of the journal to which engines add rows: "attempts",
// "logs", "tool-calls", "scores" or "transcript". Only git-smithers adds rows to "ops".
func IsEngineJournal(collection string) bool {
	of := registered.named(collection)
	return of != nil && of.place == inJournal && !of.ownToRun
}

// EngineChange returns c, a change of the journal that an engine has written, in the form in which the journal stores
// it. limits bound the value. prev is the previous entry, or nil before a run's first entry. If prev has a row with
// the same key, the result keeps the members of this row that this version does not know.
//
// If c cannot be stored, the error wraps ErrInvalid. An unknown member in c is such an error, because the engine may
// have misspelled the name. EngineChange returns c unchanged if c removes a row, has no value, or belongs to a
// collection for which IsEngineJournal returns false. Append then accepts or refuses c.
func EngineChange(limits Limits, prev *Entry, c Change) (Change, error) {
	if c.Op != OpSet || c.Value == nil || !IsEngineJournal(c.Collection) {
		return c, nil // Append checks the change
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

// carryInto returns a copy of the row now with the unknown members of e's row with the same key: the members that this
// version does not know. If e has no such row, carryInto returns now unchanged. of describes the row's collection in
// the journal. of.carry must not be nil.
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

// carryRows returns the function carry for a collection whose rows have the given kind; see collection. If rows of this
// kind must not have members that this version does not know, carryRows returns nil.
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
