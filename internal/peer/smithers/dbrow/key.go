package dbrow

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/objstore"
)

// maxKey is the greatest length in bytes of a kept row's key. A longer key is replaced by its hash:
// ["sha256:…"].
const maxKey = 512

// KeyColumns returns the names of the columns of a table's primary key, in the order of the key, without
// run_id. hasKey is false if the table has no primary key. A row of such a table is identified by its position.
func KeyColumns(table source.Table) (columns []string, hasKey bool) {
	keys := slices.DeleteFunc(slices.Clone(table.Columns), func(c source.Column) bool { return c.Key == 0 })
	slices.SortStableFunc(keys, func(a, b source.Column) int { return cmp.Compare(a.Key, b.Key) })
	for _, c := range keys {
		if !IsRunColumn(c.Name) {
			columns = append(columns, c.Name)
		}
	}
	return columns, len(keys) > 0
}

// IsRunColumn reports whether name is the name of the column with the id of the row's run. Letter case does not
// matter.
func IsRunColumn(name string) bool { return strings.EqualFold(name, "run_id") }

// keyedRow is a row with its key. The key has the form of KeptRow.Key.
type keyedRow struct {
	key   string
	place int // the position, from 0, among rows with an equal primary key or, without a primary key, among all rows
	row   source.Row
}

// keyRows returns rows with their keys, in the same order. A key has the form of KeptRow.Key. It holds the values
// of the row's primary key, or their hash if the key is longer than maxKey. If the table has no primary
// key, the key holds the row's position. Different rows have different keys.
func keyRows(table source.Table, rows []source.Row) []keyedRow {
	columns, hasKey := KeyColumns(table)
	seen := make(map[string]int, len(rows))
	keyed := make([]keyedRow, 0, len(rows))
	for i, row := range rows {
		if !hasKey {
			keyed = append(keyed, keyedRow{"[" + strconv.Itoa(i) + "]", i, row})
			continue
		}
		b := []byte{'['}
		for j, c := range columns {
			if j > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, row[c])
		}
		if len(b) > maxKey { // store the hash in place of a long key
			sum := sha256.Sum256(b)
			b = append(append([]byte(`["`), hashedKey...), hex.EncodeToString(sum[:])...)
			b = append(b, '"')
		}
		// SQLite allows several rows with one primary key if the key has a NULL. All but the first of these
		// rows get their position as a part of the key.
		place := seen[string(b)]
		seen[string(b)]++
		if place > 0 {
			b = append(append(b, `,{"place":`...), strconv.Itoa(place)+"}"...)
		}
		keyed = append(keyed, keyedRow{string(append(b, ']')), place, row})
	}
	return keyed
}

// hashedKey is the start of the only value in a hashed key.
const hashedKey = "sha256:"

// readKey decodes key, the Key of a KeptRow. It returns a row with the columns of the primary key, and the
// row's position: see keyedRow.place. If key is hashed, or the table has no primary key, the returned row is
// empty. If key cannot be decoded, the error wraps objstore.ErrCorrupt.
func readKey(table source.Table, key string) (source.Row, int, error) {
	columns, hasKey := KeyColumns(table)
	var values []json.RawMessage
	if err := json.Unmarshal([]byte(key), &values); err != nil {
		return nil, 0, fmt.Errorf("%w: key %q: %w", objstore.ErrCorrupt, key, err)
	}
	var place int
	if !hasKey {
		if len(values) != 1 || json.Unmarshal(values[0], &place) != nil {
			return nil, 0, fmt.Errorf("%w: key %q is not a position", objstore.ErrCorrupt, key)
		}
		return source.Row{}, place, nil
	}
	// The last value may be the position, which is not a value of the primary key.
	if n := len(values) - 1; n >= 0 {
		var last struct {
			Place int `json:"place"`
		}
		if json.Unmarshal(values[n], &last) == nil && last.Place > 0 {
			values, place = values[:n], last.Place
		}
	}
	row := source.Row{}
	// A hashed key does not have the values of the columns.
	if len(values) == 1 && strings.HasPrefix(string(values[0]), `"`+hashedKey) && len(key) > len(hashedKey)+2*sha256.Size {
		return row, place, nil
	}
	if len(values) != len(columns) {
		return nil, 0, fmt.Errorf("%w: key %q: %d values for %d columns", objstore.ErrCorrupt, key, len(values), len(columns))
	}
	for i, c := range columns {
		v, err := valueReader{}.read(values[i])
		if err != nil {
			return nil, 0, fmt.Errorf("%w: key %q: %w", objstore.ErrCorrupt, key, err)
		}
		row[c] = v
	}
	return row, place, nil
}

// compareRows compares a and b in SQLite's order of a primary key with the given columns, and then by
// position.
func compareRows(columns []string, a, b keyedRow) int {
	for _, c := range columns {
		if order := compareValues(a.row[c], b.row[c]); order != 0 {
			return order
		}
	}
	return cmp.Compare(a.place, b.place)
}

// compareValues compares a and b in SQLite's order: NULL, numbers, texts, blobs.
func compareValues(a, b source.Value) int {
	if order := cmp.Compare(classOf(a), classOf(b)); order != 0 {
		return order
	}
	switch {
	case a.Kind == source.Int && b.Kind == source.Int:
		return cmp.Compare(a.Int, b.Int)
	case classOf(a) == classOf(Int(0)):
		return cmp.Compare(a.Real+float64(a.Int), b.Real+float64(b.Int)) // a value uses one field; the other is 0
	}
	return strings.Compare(a.Bytes, b.Bytes)
}

// classOf returns the rank of a value's kind in SQLite's order. INTEGER and REAL have the same rank.
func classOf(v source.Value) int {
	if v.Kind == source.Real {
		return int(source.Int)
	}
	return int(v.Kind)
}
