package stored

import (
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ReadPeer returns the content of ext/smithers at e without the rows of tables. It returns an empty Peer, with the zero Pass, if e is nil or has
// no ext/smithers. The error is objstore.ErrCorrupt if the content is invalid.
func ReadPeer(e *snapshot.Entry) (*Peer, error) {
	c, err := readExt(e)
	if err != nil {
		return nil, err
	}
	return c.decode()
}

// readExt returns the encoded content of ext/smithers at e without the rows of tables. The content is empty if e is nil or has no
// ext/smithers.
func readExt(e *snapshot.Entry) (extContent, error) {
	c := extContent{files: map[string]string{}, rows: map[string]map[string]string{}}
	if e == nil {
		return c, nil
	}
	for _, name := range []string{extOutputs, ExtSchema, extPass} {
		data, err := e.ExtFile(Engine, name)
		if err != nil {
			return c, err
		}
		if data != nil {
			c.files[name] = string(data)
		}
	}
	// Each part of the mailbox with answers has its own collection.
	collections := []string{extFrames, extMarks}
	for _, collection := range mailCollections {
		collections = append(collections, extAnswers+"/"+collection)
	}
	for _, name := range collections {
		values, err := extRows(e, name)
		if err != nil {
			return c, err
		}
		c.rows[name] = values
	}
	return c, nil
}

// extRows returns the values of a collection in ext/smithers at e, by key.
func extRows(e *snapshot.Entry, name string) (map[string]string, error) {
	rows, err := e.ExtRows(Engine, name)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, rows.Len())
	for row, err := range rows.Rows() {
		if err != nil {
			return nil, err
		}
		values[row.Key] = string(row.Value)
	}
	return values, nil
}

// Changes returns the draft that changes ext/smithers from before to after, and changes the rows of tables: see
// TableChanges. It returns nil if nothing changes.
func Changes(before, after *Peer, tables map[string][]page.Change) (*snapshot.ExtDraft, error) {
	had, err := before.encode()
	if err != nil {
		return nil, err
	}
	has, err := after.encode()
	if err != nil {
		return nil, err
	}
	draft := &snapshot.ExtDraft{Engine: Engine, Files: map[string][]byte{}, Rows: map[string][]page.Change{}}
	maps.Copy(draft.Rows, tables)
	// A file with the value nil is removed.
	for name := range had.files {
		if _, ok := has.files[name]; !ok {
			draft.Files[name] = nil
		}
	}
	for name, data := range has.files {
		if old, ok := had.files[name]; !ok || old != data {
			draft.Files[name] = []byte(data)
		}
	}
	names := maps.Clone(had.rows)
	maps.Copy(names, has.rows)
	for name := range names {
		if changes := rowChanges(had.rows[name], has.rows[name]); len(changes) > 0 {
			draft.Rows[name] = changes
		}
	}
	if len(draft.Files)+len(draft.Rows) == 0 {
		return nil, nil
	}
	return draft, nil
}

// rowChanges returns the changes that turn the collection before into the collection after, sorted by key. Both
// maps have the value of each row by the row's key. A change without a value removes the row.
func rowChanges(before, after map[string]string) []page.Change {
	var changes []page.Change
	keys := maps.Clone(before)
	// Clone returns nil for a nil map.
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		old, was := before[key]
		value, is := after[key]
		switch {
		case !is:
			changes = append(changes, page.Change{Key: key})
		case !was || old != value:
			changes = append(changes, page.Change{Key: key, Value: []byte(value)})
		}
	}
	return changes
}
