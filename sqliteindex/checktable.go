package sqliteindex

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// describedRows returns the rows of one run in the table called name, as texts (see describeRow), sorted. If the
// table does not exist, describedRows returns no rows. The table may be damaged; an error is a *databaseError.
func describedRows(ctx context.Context, conn *sql.Conn, name, runID string) (all []string, err error) {
	there, err := collect[int](ctx, conn, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name)
	if err != nil {
		return nil, &databaseError{err}
	}
	if len(there) == 0 {
		return nil, nil
	}
	rows, err := conn.QueryContext(ctx, "SELECT * FROM "+quoted(name)+" WHERE run_id = ?", runID)
	if err != nil {
		return nil, &databaseError{err}
	}
	defer func() { _ = rows.Close() }() // storedRows has already yielded the same error, from rows.Err
	columns, err := rows.Columns()
	if err != nil {
		return nil, &databaseError{err}
	}
	for row, err := range storedRows(rows, len(columns)) {
		if err != nil {
			return nil, &databaseError{err}
		}
		all = append(all, describeRow(columns, row))
	}
	slices.Sort(all)
	return all, nil
}

// describeRow returns a row as text: the name, type and value of each column, sorted by name. It leaves out the columns
// that are NULL, because the outputs of other runs can add columns to a table or remove them.
func describeRow(columns []string, row []any) string {
	var parts []string
	for i, value := range row {
		if value != nil {
			parts = append(parts, fmt.Sprintf("%s=%T:%v", columns[i], value, value))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x00")
}
