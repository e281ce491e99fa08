package sqliteindex

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
)

const (
	sqlAddColumn = `INSERT INTO _smithers_output_schema_columns
		(table_name, column_name, kind, output_key, workflow_name, property, json_type) VALUES (?, ?, ?, ?, ?, ?, ?)`
	sqlDropColumns = `DELETE FROM _smithers_output_schema_columns WHERE table_name = ?`
	sqlDeclaring   = `SELECT run_id, output_key, workflow_name, columns FROM _index_outputs WHERE output_key = ?`

	// sqlKeyViews finds the views with the names of schema keys. All other views have names that begin with _smithers_.
	sqlKeyViews = `SELECT name FROM sqlite_schema WHERE type = 'view' AND name NOT GLOB '_smithers_*'`
)

// reshape changes the output tables so that they match the schemas of all runs, and sets u.tables. It does nothing if the
// set of declarations is unchanged. Where the tables of a schema key change, it makes these tables anew, and encodes the
// outputs again from the column with the whole output.
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
	changed := differingKeys(u.tables, want)
	have := u.tables
	u.tables = want
	// Rename first, because a new table may have the name of an old table with other outputs.
	for i := range have {
		if changed[have[i].key] {
			if err := u.setAside(ctx, have[i].name, i); err != nil {
				return err
			}
		}
	}
	for i := range want {
		if changed[want[i].key] {
			if err := u.create(ctx, &want[i]); err != nil {
				return err
			}
		}
	}
	for i := range have {
		if changed[have[i].key] {
			if err := u.refill(ctx, have[i].key, asideName(i)); err != nil {
				return err
			}
		}
	}
	return u.makeKeyViews(ctx)
}

// differingKeys returns the schema keys whose tables differ between two catalogs.
func differingKeys(have, want catalog) map[string]bool {
	keys := make(map[string]bool)
	for _, pair := range [][2]catalog{{have, want}, {want, have}} {
		for i := range pair[0] {
			if other := pair[1].named(pair[0][i].name); other == nil || !other.same(&pair[0][i]) {
				keys[pair[0][i].key] = true
			}
		}
	}
	return keys
}

// asideName returns the temporary name of the i-th of the old tables, while reshape encodes its rows again.
func asideName(i int) string { return "_index_aside_" + strconv.Itoa(i) }

// setAside renames a table, and removes its columns from _smithers_output_schema_columns.
func (u *outputUpdate) setAside(ctx context.Context, name string, i int) error {
	if err := u.run(ctx, "ALTER TABLE "+quoted(name)+" RENAME TO "+asideName(i)); err != nil {
		return err
	}
	return u.run(ctx, sqlDropColumns, name)
}

// refill encodes the rows of a table that was set aside as rows of the new tables of a schema key, run by run, and drops
// the table.
func (u *outputUpdate) refill(ctx context.Context, key, aside string) error {
	type declaring struct {
		RunID string
		Said  declaration
	}
	runs, err := collect[declaring](ctx, u.tx, sqlDeclaring, key)
	if err != nil {
		return err
	}
	for _, run := range runs {
		outputs, err := collect[outputDelta](ctx, u.tx, "SELECT node_id, iteration, "+textColumn+" FROM "+aside+" WHERE run_id = ?", run.RunID)
		if err != nil {
			return err
		}
		row, err := u.encoder(run.Said)
		if err != nil {
			return err
		}
		for _, o := range outputs {
			if err := u.writeRow(ctx, run.RunID, row, o); err != nil {
				return err
			}
		}
	}
	return u.run(ctx, "DROP TABLE "+aside)
}

// dropKeyViews drops the views that have the names of schema keys.
func (u *outputUpdate) dropKeyViews(ctx context.Context) error {
	views, err := collect[string](ctx, u.tx, sqlKeyViews)
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

// create creates an empty table, and lists its columns in _smithers_output_schema_columns. Besides the columns of t,
// the table has columns for the run id, the node id, the iteration and the output as JSON. create does not list these.
func (u *outputUpdate) create(ctx context.Context, t *outputTable) error {
	var b strings.Builder
	b.WriteString("CREATE TABLE " + quoted(t.name) + " (run_id TEXT NOT NULL, node_id TEXT NOT NULL, iteration INTEGER NOT NULL DEFAULT 0")
	for _, c := range t.columns {
		b.WriteString(", " + quoted(c.name) + " " + declarationOf(c.Type))
	}
	b.WriteString(", " + textColumn + " " + declarationOf(columns.JSON))
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
