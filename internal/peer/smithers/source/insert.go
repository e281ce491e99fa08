package source

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Ensure creates table, unless the database has a table with this name. It adds missing columns to an existing
// table. If SQLite cannot add a column, the error names the column. The statement table.SQL must create this table
// and do nothing else. Otherwise the error for a missing table wraps ErrDamaged.
//
// table may also describe an index or a trigger. It must then be an element of the result of Schema. Otherwise the
// error wraps ErrDamaged.
func (t *WriteTx) Ensure(table Table) error {
	if kind, _ := created(table.SQL); kind == "INDEX" || kind == "TRIGGER" {
		return t.ensureOther(table)
	}
	if existing := t.Table(table.Name); existing != nil {
		return t.ensureColumns(existing, table.Columns)
	}
	if !isTable(table.SQL, table.Name) {
		return damaged("the statement for table %q does not create that table", table.Name)
	}
	if err := t.exec(table.SQL); err != nil {
		return fmt.Errorf("create table %q: %w", table.Name, err)
	}
	if err := t.load(); err != nil {
		return err
	}
	if t.Table(table.Name) == nil {
		return damaged("the statement for table %q creates another table", table.Name)
	}
	return nil
}

// ensureColumns adds to table each element of columns that table lacks. It cannot add a column of the primary key,
// or a column with an unsafe type. If it cannot add a column, the error names the column.
func (t *WriteTx) ensureColumns(table *Table, columns []Column) error {
	added := false
	for _, column := range columns {
		if table.has(column.Name) {
			continue
		}
		if column.Key > 0 || !isType(column.Type) {
			return fmt.Errorf("table %q lacks column %q, and the column cannot be added", table.Name, column.Name)
		}
		err := t.exec("ALTER TABLE " + quote(table.Name) + " ADD COLUMN " + quote(column.Name) + " " + column.Type)
		if err != nil {
			return fmt.Errorf("add column %q to table %q: %w", column.Name, table.Name, err)
		}
		added = true
	}
	if !added {
		return nil
	}
	return t.load()
}

// ensureOther creates other, an index or a trigger, unless the database already has a table, index or trigger with this
// name. If other is not an index or trigger of Schema, the error wraps ErrDamaged.
func (t *WriteTx) ensureOther(other Table) error {
	known := slices.ContainsFunc(Schema(), func(s Table) bool { return s.SQL == other.SQL })
	if !known {
		return damaged("%q is not an index or trigger of Smithers", other.Name)
	}
	var has bool
	err := t.conn.QueryRowContext(t.ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?)", other.Name).Scan(&has)
	if err != nil || has {
		return explain(err)
	}
	return t.exec(other.SQL)
}

// Insert adds a row to the table whose name is table. If the table does not exist or lacks a column of row, Insert
// returns an error. If a constraint or trigger forbids the row, the error wraps ErrConstraint.
func (t *WriteTx) Insert(table string, row Row) error {
	_, err := t.insert(table, row, false)
	return err
}

// InsertIfNew adds row as Insert does, unless the table has a row with the same primary key. It adds every row to
// a table without a primary key. It reports whether it added row.
func (t *WriteTx) InsertIfNew(table string, row Row) (bool, error) { return t.insert(table, row, true) }

// PutContents stores the texts of a snapshot under hash. hash is the snapshot's stored hash, which may differ from the
// content hash of the texts. PutContents returns true if the database then has these texts under hash. If the database
// has other texts under hash, PutContents adds nothing and returns false.
func (t *WriteTx) PutContents(hash Value, c Contents) (bool, error) {
	row := Row{"content_hash": hash, "ref_count": Value{Kind: Int}} // a trigger counts the references
	for i, text := range []string{c.Nodes, c.Outputs, c.Ralph, c.Input} {
		row[contentColumns[i]] = Value{Kind: Text, Bytes: text}
	}
	isNew, err := t.InsertIfNew(contentsTable, row)
	if err != nil || isNew {
		return isNew, err
	}
	has, err := t.reading().compact(hash.Bytes)
	return has == c, err
}

// insert adds row to the table called name and returns true. If ifNew is true and the table has a row with the
// same primary key, insert adds nothing and returns false. The errors are those of Insert.
func (t *WriteTx) insert(name string, row Row, ifNew bool) (bool, error) {
	table := t.Table(name)
	if table == nil {
		return false, fmt.Errorf("table %q does not exist", name)
	}
	columns := slices.Sorted(maps.Keys(row))
	values := make([]any, len(columns))
	for i, column := range columns {
		if !table.has(column) {
			return false, fmt.Errorf("table %q has no column %q", name, column)
		}
		values[i] = plain(row[column])
	}
	result, err := t.kept.exec(insertInto(table, columns, ifNew), values...)
	if err != nil {
		return false, fmt.Errorf("table %q: %w", name, err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// insertInto returns the INSERT statement for a row of table with values for columns. If ifNew is true and the
// table has a primary key, the statement does nothing for a row whose primary key exists.
func insertInto(table *Table, columns []string, ifNew bool) string {
	statement := "INSERT INTO " + quote(table.Name)
	if len(columns) == 0 {
		return statement + " DEFAULT VALUES"
	}
	statement += " (" + strings.Join(quoteAll(columns), ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	if key := table.key(); ifNew && len(key) > 0 {
		statement += " ON CONFLICT (" + strings.Join(quoteAll(key), ", ") + ") DO NOTHING"
	}
	return statement
}
