package source_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver that the tests write with

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

const fixtures = "../../../../testdata/smithers"

// runsSQL makes the least that a database of Smithers has.
const runsSQL = `CREATE TABLE _smithers_runs (run_id TEXT PRIMARY KEY, created_at_ms INTEGER NOT NULL, status TEXT);
	INSERT INTO _smithers_runs VALUES ('r', 1, 'finished')`

// open opens a database as its engine would.
func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_busy_timeout=10000&_synchronous=OFF")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// database makes a database of its own from statements, and closes it.
func database(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "smithers.db")
	db := open(t, path)
	execute(t, db, statements...)
	require.NoError(t, db.Close())
	return path
}

// fixture copies the smaller database that Smithers made.
func fixture(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(fixtures, "jj-pristine-31frames.db"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "smithers.db")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// read calls test with the state of a database.
func read(t *testing.T, path string, test func(*source.Tx)) {
	t.Helper()
	db, err := source.Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	readOpen(t, db, test)
}

func readOpen(t *testing.T, db *source.DB, test func(*source.Tx)) {
	t.Helper()
	require.NoError(t, db.Read(t.Context(), func(tx *source.Tx) error {
		test(tx)
		return nil
	}))
}

// rows are the rows of a table.
func rows(t *testing.T, tx *source.Tx, table, run string) []source.Row {
	t.Helper()
	var all []source.Row
	for row, err := range tx.Rows(table, run) {
		require.NoError(t, err)
		all = append(all, row)
	}
	return all
}

// readAll reads everything that there is in a database, as an import does.
func readAll(ctx context.Context, path string) error {
	db, err := source.Open(ctx, path)
	if err != nil {
		return err
	}
	return db.Read(ctx, func(tx *source.Tx) error {
		runs, err := tx.Runs()
		if err != nil {
			return err
		}
		for _, run := range runs {
			if err := readRun(tx, run["run_id"].Bytes); err != nil {
				return err
			}
		}
		return nil
	})
}

func readRun(tx *source.Tx, run string) error {
	for _, table := range tx.Tables() {
		for _, err := range tx.Rows(table.Name, run) {
			if err != nil {
				return err
			}
		}
	}
	heads, err := tx.Heads(run)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if _, err := tx.Snapshot(run, head.Frame); err != nil {
			return err
		}
	}
	return nil
}

// beside are the names of the files in a database's folder.
func beside(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names
}

func text(s string) source.Value   { return source.Value{Kind: source.Text, Bytes: s} }
func integer(n int64) source.Value { return source.Value{Kind: source.Int, Int: n} }
