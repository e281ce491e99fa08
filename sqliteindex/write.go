package sqliteindex

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	sqlDigest    = `SELECT tips FROM _index_state WHERE id = 1`
	sqlSetDigest = `UPDATE _index_state SET tips = ? WHERE id = 1`

	sqlTips = `SELECT git_ref, git_tip, latest_frame FROM _smithers_runs`
	sqlTip  = sqlTips + ` WHERE git_ref = ?`

	sqlIndexed        = `SELECT run_id, git_tip FROM _smithers_runs WHERE git_ref = ?`
	sqlDeleteFrames   = `DELETE FROM _smithers_snapshots WHERE run_id = ?`
	sqlDeleteAttempts = `DELETE FROM _index_attempts WHERE run_id = ?`
	sqlDeleteRun      = `DELETE FROM _smithers_runs WHERE run_id = ?`

	sqlInsertFrame = `INSERT INTO _smithers_snapshots
		(run_id, frame_no, content_hash, created_at_ms, vcs, vcs_root, operation_id, tree_id, based_on, subject, git_commit)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

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

	sqlInsertAttempt = `INSERT OR REPLACE INTO _index_attempts
		(run_id, node_id, iteration, attempt, state, started_at_ms, finished_at_ms, error, exit_status,
		commit_id, tree_id, frame_no, worktree, cached_from, sandbox)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	sqlInsertRun = `INSERT OR REPLACE INTO _smithers_runs
		(run_id, parent_run_id, workflow_name, workflow_path, workflow_hash, status,
		created_at_ms, started_at_ms, finished_at_ms, runtime_owner_id, vcs_type, vcs_root, vcs_revision, error,
		epoch, parent_frame_no, parent_commit, extension, branch_label, fork_description, forked_at_ms, fork_undone, updated_at_ms,
		latest_frame, vcs, git_ref, git_tip)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// applyAll makes the changes in one transaction. It skips a change if the run is no longer indexed at the tip
// change.from. For each change, applied reports whether it was made.
func applyAll(ctx context.Context, c *connection, changes []change) (applied []bool, err error) {
	err = c.use(ctx, func(db *database) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if applied, err = applyIn(ctx, tx, changes); err != nil {
			_ = tx.Rollback() // err is the first error
			return err
		}
		return tx.Commit()
	})
	return applied, err
}

// applyIn makes the changes inside tx, and stores the digest of the resulting tips. It skips a change if the run is no
// longer indexed at the tip change.from. For each change, the result reports whether it was made.
func applyIn(ctx context.Context, tx *sql.Tx, changes []change) ([]bool, error) {
	insertFrame, err := tx.PrepareContext(ctx, sqlInsertFrame)
	if err != nil {
		return nil, err
	}
	defer func() { _ = insertFrame.Close() }() // the end of the transaction also closes the statement
	insertAttempt, err := tx.PrepareContext(ctx, sqlInsertAttempt)
	if err != nil {
		return nil, err
	}
	defer func() { _ = insertAttempt.Close() }() // the end of the transaction also closes the statement
	insertID, err := tx.PrepareContext(ctx, sqlInsertID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = insertID.Close() }() // the end of the transaction also closes the statement
	w := writer{tx, insertFrame, insertAttempt, insertID}
	var stored []byte
	if err := tx.QueryRowContext(ctx, sqlDigest).Scan(&stored); err != nil {
		return nil, scanError(err)
	}
	tips, err := parseDigest(stored)
	if err != nil {
		return nil, err
	}
	applied := make([]bool, len(changes))
	for i, c := range changes {
		if applied[i], err = w.apply(ctx, c); err != nil {
			return nil, err
		}
		if !applied[i] {
			continue
		}
		if !c.from.IsZero() {
			tips.remove(c.ref, c.from)
		}
		if c.chain != nil {
			tips.add(c.ref, c.chain.tip)
		}
	}
	_, err = tx.ExecContext(ctx, sqlSetDigest, tips.bytes())
	return applied, err
}

// writer writes rows inside a transaction. Only the statements that run for each frame, id of a frame or
// attempt are prepared.
type writer struct {
	tx            *sql.Tx
	insertFrame   *sql.Stmt
	insertAttempt *sql.Stmt
	insertID      *sql.Stmt
}

// apply makes the change and returns true. If the change has no chain, apply removes the run's rows. If the chain is
// the whole chain of the run, apply replaces the run's rows; otherwise, apply adds the chain's rows. If the run is no
// longer indexed at c.from, because another process updated the index, apply changes nothing and returns false.
func (w writer) apply(ctx context.Context, c change) (bool, error) {
	var runID, tipText string
	err := w.tx.QueryRowContext(ctx, sqlIndexed, c.ref).Scan(&runID, &tipText)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, scanError(err)
	}
	// If err is not nil, the run is not indexed.
	if err == nil && tipText != c.from.String() || err != nil && !c.from.IsZero() {
		return false, nil
	}
	// A chain with a base adds to the run's rows. In all other cases, delete the old rows.
	if !c.from.IsZero() && (c.chain == nil || c.chain.base.IsZero()) {
		for _, statement := range []string{sqlDeleteFrames, sqlDeleteIDs, sqlDeleteAttempts, sqlDeleteRun} {
			if _, err := w.tx.ExecContext(ctx, statement, runID); err != nil {
				return false, err
			}
		}
	}
	if c.chain == nil {
		return true, nil
	}
	return true, w.insert(ctx, c.chain)
}

// insert writes the run's row, the new frames, and the new or changed attempts. If a new frame does not continue the
// frame before it (Based is set), other frames may have been dropped from the timeline or may be back in it. insert
// then computes the column dropped of all frames of the run again.
func (w writer) insert(ctx context.Context, c *chain) error {
	run := c.run
	var parentID, label, description any
	var parentFrame, parentCommit, extension, forkedAt any
	undone := false
	if p := run.Parent; p != nil {
		parentID, parentFrame, forkedAt, undone = p.RunID, p.Frame, p.AtMs, p.Undone
		label, description = nullable(p.Label), nullable(p.Description)
		if parentCommit = p.Commit.String(); !p.Extension.IsZero() {
			extension = p.Extension.String()
		}
	}
	if c := run.Caller; c != nil && run.Parent == nil {
		parentID = c.RunID
	}
	_, err := w.tx.ExecContext(ctx, sqlInsertRun, run.ID, parentID, run.Workflow, nullable(run.WorkflowPath),
		nullable(run.WorkflowHash), string(run.Status), run.CreatedAtMs, run.StartedAtMs, run.FinishedAtMs,
		nullable(run.Owner), nullable(run.VCSType), vcsRoot(run.VCSType, run.VCSRoot), nullable(run.VCSRevision),
		nullable(run.Error), run.Epoch, parentFrame, parentCommit, extension, label, description, forkedAt, undone, c.head.AtMs,
		c.latest, nullable(c.head.VCS), c.ref, c.tip.String())
	if err != nil {
		return err
	}
	stepsOver := false
	for _, f := range c.frames {
		if _, err := w.insertFrame.ExecContext(ctx, run.ID, f.number, hex.EncodeToString(f.ContentHash[:]), f.AtMs,
			nullable(f.VCS), vcsRoot(f.VCS, f.root), nullable(f.operation), treeID(f.tree), f.Based, f.Subject, f.commit.String()); err != nil {
			return err
		}
		if err := w.frameIDs(ctx, run.ID, f); err != nil {
			return err
		}
		stepsOver = stepsOver || f.Based != nil
	}
	// Nearly all frames continue the frame before them. Such a frame changes no dropped mark, so the query is not
	// needed.
	if stepsOver {
		if _, err := w.tx.ExecContext(ctx, sqlDropFrames, run.ID); err != nil {
			return err
		}
	}
	for _, a := range c.attempts {
		if err := w.attempt(ctx, run.ID, a); err != nil {
			return err
		}
	}
	return nil
}

// attempt writes the row of an attempt of the run runID, in place of an earlier row.
func (w writer) attempt(ctx context.Context, runID string, a snapshot.Attempt) error {
	_, err := w.insertAttempt.ExecContext(ctx, runID, a.NodeID, a.Iteration, a.Attempt, a.State, a.StartedAtMs,
		a.FinishedAtMs, nullable(a.Error), a.ExitStatus, nullable(a.CommitID), treeID(a.Tree), a.Frame, nullable(a.Worktree), nullable(a.CachedFrom), nullable(a.Sandbox))
	return err
}

// vcsRoot returns root, the path of a working copy ("" for the repository's main working copy). It returns
// nil (NULL) if vcs is empty: the run or frame has no working copy.
func vcsRoot(vcs, root string) any {
	if vcs == "" {
		return nil
	}
	return root
}

// treeID returns a tree's id as text, or nil (NULL) for the zero id.
func treeID(id objstore.ID) any {
	if id.IsZero() {
		return nil
	}
	return id.String()
}

// nullable returns s, or nil (NULL) if s is empty.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// readDigest returns the stored digest of the indexed tips.
func readDigest(ctx context.Context, c *connection) (d digest, err error) {
	err = c.use(ctx, func(db *database) error {
		var stored []byte
		if err := db.QueryRowContext(ctx, sqlDigest).Scan(&stored); err != nil {
			return scanError(err)
		}
		d, err = parseDigest(stored)
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
		var stored []byte
		if err := tx.QueryRowContext(ctx, sqlDigest).Scan(&stored); err != nil {
			return scanError(err)
		}
		d, err := parseDigest(stored)
		if err != nil {
			return err
		}
		rows, err := collect(ctx, tx, scanTip, sqlTips)
		if err != nil {
			return err
		}
		var sum digest
		for _, r := range rows {
			tips[r.ref] = r.tip
			sum.add(r.ref, r.id)
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
func readTip(ctx context.Context, c *connection, ref string) (tip, error) {
	var rows []tipRow
	err := c.use(ctx, func(db *database) (err error) {
		rows, err = collect(ctx, db, scanTip, sqlTip, ref)
		return err
	})
	if err != nil || len(rows) == 0 {
		return tip{}, err
	}
	return rows[0].tip, nil
}

// tipRow is one row of sqlTips.
type tipRow struct {
	ref string
	tip
}

// scanTip converts the current row of sqlTips or sqlTip.
func scanTip(rows *sql.Rows) (r tipRow, err error) {
	var id string
	if err := rows.Scan(&r.ref, &id, &r.latestFrame); err != nil {
		return r, err
	}
	r.id, err = objstore.ParseID(id)
	return r, err
}
