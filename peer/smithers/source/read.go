package source

import (
	"context"
	"database/sql"
	"iter"
	"slices"
	"strings"
)

const runsTable = "_smithers_runs"

// Tx is a read transaction. It sees one state of the database, unless [Tx.Check] fails.
type Tx struct {
	ctx    context.Context //nolint:containedctx // of the transaction, which lives as long
	conn   *sql.Conn
	tables []Table
	limit  int64
	kept   *statements
	check  func() error // nil if a lock keeps the state unchanged
}

// Check returns ErrOvertaken if the rows read so far may be from more than one state of the database. It costs some
// microseconds.
func (t *Tx) Check() error {
	if t.check == nil {
		return nil
	}
	return t.check()
}

// Tables lists the tables, sorted by name, without SQLite's own.
func (t *Tx) Tables() []Table { return slices.Clone(t.tables) }

// Table returns the table with a name, or nil.
func (t *Tx) Table(name string) *Table { return findTable(t.tables, name) }

func findTable(tables []Table, name string) *Table {
	i := slices.IndexFunc(tables, func(t Table) bool { return equalName(t.Name, name) })
	if i < 0 {
		return nil
	}
	return &tables[i]
}

// Runs returns the rows of _smithers_runs in the order of (created_at_ms, run_id).
func (t *Tx) Runs() ([]Row, error) {
	var runs []Row
	table := t.Table(runsTable)
	for row, err := range t.query(table, selectFrom(table)+" ORDER BY created_at_ms, run_id") {
		if err != nil {
			return nil, err
		}
		runs = append(runs, row)
	}
	return runs, nil
}

// Rows yields the rows of a table in the order of its primary key, or of rowid if it has none: the rows whose run_id
// is run, or all rows if run is "". If the table does not exist, or run is not "" and the table has no run_id, it
// yields no rows.
func (t *Tx) Rows(table, run string) iter.Seq2[Row, error] {
	in := t.Table(table)
	where, args, ok := ofRun(in, run)
	if !ok {
		return func(func(Row, error) bool) {}
	}
	order := strings.Join(quoteAll(in.key()), ", ")
	if order == "" {
		order = in.rowid()
	}
	if order != "" {
		order = " ORDER BY " + order
	}
	return t.query(in, selectFrom(in)+where+order, args...)
}

// Count returns the number of rows that Rows would yield.
func (t *Tx) Count(table, run string) (int64, error) {
	in := t.Table(table)
	where, args, ok := ofRun(in, run)
	if !ok {
		return 0, nil
	}
	var n int64
	err := t.conn.QueryRowContext(t.ctx, "SELECT count(*) FROM "+quote(in.Name)+where, args...).Scan(&n)
	return n, explain(err)
}

// Greatest returns the greatest value of a column in the rows of a run, or NULL. With an index on run_id and the
// column, the cost does not depend on the number of rows.
func (t *Tx) Greatest(table, run, column string) (Value, error) {
	in := t.Table(table)
	where, args, ok := ofRun(in, run)
	if !ok || !in.has(column) {
		return Value{}, nil
	}
	var value any
	err := t.conn.QueryRowContext(t.ctx, "SELECT max("+quote(column)+") FROM "+quote(in.Name)+where, args...).Scan(&value)
	if err != nil {
		return Value{}, explain(err)
	}
	return valueOf(value)
}

// ofRun returns the condition for the rows of a run. It compares run ids byte by byte.
func ofRun(table *Table, run string) (where string, args []any, ok bool) {
	switch {
	case table == nil:
		return "", nil, false
	case run == "":
		return "", nil, true
	}
	column := table.column("run_id")
	if column == nil {
		return "", nil, false
	}
	return " WHERE " + quote(column.Name) + " = ? COLLATE BINARY", []any{run}, true
}

// query yields the rows of a statement that begins with selectFrom(table).
func (t *Tx) query(table *Table, query string, args ...any) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		rows, err := t.kept.query(query, args...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close() //nolint:errcheck // Err says the same
		scan := newScanner(table)
		for rows.Next() {
			row, err := scan.row(rows)
			if !yield(row, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, explain(err))
		}
	}
}
