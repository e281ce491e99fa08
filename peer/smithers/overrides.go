package smithers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/smithersdb"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// override is one row of ext/smithers/tables/<table>: its key is the primary key without run_id, as
// a JSON array; its value is null for a predicted row that is not there, or an object with the
// columns whose values are not as predicted: numbers and null as they are, text as a string,
// {"real":"…"}, {"blob":"<base64>"}, {"bytes":"<base64>"} for text that is not UTF-8,
// {"root":["…","…"]} for text that holds the root's path between these parts, and
// {"edit":[head,tail,"…"]} for the predicted text with something else between its first head and
// last tail bytes. A row that is not predicted has the columns that are not NULL, less those of the key.
//
// The key of a row of a table without a primary key is its place among the run's, in an array; those of
// rows with the same key, which NULL allows, have {"place":n} at their end from the second on.
type override struct {
	Key   string
	Value string
}

// overridesOf is what leads from predicted to actual rows of one run: the whole row where
// none is predicted. Sorted by key. Columns of processes (owners, heartbeats, pids) are never in it.
func overridesOf(table smithersdb.Table, predicted, actual []smithersdb.Row, at root) ([]override, error) {
	if err := checkColumns(table); err != nil {
		return nil, err
	}
	missing := make(map[string]smithersdb.Row, len(predicted))
	for _, p := range keyRows(table, predicted) {
		missing[p.key] = p.row
	}
	var all []override
	for _, a := range keyRows(table, actual) {
		before, known := missing[a.key]
		delete(missing, a.key)
		value, err := differences(table, a, before, known, at)
		if err != nil {
			return nil, err
		}
		if !known || value != "{}" {
			all = append(all, override{a.key, value})
		}
	}
	for key := range missing {
		all = append(all, override{key, "null"})
	}
	slices.SortFunc(all, func(a, b override) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// checkColumns refuses a table whose columns cannot be named in JSON.
func checkColumns(table smithersdb.Table) error {
	for _, c := range table.Columns {
		if !utf8.ValidString(c.Name) {
			return fmt.Errorf("%w: table %q: the name of column %q is not UTF-8", smithersdb.ErrDamaged, table.Name, c.Name)
		}
	}
	return nil
}

// differences are the columns of a row that are not as predicted, as an object.
func differences(table smithersdb.Table, actual keyedRow, predicted smithersdb.Row, known bool, at root) (string, error) {
	var spelled smithersdb.Row
	if !known {
		var err error
		if spelled, _, err = readKey(table, actual.key); err != nil {
			return "", err
		}
		predicted = spelled
	}
	b := []byte{'{'}
	for _, c := range table.Columns {
		v, before := actual.row[c.Name], at.placed(table.Name, c.Name, predicted[c.Name])
		if isRunColumn(c.Name) || processColumn(table.Name, c.Name) || sameValue(v, before) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(page.AppendString(b, c.Name), ':')
		b = appendDifference(b, table.Name, c.Name, before, v, at)
	}
	return string(append(b, '}')), nil
}

func appendDifference(b []byte, table, column string, before, v smithersdb.Value, at root) []byte {
	paths, isJSON := pathColumn(table, column)
	var ok bool
	if paths {
		b, ok = at.appendRooted(b, v, isJSON)
	} else {
		b, ok = appendEdit(b, before, v)
	}
	if ok {
		return b
	}
	return appendValue(b, v)
}

// restoreRows is the inverse: the actual rows, in the order of their primary key. at is the root that they are for.
// Without overrides they are the predicted ones. An override that overridesOf would not write is objstore.ErrCorrupt.
func restoreRows(table smithersdb.Table, predicted []smithersdb.Row, over []override, run string, at root) ([]smithersdb.Row, error) {
	columns, hasKey := keyColumns(table)
	rows := make(map[string]keyedRow, len(predicted)+len(over))
	for _, p := range keyRows(table, predicted) {
		p.row = wholeRow(table, p.row, run)
		for name, v := range p.row {
			p.row[name] = at.placed(table.Name, name, v)
		}
		rows[p.key] = p
	}
	for _, o := range over {
		if o.Value == "null" {
			delete(rows, o.Key)
			continue
		}
		before, known := rows[o.Key]
		if !known {
			key, place, err := readKey(table, o.Key)
			if err != nil {
				return nil, err
			}
			before = keyedRow{o.Key, place, wholeRow(table, key, run)}
		}
		if err := apply(table.Name, before.row, o, at); err != nil {
			return nil, err
		}
		rows[o.Key] = before
	}
	sorted := slices.Collect(maps.Values(rows))
	slices.SortFunc(sorted, func(a, b keyedRow) int {
		if !hasKey {
			return a.place - b.place
		}
		return compareRows(columns, a, b)
	})
	restored := make([]smithersdb.Row, 0, len(sorted))
	for _, r := range sorted {
		restored = append(restored, r.row)
	}
	return restored, nil
}

// wholeRow is a row with all columns of its table, and its run.
func wholeRow(table smithersdb.Table, row smithersdb.Row, run string) smithersdb.Row {
	whole := make(smithersdb.Row, len(table.Columns))
	for _, c := range table.Columns {
		switch {
		case isRunColumn(c.Name):
			whole[c.Name] = textValue(run)
		case processColumn(table.Name, c.Name):
			whole[c.Name] = smithersdb.Value{}
		default:
			whole[c.Name] = row[c.Name]
		}
	}
	return whole
}

// apply sets the columns of an override in a row.
func apply(table string, row smithersdb.Row, o override, at root) error {
	var columns map[string]json.RawMessage
	if err := json.Unmarshal([]byte(o.Value), &columns); err != nil {
		return fmt.Errorf("%w: %s %s: %w", objstore.ErrCorrupt, table, o.Key, err)
	}
	for name, raw := range columns {
		_, isJSON := pathColumn(table, name)
		v, err := valueReader{at, isJSON}.read(raw, row[name])
		if err != nil {
			return fmt.Errorf("%w: %s %s, column %q: %w", objstore.ErrCorrupt, table, o.Key, name, err)
		}
		row[name] = v
	}
	return nil
}
