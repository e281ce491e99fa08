package sqliteindex

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// storedRow is a row of a table.
type storedRow struct {
	columns []string
	values  []any
}

// runRowsOf yields the rows of one run in the table called name, in the order of the primary key. If the table does not
// exist, it yields no rows. The table may be damaged; an error is a *databaseError.
func runRowsOf(ctx context.Context, conn *sql.Conn, name, runID string) iter.Seq2[storedRow, error] {
	return func(yield func(storedRow, error) bool) {
		key, err := collect[string](ctx, conn, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", name)
		if err != nil {
			yield(storedRow{}, &databaseError{err})
			return
		}
		if len(key) == 0 {
			return // every table of runs has a key
		}
		rows, err := conn.QueryContext(ctx, "SELECT * FROM "+quoted(name)+" WHERE run_id = ? ORDER BY "+strings.Join(key, ", "), runID)
		if err != nil {
			yield(storedRow{}, &databaseError{err})
			return
		}
		defer func() { _ = rows.Close() }() // storedRows has already yielded the same error, from rows.Err
		columns, err := rows.Columns()
		if err != nil {
			yield(storedRow{}, &databaseError{err})
			return
		}
		for values, err := range storedRows(rows, len(columns)) {
			if err != nil {
				err = &databaseError{err}
			}
			if !yield(storedRow{columns, values}, err) {
				return
			}
		}
	}
}

// equals reports whether two rows have the same values in the same columns. It leaves out the columns
// that are NULL, because the outputs of other runs can add columns to a table or remove them.
func (r storedRow) equals(other storedRow) bool {
	if slices.Equal(r.columns, other.columns) && slices.EqualFunc(r.values, other.values, equalValues) {
		return true
	}
	return r.describe() == other.describe()
}

// equalValues reports whether two values of SQLite have the same type and are equal.
func equalValues(a, b any) bool {
	if blob, ok := a.([]byte); ok {
		other, ok := b.([]byte)
		return ok && bytes.Equal(blob, other)
	}
	_, ok := b.([]byte)
	return !ok && a == b
}

// describe returns a row as text: the name, type and value of each column that is not NULL, sorted by name.
func (r storedRow) describe() string {
	var parts []string
	for i, value := range r.values {
		if value != nil {
			parts = append(parts, fmt.Sprintf("%s=%T:%v", r.columns[i], value, value))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x00")
}
