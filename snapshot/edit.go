package snapshot

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// Edit returns the state with changes made, writing what is new to w, which must
// be able to read what s reads. Of several changes to one thing the last one
// counts; removing what is not there is no change. The result reads through w.
//
// A change that is not valid (an unknown collection, a row that does not decode,
// an unknown field, something beyond the default [Limits]) fails with an error
// wrapping ErrInvalid. Values must not be changed afterwards.
func (s *State) Edit(w objstore.Writer, changes []Change) (*State, error) {
	return s.EditWithin(Limits{}, w, changes)
}

// EditWithin is Edit with limits of the caller's choice.
func (s *State) EditWithin(limits Limits, w objstore.Writer, changes []Change) (*State, error) {
	taken, err := intake{s.known, limits}.state(changes)
	if err != nil {
		return nil, err
	}
	return s.edit(w, taken)
}

// edit makes changes that were taken in.
func (s *State) edit(w objstore.Writer, changes stateChanges) (next *State, err error) {
	next = &State{r: w, id: s.id, known: s.known, input: s.input}
	if changes.input != nil {
		if err := next.editInput(w, *changes.input); err != nil {
			return nil, err
		}
	}
	if next.core, err = s.core.edit(w, changes.rows); err != nil {
		return nil, err
	}
	if err := next.editTables(s, w, changes.outputs); err != nil {
		return nil, err
	}
	if next.mail, err = s.mail.edit(w, changes.rows); err != nil {
		return nil, err
	}
	next.inherit(s)
	next.write(w, s)
	return next, nil
}

// editInput sets or removes the input.
func (s *State) editInput(w objstore.Writer, row page.Change) error {
	if row.Value == nil {
		s.input = objstore.TreeEntry{}
		return nil
	}
	input, err := page.ReplaceValue(w, inputName, row.Value, s.input)
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	s.input = input
	s.inputSum.set(sha256.Sum256(row.Value))
	return nil
}

// editCollection makes changes in a collection. Without any it only makes the
// collection read through w, so that the state does not hold on to earlier writers;
// an empty one reads nothing.
func editCollection(c *page.Collection, w objstore.Writer, name string, changes []page.Change) (*page.Collection, error) {
	if len(changes) == 0 && c.Len() == 0 {
		return c, nil
	}
	next, err := c.Edit(w, changes)
	switch {
	case errors.Is(err, page.ErrInvalid):
		return nil, fmt.Errorf("%s: %w: %w", name, ErrInvalid, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return next, nil
}

// editTables makes changes in the output tables of base.
func (s *State) editTables(base *State, w objstore.Writer, changes map[string][]page.Change) error {
	edit := func(t table) error {
		rows, err := editCollection(t.rows, w, outputsPrefix+t.name, changes[t.name])
		if err != nil {
			return err
		}
		if rows.Len() > 0 {
			s.tables = append(s.tables, table{t.name, t.escaped, rows})
		}
		return nil
	}
	s.tables = make([]table, 0, len(base.tables)+len(changes))
	for _, t := range base.tables {
		if err := edit(t); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if base.findTable(name) != nil {
			continue
		}
		if err := edit(table{name, escape(name, plainTable), emptyCollection()}); err != nil {
			return err
		}
	}
	slices.SortFunc(s.tables, compareTables)
	return nil
}

// inherit keeps what base knows of an input that has not changed.
func (s *State) inherit(base *State) {
	if s.input != base.input {
		return
	}
	if sum, ok := base.inputSum.peek(); ok {
		s.inputSum.set(sum)
	}
}

// write adds the state's own trees to w, those that base does not have.
func (s *State) write(w objstore.Writer, base *State) {
	if SameCore(s, base) {
		if sum, ok := base.hash.peek(); ok {
			s.hash.set(sum)
		}
		if s.mail.same(base.mail) {
			return
		}
	}
	entries := slices.Concat(s.core.entries(), s.mail.entries())
	for _, e := range []objstore.TreeEntry{s.input, {Name: outputsName, Mode: objstore.ModeTree, ID: s.writeTables(w)}} {
		if !e.ID.IsZero() {
			entries = append(entries, e)
		}
	}
	s.id = objstore.ID{}
	if len(entries) > 0 {
		s.id = w.Add(objstore.Tree, objstore.EncodeTree(entries))
	}
}

func (s *State) writeTables(w objstore.Writer) objstore.ID {
	if len(s.tables) == 0 {
		return objstore.ID{}
	}
	entries := make([]objstore.TreeEntry, 0, len(s.tables))
	for _, t := range s.tables {
		entries = append(entries, t.rows.Entry(t.escaped))
	}
	return w.Add(objstore.Tree, objstore.EncodeTree(entries))
}
