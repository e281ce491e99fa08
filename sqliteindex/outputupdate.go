package sqliteindex

import (
	"context"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
)

const (
	sqlDeclaredOf = `SELECT output_key, workflow_name, columns FROM _index_outputs WHERE run_id = ?`
	sqlDeclare    = `INSERT INTO _index_outputs (output_key, workflow_name, run_id, columns) VALUES (?, ?, ?, ?)`
	sqlUndeclare  = `DELETE FROM _index_outputs WHERE output_key = ? AND workflow_name = ? AND run_id = ?`
	sqlAnother    = `SELECT EXISTS (SELECT 1 FROM _index_outputs
		WHERE output_key = ? AND workflow_name = ? AND columns = ? AND run_id <> ?)`
)

// outputUpdate writes the outputs of a batch of runs, in tables that match the
// schemas of all runs.
type outputUpdate struct {
	*writer

	tables catalog // the output tables
	moved  bool    // the set of declarations has changed, so tables may change
}

// declare stores the declarations of a run, and removes those that the run no longer has. Where a declaration changed, or
// all rows of the run are replaced, it also deletes the run's rows in the table of the declaration. rows is nil if the
// run leaves the index. declare runs before reshape, while the old tables exist.
func (u *outputUpdate) declare(ctx context.Context, runID string, rows *runRows) (err error) {
	if !u.schema.detailed {
		return nil
	}
	if u.tables == nil {
		if u.tables, err = readCatalog(ctx, u.tx); err != nil {
			return err
		}
	}
	before, err := collect[declaration](ctx, u.tx, sqlDeclaredOf, runID)
	if err != nil {
		return err
	}
	var now map[string]declaration
	if rows != nil {
		now = maps.Clone(rows.declared)
	}
	for _, old := range before {
		kept := now[old.Key] == old
		if kept {
			delete(now, old.Key)
		}
		if !kept || rows.base.IsZero() {
			if err := u.dropRows(ctx, old, runID); err != nil {
				return err
			}
		}
		if !kept {
			if err := u.change(ctx, sqlUndeclare, old, runID, old.Key, old.Workflow, runID); err != nil {
				return err
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(now)) { // the new declarations
		added := now[key]
		if err := u.change(ctx, sqlDeclare, added, runID, added.Key, added.Workflow, runID, added.Columns); err != nil {
			return err
		}
	}
	return nil
}

// change runs statement, which adds or removes the declaration d of the run runID, with args as its arguments. It sets
// u.moved if no other run has the same declaration, because the set of declarations has then changed.
func (u *outputUpdate) change(ctx context.Context, statement string, d declaration, runID string, args ...any) error {
	if err := u.exec(ctx, statement, args...); err != nil || u.moved {
		return err
	}
	var another bool
	if err := u.tx.QueryRowContext(ctx, sqlAnother, d.Key, d.Workflow, d.Columns, runID).Scan(&another); err != nil {
		return scanError(err)
	}
	u.moved = !another
	return nil
}

// dropRows removes a run's rows from the table for the declaration d. If there is no such table, the error
// wraps errDamaged.
func (u *outputUpdate) dropRows(ctx context.Context, d declaration, runID string) error {
	t := u.tables.find(d.Key, d.Workflow)
	if t == nil {
		return damaged("no table for outputs " + d.Key)
	}
	return u.exec(ctx, "DELETE FROM "+quoted(t.name)+" WHERE run_id = ?", runID)
}

// write writes the changed outputs of a run. If a declared key has no table, the error wraps errDamaged.
func (u *outputUpdate) write(ctx context.Context, r *runRows) error {
	for key, outputs := range r.outputs {
		row, err := u.encoder(r.declared[key])
		if err != nil {
			return err
		}
		for _, o := range outputs {
			if err := u.writeRow(ctx, r.run.ID, row, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// encoder returns the encoder for the table of a declaration. If there is no such table, or the columns of d cannot be
// parsed, the error wraps errDamaged.
func (u *outputUpdate) encoder(d declaration) (rowEncoder, error) {
	t := u.tables.find(d.Key, d.Workflow)
	list, err := columns.Parse(d.Columns)
	if t == nil || err != nil {
		return rowEncoder{}, damaged("no table for outputs " + d.Key)
	}
	return newRowEncoder(t, list), nil
}

// writeRow writes the output o of a run into an output table, or removes the output's row if o has no value. The parameter
// row is the encoder for the table.
func (u *outputUpdate) writeRow(ctx context.Context, runID string, row rowEncoder, o outputDelta) error {
	if o.Value == nil {
		return u.exec(ctx, "DELETE FROM "+quoted(row.table.name)+" WHERE run_id = ? AND node_id = ? AND iteration = ?",
			runID, o.NodeID, o.Iteration)
	}
	value := withoutBookkeeping(o.Value)
	return u.exec(ctx, row.table.insert, append([]any{runID, o.NodeID, o.Iteration, string(value)}, row.values(value)...)...)
}
