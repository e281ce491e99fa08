package sqliteindex

import (
	"context"
	"database/sql"
	"strings"

	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
	"github.com/git-smithers/git-smithers/objstore"
)

// batchRows is the approximate number of detail rows in one transaction.
const batchRows = 8192

// behind is a run whose details are older than its tip.
type behind struct {
	runID     string
	ref       string
	tip       objstore.ID   // zero means that the run no longer exists
	known     bool          // the run has details
	from      objstore.ID   // the entry of the details; zero means no details, or details that must be read again
	workflows []objstore.ID // the workflow definitions that the details include
}

// The queries select the fields of behind. d.git_tip is empty if the details must be read again as a whole.
const (
	sqlBehind = `SELECT r.run_id, r.git_ref, r.git_tip, d.git_tip, d.workflows
		FROM _smithers_runs AS r LEFT JOIN _index_details AS d USING (run_id)
		WHERE d.git_tip IS NOT r.git_tip`
	sqlRunBehind = sqlBehind + ` AND run_id = ?`
	sqlGone      = `SELECT run_id, '', '', git_tip, workflows FROM _index_details
		WHERE run_id NOT IN (SELECT run_id FROM _smithers_runs)`
)

// runsBehind returns the runs whose details are not at the tip in their base row. It looks only at the runs in d.asked,
// or at all runs if d.asked is empty. It also returns all runs that have details but no longer exist.
func (d *details) runsBehind(ctx context.Context) (runs []behind, err error) {
	err = d.conn.use(ctx, func(db *database) error {
		// use may call this function again after a temporary error.
		runs = nil
		add := func(query string, args ...any) error {
			rows, err := collect(ctx, db, scanBehind, query, args...)
			runs = append(runs, rows...)
			return err
		}
		if err := add(sqlGone); err != nil {
			return err
		}
		if len(d.asked) == 0 {
			return add(sqlBehind)
		}
		for _, runID := range d.asked {
			if err := add(sqlRunBehind, runID); err != nil {
				return err
			}
		}
		return nil
	})
	return runs, err
}

// scanBehind converts the current row of sqlBehind, sqlRunBehind or sqlGone. The columns of ids may be empty or NULL.
func scanBehind(rows *sql.Rows) (b behind, err error) {
	var tip string
	var from, workflows sql.NullString
	if err := rows.Scan(&b.runID, &b.ref, &tip, &from, &workflows); err != nil {
		return b, err
	}
	b.known = from.Valid
	if b.tip, err = parseOptionalID(tip); err != nil {
		return b, err
	}
	if b.from, err = parseOptionalID(from.String); err != nil {
		return b, err
	}
	for word := range strings.FieldsSeq(workflows.String) {
		id, err := objstore.ParseID(word)
		if err != nil {
			return b, err
		}
		b.workflows = append(b.workflows, id)
	}
	return b, nil
}

// parseOptionalID returns the id that text encodes, or the zero id if text is empty.
func parseOptionalID(text string) (objstore.ID, error) {
	if text == "" {
		return objstore.ID{}, nil
	}
	return objstore.ParseID(text)
}

// joinIDs returns ids as one text, separated by spaces. scanBehind parses it.
func joinIDs(ids []objstore.ID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, " ")
}

// detailChange is a change of one run's details. It is valid only while the stored details are at the entry
// behind.from.
type detailChange struct {
	behind

	detail  *detail // nil means that the details are removed
	problem error   // the reason why the details are removed although the run exists; otherwise nil
}

// read reads the run's new details and returns the change that stores them. If the run no longer exists, the change
// removes the run's details. If the run cannot be read, the change also removes the details, and its problem is a
// *RunError.
func (b behind) read(ctx context.Context, r objstore.Reader, schemas *columns.Cache) detailChange {
	c := detailChange{behind: b}
	if b.tip.IsZero() {
		return c
	}
	err := ctx.Err()
	if err == nil {
		c.detail, err = readDetail(ctx, r, schemas, b)
	}
	if err != nil {
		c.detail, c.problem = nil, &RunError{Ref: b.ref, Tip: b.tip, Err: err}
	}
	return c
}

// detailUpdate reads runs in parallel and writes their details in batches.
type detailUpdate struct {
	details  *details
	progress func(done, total int) // called after each run; may be nil
	total    int                   // number of runs to read

	batch    []detailChange // read but not yet written
	rows     int            // rows in batch
	done     int            // number of runs read
	problems []error        // one for each run that could not be read
	again    bool           // another process changed a run, or a run must be read again
}

// run reads the runs and writes their details. It returns errOvertaken if another process changed one of the
// runs, or if a run must be read again.
func (u *detailUpdate) run(ctx context.Context, runs []behind) error {
	schemas := columns.NewCache()
	read := func(ctx context.Context, b behind) detailChange { return b.read(ctx, u.details.opts.Objects, schemas) }
	if err := readEach(ctx, runs, read, u.take); err != nil {
		return err
	}
	if err := u.flush(ctx); err != nil {
		return err
	}
	if u.again {
		return errOvertaken
	}
	return nil
}

// take adds a change to the batch, records the change's problem, and reports the progress. A change that removes
// details is added only if the database has details of the run. If the batch has at least batchRows rows, take writes
// the batch.
func (u *detailUpdate) take(ctx context.Context, c detailChange) error {
	if c.problem != nil {
		u.problems = append(u.problems, c.problem)
	}
	if c.detail != nil || c.known {
		u.batch = append(u.batch, c)
	}
	if c.detail != nil {
		u.rows += c.detail.size()
	}
	u.done++
	if u.progress != nil {
		u.progress(u.done, u.total)
	}
	if u.rows < batchRows {
		return nil
	}
	return u.flush(ctx)
}

// size returns the approximate number of rows of d. Every 4096 bytes of an input or output count as one more
// row.
func (d *detail) size() int {
	const longText = 4096
	n := len(d.events) + len(d.nodes) + len(d.loops) + len(d.approvals) + len(d.humans) + len(d.signals) + len(d.waits)
	n += len(d.calls) + len(d.scores)
	n += len(d.input.text) / longText
	for _, outputs := range d.outputs {
		n += len(outputs)
		for _, o := range outputs {
			n += len(o.value) / longText
		}
	}
	return n
}

// flush writes the changes of the batch, empties the batch, and sets u.again if a run must be read again.
func (u *detailUpdate) flush(ctx context.Context) error {
	if len(u.batch) == 0 {
		return nil
	}
	again, err := u.details.write(ctx, u.batch)
	u.again = u.again || again
	u.batch, u.rows = nil, 0
	return err
}

// write makes the changes in one transaction. again is true if runs must be read again. There are two reasons. Another
// process may have changed the stored details of a run; write then skips the change of this run. Or write may have
// marked a run that is not in changes as outdated.
func (d *details) write(ctx context.Context, changes []detailChange) (again bool, err error) {
	err = d.conn.use(ctx, func(db *database) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		w := detailWriter{tx: tx, r: d.opts.Objects, prepared: map[string]*sql.Stmt{}}
		err = w.writeAll(ctx, changes)
		if closing := w.close(); err == nil {
			err = closing
		}
		if err != nil {
			_ = tx.Rollback() // err is the first error
			return err
		}
		again = w.again
		return tx.Commit()
	})
	return again, err
}
