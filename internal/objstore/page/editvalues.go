package page

import (
	"bytes"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
)

// noteValues records in e.gained that a change gives its row a new value that is stored apart, or in e.lost
// that the change takes such a value from the row without giving a new one. old is the row's line in the base,
// or zero if the base has no such row. noteValues records nothing if the line stays the same, or if neither
// value is stored apart.
func (e *edit) noteValues(old line, change *pendingChange) {
	if bytes.Equal(old.raw, change.raw) {
		return
	}
	if change.apart {
		if e.gained == nil {
			e.gained = make(map[string]gainedValue)
		}
		e.gained[change.key] = gainedValue{change.pieces, old.apart}
		return
	}
	if old.apart {
		if e.lost == nil {
			e.lost = make(map[string]struct{})
		}
		e.lost[change.key] = struct{}{}
	}
}

// writeValues writes the values that rows gained, and a new tree of values. The new tree has the gained values
// and lacks the lost values. writeValues returns the id of the tree, or the zero ID if no value is stored
// apart. If no row gained or lost a value, it writes nothing and returns the id of the base's tree.
func (e *edit) writeValues() (objstore.ID, error) {
	if len(e.lost) == 0 && len(e.gained) == 0 {
		return e.base.valuesID, nil
	}
	values := e.base.values()
	set := make(map[string]objstore.TreeEntry, len(e.gained))
	for _, key := range slices.Sorted(maps.Keys(e.gained)) {
		entry, err := e.addOver(values, key, e.gained[key])
		if err != nil {
			return objstore.ID{}, err
		}
		set[key] = entry
	}
	return values.edit(e.w, e.lost, set)
}

// addOver writes the objects of g, the new value of the row with the given key. If the old value of the row is
// also stored apart, addOver skips the objects that the old value has, too. It returns the tree entry of the
// new value. The entry has no name.
func (e *edit) addOver(values *values, key string, g gainedValue) (objstore.TreeEntry, error) {
	known := make(objects)
	if g.replaces {
		old, found, err := values.find(key)
		if err != nil {
			return objstore.TreeEntry{}, err
		}
		if found {
			if err := known.reach(e.base.r, old, 0); err != nil {
				return objstore.TreeEntry{}, err
			}
		}
	}
	known.add(e.w, g.pieces)
	root := rootOf(g.pieces)
	return root.entry(""), nil
}
