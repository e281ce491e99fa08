package reftable

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"

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
func (v *View) Get(name string) (rec Record, found bool, err error) {
	for _, t := range slices.Backward(v.tables) {
		w := t.walk(t.refs)
		found := w.seek(name) && string(w.key) == name
		if w.err != nil || found && w.value == valueDeleted {
			return Record{}, false, w.err
		}
		if found {
			w.entry.Name = name
			return w.entry.Record, true, nil
		}
	}
	return Record{}, false, nil
}

// Each yields the refs whose names begin with prefix, in the order of their names. If after is not empty, it begins
// behind the name after. At the first error, it yields the error with an empty Record, and ends.
func (v *View) Each(prefix, after string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		from := prefix
		if after >= prefix && after != "" {
			from = after + "\x00" // the least name behind after
		}
		for e, err := range merge(v.tables, from) {
			if err == nil && !strings.HasPrefix(e.Name, prefix) {
				return
			}
			if (e.value != valueDeleted || err != nil) && !yield(e.Record, err) {
				return
			}
		}
	}
}

// HasLog reports whether a table of the stack has a reflog entry of a ref whose name begins with prefix. An entry that a
// newer table deletes counts until git merges both tables.
func (v *View) HasLog(prefix string) (bool, error) {
	for _, t := range v.tables {
		if has, err := t.hasLog(prefix); has || err != nil {
			return has, err
		}
	}
	return false, nil
}

// hasLog is HasLog for one table.
func (t *table) hasLog(prefix string) (bool, error) {
	if has, known := t.logged.Load(prefix); known {
		return has == true, nil
	}
	w := t.walk(t.logs)
	more := w.seek(prefix)
	for more && w.value == 0 { // a deleted entry
		more = w.next()
	}
	has := more && strings.HasPrefix(string(w.key), prefix)
	if w.err == nil {
		t.logged.Store(prefix, has)
	}
	return has, w.err
}

// merge yields the refs of tables whose names are not less than from, in the order of their names. If tables have the
// same ref, merge yields the entry of the newest table, which is the last one. At the first error, it yields the error
// with an empty entry, and ends.
func merge(tables []*table, from string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		var walks []*walk // from the newest table to the oldest, without those that have ended
		var err error
		for _, t := range slices.Backward(tables) {
			w := t.walk(t.refs)
			if w.seek(from) {
				walks = append(walks, w)
			}
			err = cmp.Or(err, w.err)
		}
		for err == nil && len(walks) > 0 {
			least := slices.MinFunc(walks, func(a, b *walk) int { return bytes.Compare(a.key, b.key) }) // the newest one
			name := string(least.key)
			least.entry.Name = name
			if !yield(least.entry, nil) {
				return
			}
			walks = slices.DeleteFunc(walks, func(w *walk) bool {
				ended := string(w.key) == name && !w.next()
				err = cmp.Or(err, w.err)
				return ended
			})
		}
		if err != nil {
			yield(entry{}, err)
		}
	}
}
