package snapshot

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// Edit returns a copy of s with the changes applied. It writes new objects to w, and the result reads through w, so w
// must be able to read everything that s reads. If several changes concern the same row, the last change wins. A
// change that removes a missing row has no effect. The values of the changes must not be modified afterwards.
//
// If a change is invalid, the error wraps ErrInvalid: its collection or a field is unknown, its row does not decode,
// or its value exceeds the default [Limits].
func (s *State) Edit(w objstore.Writer, changes []Change) (*State, error) {
	return s.EditWithin(Limits{}, w, changes)
}

// EditWithin returns an edited copy of s as Edit does, with the given limits instead of the default limits.
func (s *State) EditWithin(limits Limits, w objstore.Writer, changes []Change) (*State, error) {
	taken, err := intake{known: s.known, limits: limits}.state(changes)
	if err != nil {
		return nil, err
	}
	return s.edit(w, taken)
}

// edit returns a copy of s with changes applied: see Edit. changes have the form into which intake converts the
// changes of a draft.
func (s *State) edit(w objstore.Writer, changes stateChanges) (next *State, err error) {
	next = &State{r: w, known: s.known, input: s.input}
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
	return next, nil
}

// editInput sets the input of the new state s to the value of row, or removes the input if row has no value.
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
	return nil
}

// editCollection returns c with changes applied. name is the name of the collection, for errors. The result reads
// through w even if there are no changes, so that the state does not keep earlier writers in memory. But if c is
// empty and there are no changes, the result is c itself. If a change is invalid, the error wraps ErrInvalid.
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

// editTables sets s.tables to the output tables of base with changes applied. changes has the changes of each table,
// by the name of the table. editTables leaves out a table that has no rows afterwards.
func (s *State) editTables(base *State, w objstore.Writer, changes map[string][]page.Change) error {
	// edit adds t with its changes to s.tables.
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
