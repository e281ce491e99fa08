package sourcetest

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
)

// Engine writes a database as an engine of Smithers does, frame by frame. It copies the rows from a complete
// database. Like an engine, it keeps the database open, with a write-ahead log.
type Engine struct {
	db     *sql.DB
	tables []string // those with a column run_id
}

// Begin creates a database at path with the tables and indexes of the database at source, but without rows. It
// only reads source. The caller must close the Engine.
func Begin(ctx context.Context, source, path string) (_ *Engine, err error) {
	db, err := sql.Open("sqlite", address(path)+"?_pragma=busy_timeout(5000)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	db.SetMaxOpenConns(1) // ATTACH holds for one connection only
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode=WAL"); err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, "ATTACH ? AS source", address(source)+"?immutable=1"); err != nil {
		return nil, err
	}
	// Triggers are not copied, because the copied rows have the reference counts already.
	statements, err := column(ctx, db, `SELECT sql FROM source.sqlite_schema
		WHERE type IN ('table', 'index') AND sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name`)
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, "BEGIN;"+strings.Join(statements, ";")+";COMMIT"); err != nil {
		return nil, err
	}
	tables, err := column(ctx, db, `SELECT t.name FROM source.sqlite_schema t JOIN pragma_table_info(t.name, 'source') c
		WHERE t.type = 'table' AND c.name = 'run_id' ORDER BY 1`)
	return &Engine{db, tables}, err
}

func address(path string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()
}

func column(ctx context.Context, db *sql.DB, query string) (values []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the same error
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, rows.Err()
}

// Frame commits the rows of one frame of a run, as they were at the time of the frame: the run is running, and
// attempts that end later are in progress.
func (e *Engine) Frame(ctx context.Context, run string, frame int64) error {
	return e.commit(ctx, `
		INSERT OR IGNORE INTO main._smithers_runs SELECT * FROM source._smithers_runs WHERE run_id = :run;
		UPDATE main._smithers_runs SET status = 'running', finished_at_ms = NULL WHERE run_id = :run;
		INSERT OR IGNORE INTO main._smithers_branches SELECT * FROM source._smithers_branches WHERE run_id = :run;
		INSERT OR IGNORE INTO main._smithers_snapshots SELECT * FROM source._smithers_snapshots WHERE run_id = :run AND frame_no = :frame;
		INSERT OR IGNORE INTO main._smithers_snapshot_contents SELECT c.* FROM source._smithers_snapshot_contents c
			JOIN source._smithers_snapshot_payload_refs r USING (content_hash) WHERE r.run_id = :run AND r.frame_no = :frame;
		INSERT OR IGNORE INTO main._smithers_snapshot_payload_refs
			SELECT * FROM source._smithers_snapshot_payload_refs WHERE run_id = :run AND frame_no = :frame;
		INSERT OR IGNORE INTO main._smithers_frames SELECT * FROM source._smithers_frames WHERE run_id = :run AND frame_no = :frame;
		INSERT OR REPLACE INTO main._smithers_attempts SELECT * FROM source._smithers_attempts WHERE run_id = :run AND started_at_ms <=
			(SELECT created_at_ms FROM source._smithers_snapshots WHERE run_id = :run AND frame_no = :frame);
		UPDATE main._smithers_attempts SET state = 'in-progress', finished_at_ms = NULL, jj_pointer = NULL WHERE run_id = :run AND finished_at_ms >
			(SELECT created_at_ms FROM source._smithers_snapshots WHERE run_id = :run AND frame_no = :frame);
		INSERT OR IGNORE INTO main._smithers_events SELECT * FROM source._smithers_events WHERE run_id = :run AND timestamp_ms <=
			(SELECT created_at_ms FROM source._smithers_snapshots WHERE run_id = :run AND frame_no = :frame);`,
		sql.Named("run", run), sql.Named("frame", frame))
}

// End commits all rows of a run in their final state.
func (e *Engine) End(ctx context.Context, run string) error {
	var statements strings.Builder
	statements.WriteString(`INSERT OR IGNORE INTO main._smithers_snapshot_contents SELECT * FROM source._smithers_snapshot_contents;
		INSERT OR REPLACE INTO main._smithers_output_schema_columns SELECT * FROM source._smithers_output_schema_columns;`)
	for _, table := range e.tables {
		name := `"` + strings.ReplaceAll(table, `"`, `""`) + `"`
		statements.WriteString("INSERT OR REPLACE INTO main." + name + " SELECT * FROM source." + name + " WHERE run_id = :run;")
	}
	return e.commit(ctx, statements.String(), sql.Named("run", run))
}

// Exec runs SQL statements in one transaction and commits it.
func (e *Engine) Exec(ctx context.Context, statements string) error { return e.commit(ctx, statements) }

func (e *Engine) commit(ctx context.Context, statements string, args ...any) error {
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, statements, args...); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Close closes the database.
func (e *Engine) Close() error { return e.db.Close() }
