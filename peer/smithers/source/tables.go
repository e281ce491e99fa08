package source

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// readTables lists the ordinary tables: views, virtual tables and their shadows, and
// temporary ones are none.
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

// has reports whether the table has a column, whatever the case of its letters.
func (t *Table) has(columns ...string) bool {
	return !slices.ContainsFunc(columns, func(name string) bool { return t.column(name) == nil })
}

// column finds a column as SQLite does, whatever the case of its letters; nil when there is none.
func (t *Table) column(name string) *Column {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return equalName(c.Name, name) })
	if i < 0 {
		return nil
	}
	return &t.Columns[i]
}

// key is the primary key, in its order.
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

// rowid is a name by which the table's rowid can be had; "" for none.
func (t *Table) rowid() string {
	for _, name := range []string{"rowid", "oid", "_rowid_"} {
		if !t.has(name) {
			return name
		}
	}
	return ""
}

// equalName compares names as SQLite does: only the letters of ASCII have a case.
func equalName(a, b string) bool { return lowerName(a) == lowerName(b) }

func lowerName(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// quote makes an identifier of a name.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteAll(names []string) []string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return quoted
}
