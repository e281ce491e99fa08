package sqliteindex

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/sqliteindex/columns"
)

// Overlay gives a query values that the index does not store. They are in a temporary table, which ends with the query.
type Overlay struct {
	Table   string   // a table or view of the index
	Key     []string // the columns of Table that identify a row
	Columns []string // the columns that the query finds: columns of Table, in place of these, and others behind them

	Count int                              // of the rows
	Row   func(i int) (_ []any, err error) // values of Key and Columns. It must not ask the index
}

// Names reports whether a query has the given word, such as the name of a column, anywhere.
func Names(query, word string) bool { return queryWords(query)[columns.FoldCase(word)] }

// lay fills the temporary table of o, and makes a temporary view that hides o.Table. off removes both.
func (o *Overlay) lay(ctx context.Context, conn *sql.Conn) (off func() error, err error) {
	values, table := "temp."+quoted("_overlay"+o.Table), quoted(o.Table)
	off = func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "DROP VIEW IF EXISTS temp."+table+"; DROP TABLE IF EXISTS "+values)
		return err
	}
	key, all := strings.Join(o.Key, ", "), slices.Concat(o.Key, o.Columns)
	_, err = conn.ExecContext(ctx, "CREATE TABLE "+values+" ("+strings.Join(all, ", ")+", PRIMARY KEY ("+key+"))")
	for i := 0; i < o.Count && err == nil; i++ {
		var row []any
		if row, err = o.Row(i); err == nil {
			_, err = conn.ExecContext(ctx, "INSERT INTO "+values+" VALUES (?"+strings.Repeat(", ?", len(all)-1)+")", row...)
		}
	}
	if err != nil {
		return off, err
	}
	names, err := collect(ctx, conn, func(rows *sql.Rows) (name string, err error) {
		return name, rows.Scan(&name)
	}, "SELECT name FROM pragma_table_xinfo(?, 'main')", o.Table)
	if err != nil {
		return off, err
	}
	names = append(names, slices.DeleteFunc(slices.Clone(o.Columns), func(name string) bool { return slices.Contains(names, name) })...)
	for i, name := range names {
		of := "t."
		if slices.Contains(o.Columns, name) {
			of = "o."
		}
		names[i] = of + name
	}
	_, err = conn.ExecContext(ctx, "CREATE TEMP VIEW "+table+" AS SELECT "+strings.Join(names, ", ")+
		" FROM main."+table+" AS t LEFT JOIN "+values+" AS o USING ("+key+")")
	return off, err
}
