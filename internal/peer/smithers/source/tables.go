package source

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// readTables returns the ordinary tables of the database, sorted by name. It leaves out views, virtual tables
// with their shadow tables, temporary tables and SQLite's own tables.
func readTables(ctx context.Context, conn *sql.Conn) ([]Table, error) {
	const query = `
		SELECT t.name, m.sql, c.name, c.type, c.pk
		FROM pragma_table_list t
		JOIN sqlite_master m ON m.type = 'table' AND m.name = t.name
		JOIN pragma_table_info(t.name) c
		WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'
		ORDER BY t.name, c.cid`
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, explain(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the same error
	var tables []Table
	for rows.Next() {
		var name, statement string
		var column Column
		if err := rows.Scan(&name, &statement, &column.Name, &column.Type, &column.Key); err != nil {
			return nil, damaged("table %q: %w", name, err)
		}
		if n := len(tables); n == 0 || tables[n-1].Name != name {
			tables = append(tables, Table{Name: name, SQL: statement})
		}
		last := &tables[len(tables)-1]
		last.Columns = append(last.Columns, column)
	}
	return tables, explain(rows.Err())
}

// Others returns the indexes, the triggers and the views of the database that Smithers 0.32.0 does not create, each as
// its kind and its name, sorted.
func (t *Tx) Others() ([]string, error) {
	own := make(map[string]bool)
	for _, one := range Schema() {
		own[one.Name] = true
	}
	rows, err := t.kept.query(`SELECT type, name FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL ORDER BY type, name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the same error
	var others []string
	for rows.Next() {
		var kind, name string
		if err := rows.Scan(&kind, &name); err != nil {
			return nil, damaged("sqlite_master: %w", err)
		}
		if !own[name] {
			others = append(others, kind+" "+name)
		}
	}
	return others, explain(rows.Err())
}

// has reports whether the table has all of columns. The case of ASCII letters does not count.
func (t *Table) has(columns ...string) bool {
	return !slices.ContainsFunc(columns, func(name string) bool { return t.column(name) == nil })
}

// column returns the column with the given name, or nil if the table has no such column. The case of ASCII
// letters does not count.
func (t *Table) column(name string) *Column {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return equalName(c.Name, name) })
	if i < 0 {
		return nil
	}
	return &t.Columns[i]
}

// key returns the names of the primary key's columns in the order of the key, or an empty list without a
// primary key.
func (t *Table) key() []string {
	var columns []Column
	for _, c := range t.Columns {
		if c.Key > 0 {
			columns = append(columns, c)
		}
	}
	slices.SortFunc(columns, func(a, b Column) int { return a.Key - b.Key })
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// rowid returns a name that SQLite reads as the number of a row. If the table has columns with all of these names,
// the result is "".
func (t *Table) rowid() string {
	for _, name := range []string{"rowid", "oid", "_rowid_"} {
		if !t.has(name) {
			return name
		}
	}
	return ""
}

// equalName reports whether SQLite treats a and b as the same name: the case of ASCII letters does not count.
func equalName(a, b string) bool { return lowerName(a) == lowerName(b) }

// lowerName returns name with its ASCII letters in lower case.
func lowerName(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// quote returns name as a quoted identifier in SQL.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quoteAll returns names as quoted identifiers in SQL, in the same order.
func quoteAll(names []string) []string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return quoted
}
