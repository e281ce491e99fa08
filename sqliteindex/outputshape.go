package sqliteindex

import (
	"context"
	"database/sql"
	"strings"

	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
)

const (
	sqlAddColumn = `INSERT INTO _smithers_output_schema_columns
		(table_name, column_name, kind, output_key, workflow_name, property, json_type) VALUES (?, ?, ?, ?, ?, ?, ?)`
	sqlDropColumns = `DELETE FROM _smithers_output_schema_columns WHERE table_name = ?`

	// sqlKeyViews finds the views with the names of schema keys. All other views have names that begin with _smithers_.
	sqlKeyViews = `SELECT name FROM sqlite_schema WHERE type = 'view' AND name NOT GLOB '_smithers_*'`
)

// setAside is the temporary name of a table while move copies its rows to a new table.
const setAside = "_index_set_aside"

// reshape changes the output tables so that they match the schemas of all runs, and sets u.tables and u.refilled. It
// does nothing if the set of declarations is unchanged. It drops each table that no schema needs any more, and does not
// change a table that already matches. If columns are only added to or removed from a table, reshape copies the rows to
// a new table. It makes every other table anew from the stored entries.
func (u *outputUpdate) reshape(ctx context.Context) error {
	if !u.moved {
		return nil
	}
	want, err := wantedCatalog(ctx, u.tx)
	if err != nil {
		return err
	}
	if err := u.dropKeyViews(ctx); err != nil {
		return err
	}
	have := u.tables
	u.tables, u.refilled = want, make(map[string]bool)
	// Drop first, because a new table may have the name of an old table with other outputs.
	for i := range have {
		if w := want.named(have[i].name); w == nil || !w.sameOutputs(&have[i]) {
			if err := u.dropTable(ctx, &have[i]); err != nil {
				return err
			}
		}
	}
	// Copying the rows of an existing table is cheaper than reading all outputs again.
	for i := range want {
		w := &want[i]
		h := have.named(w.name)
		switch {
		case h == nil || !w.sameOutputs(h):
			err = u.makeAnew(ctx, w)
		case w.same(h):
			continue
		case keepsValues(h, w):
			err = u.move(ctx, h, w)
		default:
			if err = u.dropTable(ctx, h); err == nil {
				err = u.makeAnew(ctx, w)
			}
		}
		if err != nil {
			return err
		}
	}
	return u.makeKeyViews(ctx)
}

// dropKeyViews drops the views that have the names of schema keys.
func (u *outputUpdate) dropKeyViews(ctx context.Context) error {
	views, err := collect(ctx, u.tx, scanString, sqlKeyViews)
	if err != nil {
		return err
	}
	for _, view := range views {
		if err := u.run(ctx, "DROP VIEW "+quoted(view)); err != nil {
			return err
		}
	}
	return nil
}

// makeKeyViews creates a view with the name of the schema key for each table that needs such a view.
func (u *outputUpdate) makeKeyViews(ctx context.Context) error {
	for _, t := range u.tables {
		if t.view == "" {
			continue
		}
		if err := u.run(ctx, "CREATE VIEW "+quoted(t.view)+" AS SELECT * FROM "+quoted(t.name)); err != nil {
			return err
		}
	}
	return nil
}

// run executes a statement without preparing it, because the statement runs only once.
func (u *outputUpdate) run(ctx context.Context, statement string, args ...any) error {
	_, err := u.tx.ExecContext(ctx, statement, args...)
	return err
}

// dropTable drops a table and removes its columns from _smithers_output_schema_columns.
func (u *outputUpdate) dropTable(ctx context.Context, t *outputTable) error {
	if err := u.run(ctx, sqlDropColumns, t.name); err != nil {
		return err
	}
	return u.run(ctx, "DROP TABLE "+quoted(t.name))
}

// create creates an empty table, and lists its columns in _smithers_output_schema_columns. Besides the columns of t,
// the table has columns for the run id, the node id, the iteration and the output as JSON. create does not list these.
func (u *outputUpdate) create(ctx context.Context, t *outputTable) error {
	var b strings.Builder
	b.WriteString("CREATE TABLE " + quoted(t.name) + " (run_id TEXT NOT NULL, node_id TEXT NOT NULL, iteration INTEGER NOT NULL DEFAULT 0")
	for _, c := range t.columns {
		b.WriteString(", " + quoted(c.name) + " " + c.declaration())
	}
	b.WriteString(", " + textColumn + " " + tableColumn{Column: columns.Column{Whole: true, Type: columns.JSON}}.declaration())
	b.WriteString(", PRIMARY KEY (run_id, node_id, iteration))")
	if err := u.run(ctx, b.String()); err != nil {
		return err
	}
	workflow := sql.NullString{String: t.workflow, Valid: !t.shared}
	for _, c := range t.columns {
		property := sql.NullString{String: c.Property, Valid: !c.Whole}
		if err := u.exec(ctx, sqlAddColumn, t.name, c.name, c.Type.Kind(), t.key, workflow, property, string(c.Type)); err != nil {
			return err
		}
	}
	return nil
}

// makeAnew creates the table t, fills t with the outputs of the runs that declare it, and sets u.refilled for t.
func (u *outputUpdate) makeAnew(ctx context.Context, t *outputTable) error {
	u.refilled[t.name] = true
	if err := u.create(ctx, t); err != nil {
		return err
	}
	return u.refill(ctx, t)
}

// keepsValues reports whether the columns that are in both tables have the same types in both. Then the values
// of these columns can be copied.
func keepsValues(from, to *outputTable) bool {
	for _, f := range from.columns {
		for _, t := range to.columns {
			if f.Whole == t.Whole && f.Property == t.Property && f.Type != t.Type {
				return false
			}
		}
	}
	return true
}

// move gives an output table other columns. The table from is the existing table, and the table to is the new table,
// with the same name and the same outputs. move creates the new table, copies the rows with the values of the columns
// that are in both tables, and drops the existing table.
func (u *outputUpdate) move(ctx context.Context, from, to *outputTable) error {
	if err := u.run(ctx, "ALTER TABLE "+quoted(from.name)+" RENAME TO "+setAside); err != nil {
		return err
	}
	if err := u.run(ctx, sqlDropColumns, from.name); err != nil {
		return err
	}
	if err := u.create(ctx, to); err != nil {
		return err
	}
	into := "run_id, node_id, iteration, " + textColumn
	out := into
	for _, t := range to.columns {
		for _, f := range from.columns {
			if f.Column == t.Column {
				into, out = into+", "+quoted(t.name), out+", "+quoted(f.name)
			}
		}
	}
	if err := u.run(ctx, "INSERT INTO "+quoted(to.name)+" ("+into+") SELECT "+out+" FROM "+setAside); err != nil {
		return err
	}
	return u.run(ctx, "DROP TABLE "+setAside)
}
