package sqliteindex

import (
	"context"
	"database/sql"
	"errors"

	"github.com/git-smithers/git-smithers/objstore"
)

const (
	sqlDetailTip  = `SELECT git_tip FROM _index_details WHERE run_id = ?`
	sqlIsIndexed  = `SELECT EXISTS (SELECT 1 FROM _smithers_runs WHERE run_id = ?)`
	sqlSetDetail  = `INSERT OR REPLACE INTO _index_details (run_id, git_tip, workflows) VALUES (?, ?, ?)`
	sqlDropDetail = `DELETE FROM _index_details WHERE run_id = ?`
)

// detailTableNames returns the names of the detail tables with rows of runs, except tables of outputs.
func detailTableNames() []string {
	return []string{
		"_smithers_nodes", "_smithers_ralph", "_smithers_events", "_smithers_approvals", "_smithers_human_requests",
		"_smithers_signals", "_smithers_waits", "_smithers_ops", "_smithers_tool_calls", "_smithers_scorers",
		"_index_peer_sandboxes", "input",
	}
}

// detailWriter writes details inside a transaction.
type detailWriter struct {
	tx       *sql.Tx
	r        objstore.Reader
	prepared map[string]*sql.Stmt // by statement text
	tables   catalog              // the output tables
	again    bool                 // a run must be read again
}

// close closes the prepared statements.
func (w *detailWriter) close() error {
	var errs []error
	for _, stmt := range w.prepared {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// exec runs a statement. It prepares the statement at the first use and keeps it in w.prepared.
func (w *detailWriter) exec(ctx context.Context, query string, args ...any) error {
	stmt := w.prepared[query]
	if stmt == nil {
		var err error
		if stmt, err = w.tx.PrepareContext(ctx, query); err != nil {
			return err
		}
		w.prepared[query] = stmt
	}
	_, err := stmt.ExecContext(ctx, args...)
	return err
}

// writeAll makes the changes. It skips a change if another process has changed the stored details of the run since the
// change was read, and then sets w.again. It changes the columns of output tables before it writes rows.
func (w *detailWriter) writeAll(ctx context.Context, changes []detailChange) (err error) {
	if w.tables, err = readCatalog(ctx, w.tx); err != nil {
		return err
	}
	var mine []detailChange
	for _, c := range changes {
		ok, err := w.isCurrent(ctx, c)
		if err != nil {
			return err
		}
		if !ok {
			w.again = true
			continue
		}
		mine = append(mine, c)
	}
	// The columns of output tables depend on the declarations of all runs, so all declarations come before the rows.
	outputs := outputUpdate{detailWriter: w, inBatch: make(map[string]bool)}
	for _, c := range mine {
		if err := w.clear(ctx, c); err != nil {
			return err
		}
		if err := outputs.declare(ctx, c); err != nil {
			return err
		}
	}
	if err := outputs.reshape(ctx); err != nil {
		return err
	}
	for _, c := range mine {
		if c.detail == nil {
			continue
		}
		if err := w.rows(ctx, c.detail); err != nil {
			return err
		}
		if err := outputs.rows(ctx, c.detail); err != nil {
			return err
		}
		if err := w.exec(ctx, sqlSetDetail, c.runID, c.tip.String(), joinIDs(c.detail.workflows)); err != nil {
			return err
		}
	}
	return nil
}

// isCurrent reports whether the index is unchanged since c was read. Two conditions must hold. The stored details are
// still at the entry c.from, or there are still none if c.known is false. The run is indexed if c.tip is not zero, and
// not indexed if c.tip is zero.
func (w *detailWriter) isCurrent(ctx context.Context, c detailChange) (bool, error) {
	var tip string
	err := w.tx.QueryRowContext(ctx, sqlDetailTip, c.runID).Scan(&tip)
	known := !errors.Is(err, sql.ErrNoRows)
	if err != nil && known {
		return false, scanError(err)
	}
	from := ""
	if !c.from.IsZero() {
		from = c.from.String()
	}
	var indexed bool
	if err := w.tx.QueryRowContext(ctx, sqlIsIndexed, c.runID).Scan(&indexed); err != nil {
		return false, scanError(err)
	}
	return known == c.known && tip == from && indexed == !c.tip.IsZero(), nil
}

// clear removes the stored details that c replaces, except outputs. These are all stored details of the run if c
// removes the run or has details read from its whole chain. Otherwise, c only adds to the stored details, and clear
// does nothing.
func (w *detailWriter) clear(ctx context.Context, c detailChange) error {
	if c.detail != nil && !c.detail.whole || !c.known {
		return nil
	}
	for _, table := range detailTableNames() {
		if err := w.exec(ctx, "DELETE FROM "+table+" WHERE run_id = ?", c.runID); err != nil {
			return err
		}
	}
	if err := w.exec(ctx, sqlClearHashes, c.runID); err != nil {
		return err
	}
	return w.exec(ctx, sqlDropDetail, c.runID)
}
