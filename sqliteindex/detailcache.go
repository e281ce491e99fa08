package sqliteindex

import (
	"context"
	"database/sql"
	"errors"
)

// CacheRow is a result in the cache, as a row of _smithers_cache.
type CacheRow struct {
	Key         string
	CreatedAtMs int64
	Workflow    string
	NodeID      string
	Table       string // of the output; "" for none
	SchemaSig   string
	Payload     string // the output as JSON; null for none
	RunID       string
	Frame       int64
	Iteration   int
	Attempt     int
	TookMs      int64
	Bytes       int64
	Files       int
	Parts       string // of the key, as a JSON object

	// Of a row of another engine, which has no members of ours. They are nil for NULL.
	Peer                  bool
	Agent, Tools, Pointer any
}

// own returns a value of a column of ours; nil (NULL) for a row of another engine.
func (r *CacheRow) own(value any) any {
	if r.Peer {
		return nil
	}
	return value
}

const (
	sqlCacheCommit    = `SELECT git_commit FROM _index_cache`
	sqlDropCache      = `DELETE FROM _smithers_cache`
	sqlDropCommit     = `DELETE FROM _index_cache`
	sqlSetCacheCommit = `INSERT INTO _index_cache (git_commit) VALUES (?)`
	sqlSetCache       = `INSERT OR REPLACE INTO _smithers_cache (cache_key, created_at_ms, workflow_name, node_id, output_table, schema_sig, payload_json,
		agent_sig, tools_sig, jj_pointer, run_id, frame_no, iteration, attempt, took_ms, bytes, files, parts_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// SetCache makes _smithers_cache the table of the cache's newest commit. rows is called only if the table is that of another commit. commit
// is "" for a repository without a cache.
func (x *Index) SetCache(ctx context.Context, commit string, rows func() ([]CacheRow, error)) error {
	d, err := x.openDetails(ctx)
	if err != nil {
		return err
	}
	return d.conn.use(ctx, func(db *database) error {
		had := ""
		if err := db.QueryRowContext(ctx, sqlCacheCommit).Scan(&had); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if had == commit {
			return nil
		}
		list, err := rows()
		if err != nil {
			return err
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := setCache(ctx, tx, commit, list); err != nil {
			_ = tx.Rollback() // err is the first error
			return err
		}
		return tx.Commit()
	})
}

// setCache replaces the rows of _smithers_cache.
func setCache(ctx context.Context, tx *sql.Tx, commit string, list []CacheRow) error {
	for _, statement := range []string{sqlDropCache, sqlDropCommit} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	for _, r := range list {
		if _, err := tx.ExecContext(ctx, sqlSetCache, r.Key, r.CreatedAtMs, r.Workflow, r.NodeID, r.Table, r.SchemaSig, r.Payload,
			r.Agent, r.Tools, r.Pointer, r.own(r.RunID), r.own(r.Frame), r.own(r.Iteration), r.own(r.Attempt), r.own(r.TookMs), r.own(r.Bytes),
			r.own(r.Files), r.own(r.Parts)); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, sqlSetCacheCommit, commit)
	return err
}
