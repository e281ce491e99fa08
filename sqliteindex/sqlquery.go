package sqliteindex

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
)

// Column is a column of an [Answer]. Kind is string, number, boolean or json for a column of an output table,
// and otherwise "".
type Column struct{ Name, Kind string }

// Answer is the result of a query. A value is nil, an int64, a float64, a string, a
// []byte, a bool (in a boolean column), or a json.RawMessage (in a json column).
type Answer struct {
	Columns []Column
	Rows    [][]any
}

// ErrQuery means that a query is wrong, and not the index.
var ErrQuery = errors.New("query")

// Query runs one read-only SQL statement on the state of the last SyncDetails and returns its rows. A query
// can name an output table by the table's name or by its schema key, and finds the values of overlays. The error wraps [ErrQuery] if the
// statement has a mistake or writes, or if query has several statements.
func (x *Index) Query(ctx context.Context, query string, overlays ...Overlay) (*Answer, error) {
	if err := checkQuery(query); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrQuery, err)
	}
	d, err := x.openDetails(ctx)
	if err != nil {
		return nil, err
	}
	var answer *Answer
	var mistake error
	err = d.answer(ctx, func(db *database) error {
		answer, mistake = nil, nil
		got, err := readOnlyQuery(ctx, db, query, overlays)
		if isMistake(err) {
			mistake = err
			return nil
		}
		answer = got
		return err
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case mistake != nil:
		return nil, d.explain(ctx, query, mistake)
	}
	return answer, nil
}

// isMistake reports whether err means that the statement is wrong, and not the database.
func isMistake(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_TOOBIG,
		sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_RANGE:
		return true
	}
	return false
}

// readOnlyQuery runs a query on a connection that refuses writes, but for those of overlays, until the query ends.
func readOnlyQuery(ctx context.Context, db *database, query string, overlays []Overlay) (answer *Answer, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for i := range overlays {
		defer overlays[i].remove(context.WithoutCancel(ctx), conn)
		if err := overlays[i].lay(ctx, conn); err != nil {
			return nil, err
		}
	}
	if _, err := conn.ExecContext(ctx, "PRAGMA query_only = ON"); err != nil {
		return nil, err
	}
	defer func() {
		if _, off := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA query_only = OFF"); off != nil {
			// The connection stays read-only, so discard it.
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}()
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // readAnswer returns rows.Err(), which has the same error
	return readAnswer(rows)
}

// readAnswer returns all rows of a query's result. It converts the values of output columns back with decodeValue. The
// caller closes rows.
func readAnswer(rows *sql.Rows) (*Answer, error) {
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	answer := &Answer{Columns: make([]Column, len(types)), Rows: [][]any{}}
	declared := make([]columns.Type, len(types))
	for i, t := range types {
		declared[i] = typeDeclared(t.DatabaseTypeName())
		answer.Columns[i] = Column{t.Name(), declared[i].Kind()}
	}
	for row, err := range storedRows(rows, len(types)) {
		if err != nil {
			return nil, err
		}
		for i := range row {
			row[i] = decodeValue(row[i], declared[i])
		}
		answer.Rows = append(answer.Rows, row)
	}
	return answer, nil
}

// storedRows yields the rows of a query's result, which has the given number of columns, with the values that are stored.
func storedRows(rows *sql.Rows, width int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for rows.Next() {
			row, places := make([]any, width), make([]any, width)
			for i := range row {
				places[i] = &row[i]
			}
			if err := rows.Scan(places...); err != nil {
				yield(nil, err)
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// decodeValue returns the value of a column of type t as it was in the output: 0 and 1 of a boolean column as a bool, and
// JSON of a json column as a json.RawMessage. In a column of mixed type, only an object, an array and a quoted text are
// taken for JSON. It returns any other value unchanged.
func decodeValue(value any, t columns.Type) any {
	switch v := value.(type) {
	case int64:
		if t == columns.Boolean && (v == 0 || v == 1) {
			return v == 1
		}
	case string:
		quoted := t == columns.Mixed && strings.IndexAny(v, `{["`) == 0
		if (t == columns.JSON || quoted) && json.Valid([]byte(v)) {
			return json.RawMessage(v)
		}
	}
	return value
}

// explain returns, for the index with the details, the error for a query with a mistake. The error wraps ErrQuery. If the query names a schema key whose
// outputs are split over several tables, the message lists the tables.
func (x *Index) explain(ctx context.Context, query string, mistake error) error {
	err := fmt.Errorf("%w: %s", ErrQuery, message(mistake))
	split, listErr := x.splitTables(ctx)
	if listErr != nil {
		return err
	}
	words := queryWords(query)
	for _, key := range slices.Sorted(maps.Keys(split)) {
		if words[columns.FoldCase(key)] || words[columns.FoldCase(columns.Snake(key))] {
			err = fmt.Errorf("%w; the schemas of %q differ between workflows, so each workflow has its own table: %s",
				err, key, strings.Join(split[key], ", "))
		}
	}
	return err
}

// splitTables returns the output tables, sorted, of each schema key for which each workflow has its own table.
func (x *Index) splitTables(ctx context.Context) (split map[string][]string, err error) {
	err = x.conn.use(ctx, func(db *database) error {
		split = make(map[string][]string)
		tables, err := readCatalog(ctx, db)
		for _, t := range tables {
			if !t.shared {
				split[t.key] = append(split[t.key], t.name)
			}
		}
		return err
	})
	return split, err
}

// message returns SQLite's message of err without the prefix for SQL errors and without the result code in
// parentheses at the end.
func message(err error) string {
	text := err.Error()
	text = strings.TrimPrefix(text, "SQL logic error: ")
	if i := strings.LastIndex(text, " ("); i > 0 && strings.HasSuffix(text, ")") {
		text = text[:i]
	}
	return text
}
