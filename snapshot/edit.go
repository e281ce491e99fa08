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

// Edit returns the state with the changes applied, and writes new objects to w. w must be able to read everything
// that s reads. If several changes concern the same row, the last one wins. Removing a missing row changes
// nothing. The result reads through w.
//
// An invalid change (an unknown collection, an unknown field, a row that does not decode, a value beyond the
// default [Limits]) is an error that wraps ErrInvalid. The changes' values must not be modified afterwards.
func (s *State) Edit(w objstore.Writer, changes []Change) (*State, error) {
	return s.EditWithin(Limits{}, w, changes)
}

// EditWithin is Edit with other limits.
func (s *State) EditWithin(limits Limits, w objstore.Writer, changes []Change) (*State, error) {
	taken, err := intake{s.known, limits}.state(changes)
	if err != nil {
		return nil, err
	}
	return s.edit(w, taken)
}

// edit applies changes that intake has accepted.
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

// editCollection applies changes to a collection. Even without changes, the result reads through w, so that the
// state does not keep earlier writers in memory. An empty collection without changes is returned as it is.
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

// editTables applies changes to the output tables of base, and sets the result in s.
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

// inherit takes over base's hash of the input if the input is unchanged.
func (s *State) inherit(base *State) {
	if s.input != base.input {
		return
	}
	if sum, ok := base.inputSum.peek(); ok {
		s.inputSum.set(sum)
	}
}

// write writes the trees of the state to w, unless base has the same ones. It sets the state's id.
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

// writeTables writes the tree of the output tables and returns its id; zero if there are no tables.
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
