// Package dbrow handles rows of Smithers' databases: values, keys, paths, the form in which the repository keeps rows,
// and digests. The only columns that it knows by name are run_id, the columns with paths and the columns of processes.
package dbrow

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/objstore"
)

// KeptRow is a row of a run as the repository keeps it, in ext/smithers/tables/<table>. Key is the primary key without
// run_id, as a JSON array. Value is an object with all columns that are not NULL, except run_id, the columns of the key
// and the columns of processes.
//
// In JSON, NULL is null, an INTEGER is a number, and a TEXT is a string. All other values are objects:
// {"real":"…"} for a REAL, {"blob":"<base64>"} for a BLOB, {"bytes":"<base64>"} for a TEXT that is not UTF-8,
// and {"root":["…","…"]} for a TEXT with the root's path between the parts.
//
// If a table has no primary key, Key is an array with the row's position among the run's rows, from 0. SQLite
// allows several rows with one primary key if the key has a NULL. From the second such row on, Key ends with
// {"place":n}.
type KeptRow struct {
	Key   string
	Value string
}

// Keep returns the rows of one run in a table in the form in which the repository keeps them, in the order of rows. at
// is the folder of the run's paths, and the kept rows have the paths without this folder. If the name of a column is
// not UTF-8, the error wraps source.ErrDamaged.
func Keep(table source.Table, rows []source.Row, at Root) ([]KeptRow, error) {
	if err := CheckColumns(table); err != nil {
		return nil, err
	}
	kept := make([]KeptRow, 0, len(rows))
	for _, row := range keyRows(table, rows) {
		inKey, _, err := readKey(table, row.key)
		if err != nil {
			return nil, err
		}
		kept = append(kept, KeptRow{row.key, string(encodeRow(table, row.row, inKey, at))})
	}
	return kept, nil
}

// KeepOne returns one row as an object with all columns that Keep keeps, and the columns of the key. at and the error
// are the same as in Keep.
func KeepOne(table source.Table, row source.Row, at Root) ([]byte, error) {
	return encodeRow(table, row, nil, at), CheckColumns(table)
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

// encodeRow returns the value of a kept row. inKey has the columns whose values are in the key.
func encodeRow(table source.Table, row, inKey source.Row, at Root) []byte {
	b := []byte{'{'}
	for _, c := range table.Columns {
		v := row[c.Name]
		if IsRunColumn(c.Name) || IsProcessColumn(table.Name, c.Name) || Same(v, inKey[c.Name]) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(page.AppendString(b, c.Name), ':')
		b = appendColumn(b, table.Name, c.Name, v, at)
	}
	return append(b, '}')
}

// appendColumn appends v, the value of a column, to b in the form of KeptRow. It returns the extended slice. at
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

// Restore returns the rows of a run in a table. It is the inverse of Keep. The rows are sorted by primary key, or by
// position if the table has no primary key. Each row gets the run id run, and its paths are in the folder at. If a kept
// row cannot be decoded, the error wraps objstore.ErrCorrupt.
func Restore(table source.Table, kept []KeptRow, run string, at Root) ([]source.Row, error) {
	rows := make([]keyedRow, 0, len(kept))
	for _, k := range kept {
		row, place, err := readKey(table, k.Key)
		if err != nil {
			return nil, err
		}
		if err := decodeRow(table.Name, row, k, at); err != nil {
			return nil, err
		}
		rows = append(rows, keyedRow{k.Key, place, row})
	}
	return sorted(table, rows, run), nil
}

// RestoreOne returns a row. It is the inverse of KeepOne. run, at and the error are the same as in Restore.
func RestoreOne(table source.Table, value []byte, run string, at Root) (source.Row, error) {
	row := source.Row{}
	err := decodeRow(table.Name, row, KeptRow{Value: string(value)}, at)
	return wholeRow(table, row, run), err
}

// Complete returns rows, which an export makes of a run, as rows of a table: with all columns of the table, with the
// run id run, and sorted like the result of Restore.
func Complete(table source.Table, rows []source.Row, run string) []source.Row {
	return sorted(table, keyRows(table, rows), run)
}

// sorted returns rows with all columns of their table, sorted by primary key, or by position if the table has no
// primary key.
func sorted(table source.Table, rows []keyedRow, run string) []source.Row {
	columns, hasKey := KeyColumns(table)
	slices.SortFunc(rows, func(a, b keyedRow) int {
		if !hasKey {
			return a.place - b.place
		}
		return compareRows(columns, a, b)
	})
	whole := make([]source.Row, 0, len(rows))
	for _, row := range rows {
		whole = append(whole, wholeRow(table, row.row, run))
	}
	return whole
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

// decodeRow sets the columns of row that the kept row k has. table is the name of the row's table. Paths in the
// values are in the folder at. If k.Value cannot be decoded, the error wraps objstore.ErrCorrupt.
func decodeRow(table string, row source.Row, k KeptRow, at Root) error {
	var columns map[string]json.RawMessage
	if err := json.Unmarshal([]byte(k.Value), &columns); err != nil {
		return fmt.Errorf("%w: %s %s: %w", objstore.ErrCorrupt, table, k.Key, err)
	}
	for name, raw := range columns {
		_, isJSON := pathColumn(table, name)
		v, err := valueReader{at, isJSON}.read(raw)
		if err != nil {
			return fmt.Errorf("%w: %s %s, column %q: %w", objstore.ErrCorrupt, table, k.Key, name, err)
		}
		row[name] = v
	}
	return nil
}
