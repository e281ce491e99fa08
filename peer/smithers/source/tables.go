package source

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// readTables returns the ordinary tables. It leaves out views, virtual tables with their shadow tables, and temporary
// tables.
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
	defer rows.Close() //nolint:errcheck // Err says the same
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

// has reports whether the table has all of the columns. It ignores case.
func (t *Table) has(columns ...string) bool {
	return !slices.ContainsFunc(columns, func(name string) bool { return t.column(name) == nil })
}

// column returns a column by its name, or nil. It ignores case, as SQLite does.
func (t *Table) column(name string) *Column {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return equalName(c.Name, name) })
	if i < 0 {
		return nil
	}
	return &t.Columns[i]
}

// key returns the columns of the primary key, in order.
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

// rowid returns a name that selects the table's rowid, or "" if columns have all possible names.
func (t *Table) rowid() string {
	for _, name := range []string{"rowid", "oid", "_rowid_"} {
		if !t.has(name) {
			return name
		}
	}
	return ""
}

// equalName compares names as SQLite does: it ignores the case of ASCII letters only.
func equalName(a, b string) bool { return lowerName(a) == lowerName(b) }

func lowerName(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// quote returns a name as a quoted identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteAll(names []string) []string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return quoted
}
