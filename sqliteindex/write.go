package sqliteindex

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

const (
	sqlDigest    = `SELECT tips FROM _index_state WHERE id = 1`
	sqlSetDigest = `UPDATE _index_state SET tips = ? WHERE id = 1`
	sqlIndexed   = `SELECT run_id, git_tip FROM _smithers_runs WHERE git_ref = ?`

	// The queries select the fields of tipRow.
	sqlTips       = `SELECT git_ref, git_tip, latest_frame, '' FROM _smithers_runs`
	sqlDetailTips = `SELECT git_ref, git_tip, latest_frame, workflows FROM _smithers_runs JOIN _index_details USING (run_id)`
	sqlOfRef      = ` WHERE git_ref = ?`

	// sqlDropFrames marks the frames on which the newest frame does not build as dropped, and unmarks the others. It
	// changes only rows with a wrong mark. Each step of the recursion goes to a lower frame number, so the recursion
	// ends even with damaged data.
	sqlDropFrames = `WITH RECURSIVE live (frame_no, next) AS (
			SELECT frame_no, based_on FROM _smithers_snapshots WHERE run_id = ?1
				AND frame_no = (SELECT max(frame_no) FROM _smithers_snapshots WHERE run_id = ?1)
			UNION ALL
			SELECT s.frame_no, s.based_on FROM live JOIN _smithers_snapshots AS s ON s.run_id = ?1
				AND s.frame_no = coalesce(live.next,
					(SELECT max(frame_no) FROM _smithers_snapshots WHERE run_id = ?1 AND frame_no < live.frame_no))
			WHERE s.frame_no < live.frame_no)
		UPDATE _smithers_snapshots SET dropped = NOT dropped
		WHERE run_id = ?1 AND dropped = (frame_no IN (SELECT frame_no FROM live))`
)

// tip is the indexed state of a run's ref. Its zero value means that the ref is not indexed.
type tip struct {
	ID          objstore.ID
	LatestFrame int64         // number of the newest frame; snapshot.NoFrame if the run has no frame
	Workflows   []objstore.ID // the workflow definitions that the run has had; only among the details
}

// applyAll makes the changes in one transaction. It skips a change if the run is no longer indexed at the tip
// change.from. For each change, applied reports whether it was made.
func applyAll(ctx context.Context, c *connection, changes []change) (applied []bool, err error) {
	err = c.write(ctx, func(tx *sql.Tx) (err error) {
		w := writer{tx: tx, schema: c.schema, prepared: make(map[string]*sql.Stmt), tables: make(map[string]tableStatements)}
		defer w.close()
		applied, err = w.applyAll(ctx, changes)
		return err
	})
	return applied, err
}

// writer writes rows inside a transaction.
type writer struct {
	tx       *sql.Tx
	schema   schema
	prepared map[string]*sql.Stmt // by statement text
	tables   map[string]tableStatements
}

// tableStatements are the statements that write rows of a table.
type tableStatements struct {
	set, remove string
	key         []int // the places of the primary key among the values of a row
}

// run runs a statement. It prepares the statement at the first use and keeps it in w.prepared.
func (w *writer) run(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt := w.prepared[query]
	if stmt == nil {
		var err error
		if stmt, err = w.tx.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
		w.prepared[query] = stmt
	}
	return stmt.ExecContext(ctx, args...)
}

// exec runs a statement as run does.
func (w *writer) exec(ctx context.Context, query string, args ...any) error {
	_, err := w.run(ctx, query, args...)
	return err
}

// close closes the statements. The end of the transaction also does.
func (w *writer) close() {
	for _, stmt := range w.prepared {
		_ = stmt.Close()
	}
}

// applyAll makes the changes, and stores the digest of the resulting tips. It skips a change if the run is no longer
// indexed at the tip change.from. For each change, the result reports whether it was made.
func (w *writer) applyAll(ctx context.Context, changes []change) ([]bool, error) {
	tips, err := storedDigest(ctx, w.tx)
	if err != nil {
		return nil, err
	}
	applied := make([]bool, len(changes))
	outputs := outputUpdate{writer: w}
	for i, c := range changes {
		runID, current, err := w.isCurrent(ctx, c)
		if err != nil {
			return nil, err
		}
		if applied[i] = current; !current {
			continue
		}
		if err := w.clear(ctx, c, runID); err != nil {
			return nil, err
		}
		if !c.from.IsZero() {
			tips.remove(c.ref, c.from)
		}
		if c.rows != nil {
			runID = c.rows.run.ID
			tips.add(c.ref, c.rows.tip)
		}
		// The columns of output tables depend on the declarations of all runs, so all declarations come before the rows.
		if err := outputs.declare(ctx, runID, c.rows); err != nil {
			return nil, err
		}
	}
	if err := outputs.reshape(ctx); err != nil {
		return nil, err
	}
	for i, c := range changes {
		if !applied[i] || c.rows == nil {
			continue
		}
		if err := w.write(ctx, c.rows); err != nil {
			return nil, err
		}
		if err := outputs.write(ctx, c.rows); err != nil {
			return nil, err
		}
	}
	return applied, w.exec(ctx, sqlSetDigest, tips.bytes())
}

// isCurrent reports whether the run of c is still indexed at the tip c.from. runID is the id of the indexed run, or ""
// if the run is not indexed.
func (w *writer) isCurrent(ctx context.Context, c change) (runID string, current bool, err error) {
	var tip string
	switch err := w.tx.QueryRowContext(ctx, sqlIndexed, c.ref).Scan(&runID, &tip); {
	case errors.Is(err, sql.ErrNoRows):
		return "", c.from.IsZero(), nil
	case err != nil:
		return "", false, scanError(err)
	}
	return runID, tip == c.from.String(), nil
}

// clear deletes the rows of the indexed run, unless c only adds to them.
func (w *writer) clear(ctx context.Context, c change, runID string) error {
	if c.from.IsZero() || c.rows != nil && !c.rows.base.IsZero() {
		return nil
	}
	for _, table := range w.schema.runTables() {
		if err := w.exec(ctx, "DELETE FROM "+table+" WHERE run_id = ?", runID); err != nil {
			return err
		}
	}
	return nil
}

// write writes the rows of a run: first it deletes the rows that are gone, because a new row may have the key of such a
// row. If a new frame does not continue the frame before it, other frames may have been dropped from the timeline or may
// be back in it; write then computes the column dropped of all frames of the run again.
func (w *writer) write(ctx context.Context, r *runRows) error {
	for _, row := range r.gone {
		statements := w.of(row.table)
		key := make([]any, len(statements.key))
		for i, at := range statements.key {
			key[i] = row.values[at]
		}
		if err := w.exec(ctx, statements.remove, key...); err != nil {
			return err
		}
	}
	for _, row := range r.set {
		statements, values := w.of(row.table), row.values
		if statements.set == "" {
			continue // a detail, of a rebuild of both databases
		}
		if !w.schema.detailed && row.table == "_smithers_snapshots" && values[workflowHashAt] != nil {
			values = slices.Clone(values)
			values[workflowHashAt] = nil
		}
		if err := w.exec(ctx, statements.set, values...); err != nil {
			return err
		}
	}
	if !r.stepsOver {
		return nil
	}
	return w.exec(ctx, sqlDropFrames, r.run.ID)
}

// of returns the statements that write rows of a table, or none if the schema lacks the table.
func (w *writer) of(table string) tableStatements {
	s, known := w.tables[table]
	if known {
		return s
	}
	if columns, key := w.schema.columns(table); len(columns) > 0 {
		s.set = "INSERT OR REPLACE INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
		s.remove = "DELETE FROM " + table + " WHERE " + strings.Join(key, " = ? AND ") + " = ?"
		for _, column := range key {
			s.key = append(s.key, slices.Index(columns, column))
		}
	}
	w.tables[table] = s
	return s
}

// storedDigest returns the stored digest of the indexed tips.
func storedDigest(ctx context.Context, q queryer) (digest, error) {
	stored, found, err := first(collect[[]byte](ctx, q, sqlDigest))
	if err != nil {
		return digest{}, err
	}
	if !found {
		return digest{}, damaged("digest of tips")
	}
	return parseDigest(stored)
}

// readDigest returns the stored digest of the indexed tips.
func readDigest(ctx context.Context, c *connection) (d digest, err error) {
	err = c.use(ctx, func(db *database) (err error) {
		d, err = storedDigest(ctx, db)
		return err
	})
	return d, err
}

// readTips returns the indexed tips by ref component. The parameter before is the digest that the caller read before
// it read the refs. If another process has changed the stored digest since, readTips returns errOvertaken. If the tips
// do not match the stored digest, the error wraps errDamaged.
func readTips(ctx context.Context, c *connection, before digest) (map[string]tip, error) {
	tips := make(map[string]tip)
	err := c.use(ctx, func(db *database) error {
		clear(tips)
		tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // nothing was written
		d, err := storedDigest(ctx, tx)
		if err != nil {
			return err
		}
		rows, err := collect[tipRow](ctx, tx, c.schema.tips)
		if err != nil {
			return err
		}
		var sum digest
		for _, r := range rows {
			tips[r.Ref] = r.Tip
			sum.add(r.Ref, r.Tip.ID)
		}
		switch {
		case d != before:
			return errOvertaken
		case sum != d:
			return damaged("digest of tips")
		}
		return nil
	})
	return tips, err
}

// readTip returns the indexed tip of the ref component ref, or the zero tip if the ref is not indexed.
func readTip(ctx context.Context, c *connection, ref string) (t tip, err error) {
	err = c.use(ctx, func(db *database) error {
		row, _, err := first(collect[tipRow](ctx, db, c.schema.tips+sqlOfRef, ref))
		t = row.Tip
		return err
	})
	return t, err
}

// tipRow is an indexed tip with its ref component.
type tipRow struct {
	Ref string
	Tip tip
}
