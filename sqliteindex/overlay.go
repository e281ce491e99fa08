package sqliteindex

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
)

// Overlay gives a query values that the index does not store. They are in a temporary table, which ends with the query.
type Overlay struct {
	Table   string   // a table or view of the index
	Key     []string // the columns of Table that identify a row
	Columns []string // the columns that the query finds: columns of Table, in place of these, and others behind them
	New     bool     // Table is no table of the index, but has the rows alone; a table of that name is hidden

	Count int                              // of the rows
	Row   func(i int) (_ []any, err error) // values of Key and Columns. It must not ask the index
}

// Names reports whether a query has the given word, such as the name of a column, anywhere.
func Names(query, word string) bool { return queryWords(query)[columns.FoldCase(word)] }

// lay fills the temporary table of o, and makes a temporary view that hides o.Table.
func (o *Overlay) lay(ctx context.Context, conn *sql.Conn) error {
	values, key, all := "temp."+quoted("_overlay"+o.Table), strings.Join(o.Key, ", "), slices.Concat(o.Key, o.Columns)
	_, err := conn.ExecContext(ctx, "CREATE TABLE "+values+" ("+strings.Join(all, ", ")+", PRIMARY KEY ("+key+"))")
	for i := 0; i < o.Count && err == nil; i++ {
		row, failed := o.Row(i)
		if err = failed; err == nil {
			_, err = conn.ExecContext(ctx, "INSERT INTO "+values+" VALUES (?"+strings.Repeat(", ?", len(all)-1)+")", row...)
		}
	}
	if err == nil && o.New {
		_, err = conn.ExecContext(ctx, "CREATE TEMP VIEW "+quoted(o.Table)+" AS SELECT * FROM "+values)
	}
	if err != nil || o.New {
		return err
	}
	names, err := collect[string](ctx, conn, "SELECT name FROM pragma_table_xinfo(?, 'main')", o.Table)
	for i, name := range names {
		if slices.Contains(o.Columns, name) {
			names[i] = "o." + name
		} else {
			names[i] = "t." + name
		}
	}
	for _, name := range o.Columns {
		if !slices.Contains(names, "o."+name) {
			names = append(names, "o."+name)
		}
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "CREATE TEMP VIEW "+quoted(o.Table)+" AS SELECT "+strings.Join(names, ", ")+
			" FROM main."+quoted(o.Table)+" AS t LEFT JOIN "+values+" AS o USING ("+key+")")
	}
	return err
}

// remove removes what lay has made. The next query must not find it, so otherwise the connection goes.
func (o *Overlay) remove(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(ctx, "DROP VIEW IF EXISTS temp."+quoted(o.Table)+"; DROP TABLE IF EXISTS temp."+quoted("_overlay"+o.Table)); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}
