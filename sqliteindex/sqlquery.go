package sqliteindex

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

// Column is a column of a query's answer. Kind is string, number, boolean or json
// where the column is one of an output table, and "" elsewhere.
type Column struct{ Name, Kind string }

// Answer is what a query answered. A value is nil, an int64, a float64, a string, a
// []byte, a bool (of a boolean column), or a json.RawMessage (of a json column).
type Answer struct {
	Columns []Column
	Rows    [][]any
}

// ErrQuery is what is wrong with a query and not with the index.
var ErrQuery = errors.New("query")

// Query runs one SQL statement that only reads, on what the last SyncDetails left. Both
// the key and the name of an output's table find it. An error of the statement's
// own, one that writes, and more than one statement wrap [ErrQuery].
func (x *Index) Query(ctx context.Context, query string) (*Answer, error) {
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
		got, err := readOnlyQuery(ctx, db, query)
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

// isMistake reports whether the statement and not the database is at fault.
func isMistake(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_TOOBIG,
		sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_RANGE:
		return true
	}
	return false
}

// readOnlyQuery runs a query on a connection that refuses to write meanwhile.
func readOnlyQuery(ctx context.Context, db *database, query string) (answer *Answer, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "PRAGMA query_only = ON"); err != nil {
		return nil, err
	}
	defer func() {
		if _, off := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA query_only = OFF"); off != nil {
			// A connection that cannot write any more is of no use to the next who has it.
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}()
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err says the same
	return readAnswer(rows)
}

func readAnswer(rows *sql.Rows) (*Answer, error) {
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	answer := &Answer{Columns: make([]Column, len(types)), Rows: [][]any{}}
	for i, t := range types {
		answer.Columns[i] = Column{t.Name(), kindOf(t.DatabaseTypeName())}
	}
	for rows.Next() {
		row, places := make([]any, len(types)), make([]any, len(types))
		for i := range row {
			places[i] = &row[i]
		}
		if err := rows.Scan(places...); err != nil {
			return nil, err
		}
		for i := range row {
			row[i] = decodeValue(row[i], answer.Columns[i].Kind)
		}
		answer.Rows = append(answer.Rows, row)
	}
	return answer, rows.Err()
}

// decodeValue is a value of an output as the output had it. What a column could not hold
// stays the text that it is.
func decodeValue(value any, kind string) any {
	switch v := value.(type) {
	case int64:
		if kind == string(booleanColumn) && (v == 0 || v == 1) {
			return v == 1
		}
	case string:
		if kind == string(jsonColumn) && json.Valid([]byte(v)) {
			return json.RawMessage(v)
		}
	}
	return value
}

// explain says what is wrong with a query. Where it may be that it asks for outputs of which
// there is no one table, it says which there are.
func (d *details) explain(ctx context.Context, query string, mistake error) error {
	err := fmt.Errorf("%w: %s", ErrQuery, message(mistake))
	split, listErr := d.splitTables(ctx)
	if listErr != nil {
		return err
	}
	words := queryWords(query)
	for _, key := range split.keys {
		if words[foldCase(key)] || words[foldCase(snake(key))] {
			err = fmt.Errorf("%w; the workflows' schemas of %q differ: each has a table of its own, %s",
				err, key, strings.Join(split.tables[key], ", "))
		}
	}
	return err
}

// splitTables are the output tables that each workflow has its own of, by schema key.
type splitTables struct {
	keys   []string
	tables map[string][]string
}

func (d *details) splitTables(ctx context.Context) (split splitTables, err error) {
	split.tables = make(map[string][]string)
	err = d.use(ctx, func(db *database) error {
		tables, err := readCatalog(ctx, db)
		for _, t := range tables {
			if !t.shared {
				split.tables[t.key] = append(split.tables[t.key], t.name)
				split.keys = append(split.keys, t.key)
			}
		}
		return err
	})
	slices.Sort(split.keys)
	split.keys = slices.Compact(split.keys)
	return split, err
}

// message is what SQLite says, without its own words for the kind of error.
func message(err error) string {
	text := err.Error()
	text = strings.TrimPrefix(text, "SQL logic error: ")
	if i := strings.LastIndex(text, " ("); i > 0 && strings.HasSuffix(text, ")") {
		text = text[:i]
	}
	return text
}
