package sqliteindex

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// table reads the tables of a database that may be damaged.
type table struct{ conn *sql.Conn }

// read runs a query and returns all its rows. An error is a *databaseError.
func (t table) read(ctx context.Context, query string, args ...any) (*Answer, error) {
	rows, err := t.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, &databaseError{err}
	}
	defer func() { _ = rows.Close() }() // readAnswer has already returned the same error, from rows.Err
	answer, err := readAnswer(rows)
	if err != nil {
		return nil, &databaseError{err}
	}
	return answer, nil
}

// tips returns the commit id of the indexed tip of each run, by run id.
func (t table) tips(ctx context.Context) (map[string]string, error) {
	answer, err := t.read(ctx, "SELECT run_id, git_tip FROM _smithers_runs")
	if err != nil {
		return nil, err
	}
	tips := make(map[string]string, len(answer.Rows))
	for _, row := range answer.Rows {
		tips[fmt.Sprint(row[0])] = fmt.Sprint(row[1])
	}
	return tips, nil
}

// names returns the names of the tables that have a run_id column, sorted.
func (t table) names(ctx context.Context) ([]string, error) {
	answer, err := t.read(ctx, `SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
		WHERE m.type = 'table' AND c.name = 'run_id' ORDER BY m.name`)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(answer.Rows))
	for i, row := range answer.Rows {
		names[i] = fmt.Sprint(row[0])
	}
	return names, nil
}

// rowsOf returns the rows of one run in the table called name, as texts (see describeRow), sorted. If the
// table does not exist, rowsOf returns no rows.
func (t table) rowsOf(ctx context.Context, name, runID string) ([]string, error) {
	quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	there, err := t.read(ctx, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name)
	if err != nil || len(there.Rows) == 0 {
		return nil, err
	}
	answer, err := t.read(ctx, "SELECT * FROM "+quoted+" WHERE run_id = ?", runID)
	if err != nil {
		return nil, err
	}
	rows := make([]string, len(answer.Rows))
	for i, row := range answer.Rows {
		rows[i] = describeRow(answer.Columns, row)
	}
	slices.Sort(rows)
	return rows, nil
}

// describeRow returns a row as text: the name, type and value of each column, sorted by name. It leaves out the columns
// that are NULL, because the outputs of other runs can add columns to a table or remove them.
func describeRow(columns []Column, row []any) string {
	var parts []string
	for i, value := range row {
		if value != nil {
			parts = append(parts, fmt.Sprintf("%s=%T:%v", columns[i].Name, value, value))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x00")
}

// parseTip returns the object id in a column's value. If the value is not text, the error wraps errDamaged. If the
// text is not an object id, parseTip returns the error of objstore.ParseID.
func parseTip(value any) (objstore.ID, error) {
	text, ok := value.(string)
	if !ok {
		return objstore.ID{}, damaged("tip")
	}
	return objstore.ParseID(text)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
