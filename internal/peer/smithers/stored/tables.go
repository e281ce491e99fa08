package stored

import (
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// TableRows returns the rows of a run that ext/smithers keeps of a table at e, sorted by key. The error is
// objstore.ErrCorrupt if the rows are damaged.
func TableRows(e *snapshot.Entry, table string) ([]dbrow.KeptRow, error) {
	rows, err := extRows(e, tablePath(table))
	if err != nil {
		return nil, err
	}
	kept := make([]dbrow.KeptRow, 0, len(rows))
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		kept = append(kept, dbrow.KeptRow{Key: key, Value: rows[key]})
	}
	return kept, nil
}

// TableChanges returns the changes that turn the rows of tables that ext/smithers keeps at e into rows, by the name of
// the collection. rows has the rows by the table's name. A table that rows lacks loses its rows. e is nil before a
// run's first entry.
func TableChanges(e *snapshot.Entry, rows map[string][]dbrow.KeptRow) (map[string][]page.Change, error) {
	want := make(map[string]map[string]string)
	for table, kept := range rows {
		values := make(map[string]string, len(kept))
		for _, row := range kept {
			values[row.Key] = row.Value
		}
		want[tablePath(table)] = values
	}
	had, err := tablesAt(e)
	if err != nil {
		return nil, err
	}
	changes := make(map[string][]page.Change)
	for _, names := range []map[string]map[string]string{had, want} {
		for name := range names {
			if of := rowChanges(had[name], want[name]); len(of) > 0 {
				changes[name] = of
			}
		}
	}
	return changes, nil
}

// tablesAt returns the rows of all tables that ext/smithers keeps at e, by the name of the collection and by key.
func tablesAt(e *snapshot.Entry) (map[string]map[string]string, error) {
	all := make(map[string]map[string]string)
	if e == nil {
		return all, nil
	}
	names, err := e.ExtNames(Engine, extTables)
	for _, name := range names {
		path := extTables + "/" + name
		if all[path], err = extRows(e, path); err != nil {
			return nil, err
		}
	}
	return all, err
}

// SnapshotRow returns the kept row of the snapshot of a frame at e, or nil if no import has described the frame.
func SnapshotRow(e *snapshot.Entry, frame int64) ([]byte, error) {
	rows, err := e.ExtRows(Engine, extSnapshots)
	if err != nil {
		return nil, err
	}
	row, _, err := rows.Get(frameKey(frame))
	return row, err
}

// AddSnapshots adds to changes the rows of snapshots, by git-smithers' number of the frame.
func AddSnapshots(changes map[string][]page.Change, rows map[int64][]byte) {
	for frame, row := range rows {
		changes[extSnapshots] = append(changes[extSnapshots], page.Change{Key: frameKey(frame), Value: row})
	}
	slices.SortFunc(changes[extSnapshots], func(a, b page.Change) int { return strings.Compare(a.Key, b.Key) })
}

// DropSnapshots adds to changes the removal of all rows of snapshots that e has: they are of the frames of a fork's
// parent.
func DropSnapshots(changes map[string][]page.Change, e *snapshot.Entry) error {
	if e == nil {
		return nil
	}
	had, err := extRows(e, extSnapshots)
	if of := rowChanges(had, nil); len(of) > 0 {
		changes[extSnapshots] = of
	}
	return err
}

// tablePath returns the name of the table's collection in ext/smithers. It escapes percent signs and slashes in the
// table's name.
func tablePath(table string) string {
	return extTables + "/" + strings.NewReplacer("%", "%25", "/", "%2f").Replace(table)
}
