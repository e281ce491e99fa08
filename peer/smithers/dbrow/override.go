// Package dbrow has the rows of Smithers' databases: their values, their keys, their paths, the difference between predicted
// and actual rows, and digests of rows. Of the tables it knows which columns hold paths or belong to processes, and nothing else.
package dbrow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
)

// Override is one row of ext/smithers/tables/<table>: its key is the primary key without run_id, as
// a JSON array; its value is null for a predicted row that is not there, or an object with the
// columns whose values are not as predicted: numbers and null as they are, text as a string,
// {"real":"…"}, {"blob":"<base64>"}, {"bytes":"<base64>"} for text that is not UTF-8,
// and {"root":["…","…"]} for text that holds the root's path between these parts. A row that is
// not predicted has the columns that are not NULL, less those of the key.
//
// The key of a row of a table without a primary key is its place among the run's, in an array; those of
// rows with the same key, which NULL allows, have {"place":n} at their end from the second on.
type Override struct {
	Key   string
	Value string
}

// Differences returns the overrides that lead from the predicted to the actual rows of one run, sorted by key: the whole
// row if none is predicted. Columns of processes are never in them.
func Differences(table source.Table, predicted, actual []source.Row, at Root) ([]Override, error) {
	if err := CheckColumns(table); err != nil {
		return nil, err
	}
	missing := make(map[string]source.Row, len(predicted))
	for _, p := range keyRows(table, predicted) {
		missing[p.key] = p.row
	}
	var all []Override
	for _, a := range keyRows(table, actual) {
		before, known := missing[a.key]
		delete(missing, a.key)
		value, err := differences(table, a, before, known, at)
		if err != nil {
			return nil, err
		}
		if !known || value != "{}" {
			all = append(all, Override{a.key, value})
		}
	}
	for key := range missing {
		all = append(all, Override{key, "null"})
	}
	slices.SortFunc(all, func(a, b Override) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// CheckColumns returns source.ErrDamaged if JSON cannot hold the name of a column.
func CheckColumns(table source.Table) error {
	for _, c := range table.Columns {
		if !utf8.ValidString(c.Name) {
			return fmt.Errorf("%w: table %q: the name of column %q is not UTF-8", source.ErrDamaged, table.Name, c.Name)
		}
	}
	return nil
}

// differences are the columns of a row that are not as predicted, as an object.
func differences(table source.Table, actual keyedRow, predicted source.Row, known bool, at Root) (string, error) {
	var spelled source.Row
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
		if IsRunColumn(c.Name) || IsProcessColumn(table.Name, c.Name) || Same(v, before) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(page.AppendString(b, c.Name), ':')
		b = appendColumn(b, table.Name, c.Name, v, at)
	}
	return string(append(b, '}')), nil
}

func appendColumn(b []byte, table, column string, v source.Value, at Root) []byte {
	if paths, isJSON := pathColumn(table, column); paths {
		if rooted, ok := at.appendRooted(b, v, isJSON); ok {
			return rooted
		}
	}
	return appendValue(b, v)
}

// Restore is the inverse of Differences: it returns the actual rows in the order of their primary key, with their paths in
// the root at. Without overrides they are the predicted rows. It returns objstore.ErrCorrupt for an override that
// Differences would not write.
func Restore(table source.Table, predicted []source.Row, over []Override, run string, at Root) ([]source.Row, error) {
	columns, hasKey := KeyColumns(table)
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
	restored := make([]source.Row, 0, len(sorted))
	for _, r := range sorted {
		restored = append(restored, r.row)
	}
	return restored, nil
}

// wholeRow is a row with all columns of its table, and its run.
func wholeRow(table source.Table, row source.Row, run string) source.Row {
	whole := make(source.Row, len(table.Columns))
	for _, c := range table.Columns {
		switch {
		case IsRunColumn(c.Name):
			whole[c.Name] = Text(run)
		case IsProcessColumn(table.Name, c.Name):
			whole[c.Name] = source.Value{}
		default:
			whole[c.Name] = row[c.Name]
		}
	}
	return whole
}

// apply sets the columns of an override in a row.
func apply(table string, row source.Row, o Override, at Root) error {
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

// DifferenceOfOne returns the override that leads from one predicted row to the actual row, or nil if they are equal. A nil
// actual row does not exist.
func DifferenceOfOne(table source.Table, predicted, actual source.Row, at Root) ([]byte, error) {
	rows := []source.Row{actual}
	if actual == nil {
		rows = nil
	}
	over, err := Differences(table, []source.Row{predicted}, rows, at)
	if err != nil || len(over) == 0 {
		return nil, err
	}
	return []byte(over[0].Value), nil
}

// RestoreOne is the inverse of DifferenceOfOne. It returns nil if the row does not exist.
func RestoreOne(table source.Table, predicted source.Row, over []byte, run string, at Root) (source.Row, error) {
	var all []Override
	if over != nil {
		keyed := keyRows(table, []source.Row{predicted})
		all = []Override{{Key: keyed[0].key, Value: string(over)}}
	}
	rows, err := Restore(table, []source.Row{predicted}, all, run, at)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}
