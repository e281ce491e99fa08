// Package dbrow handles rows of Smithers' databases: values, keys, paths, differences between predicted and actual
// rows, and digests. The only columns that it knows by name are run_id, the columns with paths and the columns of
// processes.
package dbrow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/objstore"
)

// Override is the difference of one row from its prediction, a row of ext/smithers/tables/<table>. Key is the
// primary key without run_id, as a JSON array. If the actual row does not exist, Value is null. If both rows
// exist, Value is an object with the columns that differ. If the predicted row does not exist, Value is an
// object with all columns that are not NULL, except the columns of the key.
//
// In JSON, NULL is null, an INTEGER is a number, and a TEXT is a string. All other values are objects:
// {"real":"…"} for a REAL, {"blob":"<base64>"} for a BLOB, {"bytes":"<base64>"} for a TEXT that is not UTF-8,
// and {"root":["…","…"]} for a TEXT with the root's path between the parts.
//
// If a table has no primary key, Key is an array with the row's position among the run's rows, from 0. SQLite
// allows several rows with one primary key if the key has a NULL. From the second such row on, Key ends with
// {"place":n}.
type Override struct {
	Key   string
	Value string
}

// Differences returns the overrides that turn the predicted rows of one run into the actual rows, sorted by key.
// It ignores the column run_id and the columns of processes. at is the folder of the run's paths, and the
// overrides have the paths without this folder. If the name of a column is not UTF-8, the error wraps
// source.ErrDamaged.
func Differences(table source.Table, predicted, actual []source.Row, at Root) ([]Override, error) {
	if err := CheckColumns(table); err != nil {
		return nil, err
	}
	// missing has the predicted rows that have no actual row yet.
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

// CheckColumns returns an error that wraps source.ErrDamaged if the name of a column is not UTF-8, because
// JSON cannot hold the name.
func CheckColumns(table source.Table) error {
	for _, c := range table.Columns {
		if !utf8.ValidString(c.Name) {
			return fmt.Errorf("%w: table %q: the name of column %q is not UTF-8", source.ErrDamaged, table.Name, c.Name)
		}
	}
	return nil
}

// differences returns the value of an override for one row: a JSON object with the columns of actual that
// differ from predicted. at is the folder of the run's paths. If known is false, there is no predicted row. The
// object then has all columns that are not NULL, except the columns whose values are in the key.
func differences(table source.Table, actual keyedRow, predicted source.Row, known bool, at Root) (string, error) {
	var spelled source.Row // the columns whose values are in the key
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

// appendColumn appends v, the value of a column, to b in the form of Override. It returns the extended slice. at
// is the folder of the run's paths. If the column has paths and v has a path in at, appendColumn appends the value
// without the folder.
func appendColumn(b []byte, table, column string, v source.Value, at Root) []byte {
	if paths, isJSON := pathColumn(table, column); paths {
		if rooted, ok := at.appendRooted(b, v, isJSON); ok {
			return rooted
		}
	}
	return appendValue(b, v)
}

// Restore returns the actual rows of a run: the predicted rows with the overrides of over applied. It is the
// inverse of Differences. The rows are sorted by primary key, or by position if the table has no primary key.
// Each row gets the run id run, and its paths are in the folder at. If an override cannot be decoded, the error
// wraps objstore.ErrCorrupt.
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
	// Each override removes a predicted row, changes a predicted row, or adds a row that was not predicted.
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

// wholeRow returns a copy of row with all columns of its table. The column run_id has the value run. The
// columns of processes, and the columns that row lacks, are NULL.
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

// apply sets the columns of row that the override o names. table is the name of the row's table. Paths in the
// values are in the folder at. If o.Value cannot be decoded, the error wraps objstore.ErrCorrupt.
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

// DifferenceOfOne returns the value of the override that turns predicted into actual, two rows of one run with
// the same key. It returns nil if the rows are equal. If the actual row does not exist, actual must be nil, and
// the result is "null". at and the errors are the same as in Differences.
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

// RestoreOne returns the actual row. It is the inverse of DifferenceOfOne. predicted is the predicted row, and
// over is the result of DifferenceOfOne. If over is nil, the actual row equals predicted, with the changes that
// Restore makes to every row. If over is "null", the row does not exist, and the result is nil. run, at and the
// errors are the same as in Restore.
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
