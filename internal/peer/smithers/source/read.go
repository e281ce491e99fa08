package source

import (
	"context"
	"database/sql"
	"iter"
	"slices"
	"strings"
)

const runsTable = "_smithers_runs"

// Tx is a read transaction. All its rows are from one state of the database, unless [Tx.Check] returns an error.
type Tx struct {
	ctx    context.Context //nolint:containedctx // the context of the transaction, which lives as long as the Tx
	conn   *sql.Conn
	tables []Table // sorted by name
	limit  int64   // the greatest size in bytes of unpacked contents
	kept   *statements
	check  func() error // nil if a lock keeps the state unchanged
}

// Check returns ErrOvertaken if the rows read so far may be from more than one state of the database. A call takes
// some microseconds.
func (t *Tx) Check() error {
	if t.check == nil {
		return nil
	}
	return t.check()
}

// Tables returns the ordinary tables of the database, sorted by name. Views, virtual tables and SQLite's own
// tables are left out.
func (t *Tx) Tables() []Table { return slices.Clone(t.tables) }

// Table returns the table with the given name, or nil if the database has no such table. The case of ASCII
// letters does not count.
func (t *Tx) Table(name string) *Table { return findTable(t.tables, name) }

// findTable returns the element of tables with the given name, or nil if tables has no such element. The case of
// ASCII letters does not count.
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

// Rows yields the rows of a table. run is the id of a run: Rows yields the rows with this run_id, or all rows if
// run is "". The rows are in the order of the primary key. Without a primary key, they are in the order of rowid.
// Rows yields no rows if the table does not exist, or if run is not "" and the table has no run_id.
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

// Count returns the number of rows that Rows would yield for the same table and run.
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

// Greatest returns the greatest value of a column in the rows of a run. If there is no such row or column,
// the result is NULL. With an index on run_id and the column, the cost does not depend on the number of rows.
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

// ofRun returns the WHERE clause for the rows of a run, and the parameters of the clause. run is the id of the
// run. If run is "", the clause and the parameters are empty, which selects all rows. ok is false if table is nil,
// or if run is not "" and the table has no run_id. The clause compares run ids byte by byte.
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

// query runs the statement query with the parameters args, and yields the rows. The statement must begin with
// selectFrom(table). After an error, query yields no further row.
func (t *Tx) query(table *Table, query string, args ...any) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		rows, err := t.kept.query(query, args...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close() //nolint:errcheck // rows.Err returns the same error
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
