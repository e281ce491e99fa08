package inspect

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// sqlTables selects the columns of all tables and views, except those of SQLite and of the index itself. The tables
// whose names begin with _smithers_ come first.
const sqlTables = `SELECT t.name, c.name, c.type
	FROM sqlite_schema AS t JOIN pragma_table_xinfo(t.name) AS c
	WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name NOT LIKE '\_index\_%' ESCAPE '\'
	ORDER BY t.name NOT LIKE '\_smithers\_%' ESCAPE '\', t.name, c.cid`

// printTables prints a line for each table of the index, with its name and columns. With --json, it prints a document
// for each table.
func printTables(ctx context.Context, s *session.Session, index *sqliteindex.Index) error {
	answer, err := index.Query(ctx, sqlTables)
	if err != nil {
		return err
	}
	var tables []sqlTable
	for _, row := range answer.Rows {
		name, column := sqlText(row[0]), sqlColumn{Name: sqlText(row[1]), Type: columnType(sqlText(row[2]))}
		if n := len(tables); n > 0 && tables[n-1].Name == name {
			tables[n-1].Columns = append(tables[n-1].Columns, column)
			continue
		}
		tables = append(tables, sqlTable{name, []sqlColumn{column}})
	}
	for i := range tables {
		if tables[i].Name == stateTable {
			for _, name := range stateColumns() {
				tables[i].Columns = append(tables[i].Columns, sqlColumn{name, "JSON", withState})
			}
		}
	}
	if s.JSON {
		return term.WriteAll(s.Terminal, "table", tables)
	}
	return s.Paged(ctx, func() error { return printTableNames(s, tables) })
}

// columnType returns the type of a column for people: the first word of the declared type. In a table of outputs,
// this word is the kind of the field.
func columnType(declared string) string {
	kind, _, _ := strings.Cut(declared, " ")
	return kind
}

// printTableNames prints a line for each table: its name, and the names of its columns.
func printTableNames(s *session.Session, tables []sqlTable) error {
	t := term.Table{Header: []string{"TABLE", "COLUMNS"}}
	for _, doc := range tables {
		names := make([]string, len(doc.Columns))
		for i, column := range doc.Columns {
			if names[i] = column.Name; column.With != "" {
				names[i] += " (" + column.With + ")"
			}
		}
		t.Add(term.Cell{Text: doc.Name}, term.Cell{Text: strings.Join(names, ", ")})
	}
	return t.Write(s.Terminal)
}
