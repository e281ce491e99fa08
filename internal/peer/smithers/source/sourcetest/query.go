package sourcetest

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
)

// Query runs an SQL query on the database at path and returns the rows, with the values as text. NULL is "".
func Query(ctx context.Context, path, query string, args ...any) (rows [][]string, err error) {
	db, err := openToRead(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return read(ctx, db, query, args...)
}

// Dump returns the rows of all tables in the database at path, by table name. Each row is one text with the
// names and values of its columns, in SQLite's notation; the rows of a table are sorted. Dump omits the columns
// for which leaveOut returns true.
func Dump(ctx context.Context, path string, leaveOut func(table, column string) bool) (_ map[string][]string, err error) {
	db, err := openToRead(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	columns, err := read(ctx, db, `SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		return nil, err
	}
	lines := make(map[string]string)
	for _, c := range columns {
		if table, column := c[0], c[1]; !leaveOut(table, column) {
			lines[table] += " || '" + strings.ReplaceAll(column, "'", "''") + "=' || quote(" + name(column) + ") || ' '"
		}
	}
	all := make(map[string][]string, len(lines))
	for table, line := range lines {
		rows, err := read(ctx, db, `SELECT ''`+line+` AS line FROM `+name(table)+` ORDER BY line`)
		if err != nil {
			return nil, err
		}
		all[table] = []string{}
		for _, row := range rows {
			all[table] = append(all[table], row[0])
		}
	}
	return all, nil
}

// name returns s as a quoted name in SQL.
func name(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func openToRead(path string) (*sql.DB, error) {
	at := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "mode=ro"}
	return sql.Open("sqlite", at.String())
}

func read(ctx context.Context, db *sql.DB, query string, args ...any) (rows [][]string, err error) {
	found, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	columns, err := found.Columns()
	if err != nil {
		return nil, err
	}
	for found.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, err
		}
		row := make([]string, len(columns))
		for i, v := range values {
			row[i] = v.String
		}
		rows = append(rows, row)
	}
	return rows, found.Err()
}
