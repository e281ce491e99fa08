package sqliteindex

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	sqlDeclaredOf = `SELECT output_key, workflow_name, columns FROM _index_outputs WHERE run_id = ?`
	sqlDeclare    = `INSERT INTO _index_outputs (output_key, workflow_name, run_id, columns) VALUES (?, ?, ?, ?)`
	sqlUndeclare  = `DELETE FROM _index_outputs WHERE output_key = ? AND workflow_name = ? AND run_id = ?`
	sqlAnother    = `SELECT EXISTS (SELECT 1 FROM _index_outputs
		WHERE output_key = ? AND workflow_name = ? AND columns = ? AND run_id <> ?)`
	sqlDeclaring = `SELECT o.run_id, o.columns, d.git_tip FROM _index_outputs AS o JOIN _index_details AS d USING (run_id)
		WHERE o.output_key = ?1 AND (?2 OR o.workflow_name = ?3)`
	sqlReadAgain = `UPDATE _index_details SET git_tip = '' WHERE run_id = ?`
)

// outputUpdate writes the outputs of a batch of runs, in tables that match the
// schemas of all runs.
type outputUpdate struct {
	*detailWriter

	inBatch  map[string]bool            // ids of the runs in the batch; refill leaves them out
	anew     map[string]map[string]bool // outputs whose declaration changed, by run id and schema key
	moved    bool                       // the set of declarations has changed, so tables may change
	refilled map[string]bool            // names of the newly created tables
}

// declaredOutput is the declaration of one schema key by a run, as stored in _index_outputs.
type declaredOutput struct{ key, workflow, columns string }

// declare stores the declarations of the run of c, and removes the declarations that the run no longer has. It also
// removes rows of the run from the output tables: the rows for each removed declaration. If c removes the run or
// replaces all its rows, declare removes the rows for all old declarations. declare runs before reshape, while the old
// tables exist.
func (u *outputUpdate) declare(ctx context.Context, c detailChange) error {
	u.inBatch[c.runID] = true
	before, err := collect(ctx, u.tx, func(rows *sql.Rows) (d declaredOutput, err error) {
		err = rows.Scan(&d.key, &d.workflow, &d.columns)
		return d, err
	}, sqlDeclaredOf, c.runID)
	if err != nil {
		return err
	}
	now, err := declaredOutputsOf(c.detail)
	if err != nil {
		return err
	}
	whole := c.detail == nil || c.detail.whole // c removes the run, or replaces all its rows
	for _, old := range before {
		kept := now[old.key] == old
		if kept {
			delete(now, old.key)
		}
		if whole || !kept {
			if err := u.dropRows(ctx, old, c.runID); err != nil {
				return err
			}
		}
		if !kept {
			if err := u.change(ctx, sqlUndeclare, old, c.runID, old.key, old.workflow, c.runID); err != nil {
				return err
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(now)) { // the new declarations
		u.writeAnew(c.runID, key)
		added := now[key]
		if err := u.change(ctx, sqlDeclare, added, c.runID, added.key, added.workflow, c.runID, added.columns); err != nil {
			return err
		}
	}
	return nil
}

// declaredOutputsOf returns the declarations of a run's outputs, by schema key. The map is empty if d is nil.
func declaredOutputsOf(d *detail) (map[string]declaredOutput, error) {
	out := make(map[string]declaredOutput)
	if d == nil {
		return out, nil
	}
	for key, columns := range d.declared {
		text, err := columns.Text()
		if err != nil {
			return nil, err
		}
		out[key] = declaredOutput{key, d.workflow, text}
	}
	return out, nil
}

// writeAnew marks all outputs of a run's schema key to be written again.
func (u *outputUpdate) writeAnew(runID, key string) {
	if u.anew == nil {
		u.anew = make(map[string]map[string]bool)
	}
	if u.anew[runID] == nil {
		u.anew[runID] = make(map[string]bool)
	}
	u.anew[runID][key] = true
}

// change runs statement, which adds or removes the declaration d of the run runID, with args as its arguments. It sets
// u.moved if no other run has the same declaration, because the set of declarations has then changed.
func (u *outputUpdate) change(ctx context.Context, statement string, d declaredOutput, runID string, args ...any) error {
	if err := u.exec(ctx, statement, args...); err != nil || u.moved {
		return err
	}
	var another bool
	if err := u.tx.QueryRowContext(ctx, sqlAnother, d.key, d.workflow, d.columns, runID).Scan(&another); err != nil {
		return scanError(err)
	}
	u.moved = !another
	return nil
}

// dropRows removes a run's rows from the table for the declaration d. If there is no such table, the error
// wraps errDamaged.
func (u *outputUpdate) dropRows(ctx context.Context, d declaredOutput, runID string) error {
	t := u.tables.find(d.key, d.workflow)
	if t == nil {
		return damaged("no table for outputs " + d.key)
	}
	return u.exec(ctx, "DELETE FROM "+quoted(t.name)+" WHERE run_id = ?", runID)
}

// rows writes the changed outputs of the run of d. If d.whole is set, these are all outputs of the run. Otherwise, if
// the declaration of a schema key changed or the key's table is new, rows writes all outputs of the key from the run's
// tip. If a declared key has no table, the error wraps errDamaged.
func (u *outputUpdate) rows(ctx context.Context, d *detail) error {
	for _, key := range slices.Sorted(maps.Keys(d.declared)) {
		t := u.tables.find(key, d.workflow)
		if t == nil {
			return damaged("no table for outputs " + key)
		}
		anew := !d.whole && (u.anew[d.runID][key] || u.refilled[t.name])
		if !anew && len(d.outputs[key]) == 0 {
			continue
		}
		row := newRowEncoder(t, d.declared[key])
		if anew {
			if err := u.rowsAnew(ctx, d, row); err != nil {
				return err
			}
			continue
		}
		for _, o := range d.outputs[key] {
			if err := u.row(ctx, d.runID, row, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// rowsAnew replaces the rows of d's run in an output table by all outputs of the run's tip. row is the encoder
// for the table.
func (u *outputUpdate) rowsAnew(ctx context.Context, d *detail, row rowEncoder) error {
	state, err := d.tip.State()
	if err != nil {
		return err
	}
	if err := u.dropRows(ctx, declaredOutput{key: row.table.key, workflow: d.workflow}, d.runID); err != nil {
		return err
	}
	return u.allRows(ctx, d.runID, row, state)
}

// allRows writes all outputs of a state that belong in an output table. row is the encoder for the table.
func (u *outputUpdate) allRows(ctx context.Context, runID string, row rowEncoder, state *snapshot.State) error {
	for r, err := range state.Outputs(row.table.key).Rows() {
		if err != nil {
			return err
		}
		o, err := newOutputDelta(r.Key, r.Value)
		if err != nil {
			return err
		}
		if err := u.row(ctx, runID, row, o); err != nil {
			return err
		}
	}
	return nil
}

// row writes the output o of a run into an output table, or removes the output's row if o has no value. The parameter
// row is the encoder for the table.
func (u *outputUpdate) row(ctx context.Context, runID string, row rowEncoder, o outputDelta) error {
	if o.value == nil {
		return u.exec(ctx, "DELETE FROM "+quoted(row.table.name)+" WHERE run_id = ? AND node_id = ? AND iteration = ?",
			runID, o.nodeID, o.iteration)
	}
	value := withoutBookkeeping(o.value)
	return u.exec(ctx, row.table.insert, append([]any{runID, o.nodeID, o.iteration, string(value)}, row.values(value)...)...)
}

// refill writes the outputs of all runs that declare the new table t, except runs in the batch and runs that
// must be read again. If a run cannot be read, refill marks the run to be read again and sets u.again.
func (u *outputUpdate) refill(ctx context.Context, t *outputTable) error {
	type declaring struct {
		runID, columns, tip string
	}
	runs, err := collect(ctx, u.tx, func(rows *sql.Rows) (d declaring, err error) {
		err = rows.Scan(&d.runID, &d.columns, &d.tip)
		return d, err
	}, sqlDeclaring, t.key, t.shared, t.workflow)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if u.inBatch[run.runID] || run.tip == "" {
			continue
		}
		columns, err := columns.Parse(run.columns)
		if err != nil {
			return damaged("columns of an output: " + err.Error())
		}
		state, err := stateAt(u.r, run.tip)
		if err == nil {
			err = u.allRows(ctx, run.runID, newRowEncoder(t, columns), state)
		}
		if err == nil {
			continue
		}
		if code(err) != 0 || ctx.Err() != nil { // not an error of this run alone
			return err
		}
		u.again = true
		if err := u.exec(ctx, sqlReadAgain, run.runID); err != nil {
			return err
		}
	}
	return nil
}

// stateAt returns the state at the entry whose id is tip, a text of hex digits.
func stateAt(r objstore.Reader, tip string) (*snapshot.State, error) {
	id, err := objstore.ParseID(tip)
	if err != nil {
		return nil, err
	}
	entry, err := snapshot.ReadEntry(r, id)
	if err != nil {
		return nil, err
	}
	return entry.State()
}
