package source_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// walSQL makes a database with a write-ahead log, as Smithers does.
var walSQL = []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", runsSQL, "CREATE TABLE pairs (run_id TEXT, n INTEGER)"}

func version(t *testing.T, db *source.DB) int64 {
	t.Helper()
	v, err := db.Version()
	require.NoError(t, err)
	return v
}

func TestTheLogOfAnEngineIsReadAndNothingIsLeftBeside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "smithers.db")
	engine := open(t, path)
	execute(t, engine, walSQL...)
	files := beside(t, path)
	require.Len(t, files, 3)
	read(t, path, func(tx *source.Tx) { assert.Empty(t, rows(t, tx, "pairs", "r")) })
	execute(t, engine, "INSERT INTO pairs VALUES ('r', 1)")
	read(t, path, func(tx *source.Tx) { assert.Len(t, rows(t, tx, "pairs", "r"), 1) })
	assert.Equal(t, files, beside(t, path))
	require.NoError(t, engine.Close())
	assert.Equal(t, []string{"smithers.db"}, beside(t, path))
	read(t, path, func(tx *source.Tx) { assert.Len(t, rows(t, tx, "pairs", "r"), 1) })
	assert.Equal(t, []string{"smithers.db"}, beside(t, path))
}

func TestWhatIsReadIsOneState(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "smithers.db")
	engine := open(t, path)
	execute(t, engine, walSQL...)
	read(t, path, func(tx *source.Tx) {
		execute(t, engine, "INSERT INTO pairs VALUES ('r', 1)", "CREATE TABLE later (run_id TEXT)")
		assert.Empty(t, rows(t, tx, "pairs", "r"))
		assert.Nil(t, tx.Table("later"))
	})
}

func TestTheVersionChangesWithEachCommitAndNotWithReading(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"WAL", "DELETE"} {
		path := filepath.Join(t.TempDir(), "smithers.db")
		engine := open(t, path)
		execute(t, engine, "PRAGMA journal_mode = "+mode, runsSQL, "CREATE TABLE pairs (run_id TEXT, n INTEGER)")
		db, err := source.Open(t.Context(), path)
		require.NoError(t, err)
		for range 50 {
			before := version(t, db)
			assert.Equal(t, before, version(t, db))
			readOpen(t, db, func(*source.Tx) { assert.Equal(t, before, version(t, db)) })
			assert.Equal(t, before, version(t, db))
			execute(t, engine, "INSERT INTO pairs VALUES ('r', 1)")
			assert.NotEqual(t, before, version(t, db), mode)
		}
	}
}

func TestTheVersionChangesWithACommitThatReusesTheLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "smithers.db")
	engine := open(t, path)
	execute(t, engine, walSQL...)
	db, err := source.Open(t.Context(), path)
	require.NoError(t, err)
	long := time.Unix(1, 0) // ago: two commits may have the same time
	for range 20 {
		// The log is written from its beginning again, and neither grows nor shrinks.
		execute(t, engine, "PRAGMA wal_checkpoint(RESTART)")
		require.NoError(t, os.Chtimes(path+"-wal", long, long))
		before := version(t, db)
		execute(t, engine, "UPDATE _smithers_runs SET created_at_ms = created_at_ms + 1")
		require.NoError(t, os.Chtimes(path+"-wal", long, long))
		assert.NotEqual(t, before, version(t, db))
	}
}

func TestADatabaseThatIsReplacedIsTheNewOne(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL)
	db, err := source.Open(t.Context(), path)
	require.NoError(t, err)
	before := version(t, db)
	require.NoError(t, os.Rename(database(t, runsSQL, "DELETE FROM _smithers_runs"), path))
	assert.NotEqual(t, before, version(t, db))
	readOpen(t, db, func(tx *source.Tx) {
		n, err := tx.Count("_smithers_runs", "")
		assert.NoError(t, err)
		assert.Zero(t, n)
	})
}

func TestAnIdleDatabaseThatIsWrittenToWhileItIsReadIsBusy(t *testing.T) {
	t.Parallel()
	path := database(t, walSQL...)
	long := time.Unix(1, 0) // ago, so that writing changes the file's time
	require.NoError(t, os.Chtimes(path, long, long))
	db, err := source.Open(t.Context(), path)
	require.NoError(t, err)
	err = db.Read(t.Context(), func(*source.Tx) error {
		engine := open(t, path)
		execute(t, engine, "INSERT INTO pairs VALUES ('r', 1)", "PRAGMA wal_checkpoint(TRUNCATE)")
		return engine.Close()
	})
	require.ErrorIs(t, err, source.ErrOvertaken)
	require.ErrorIs(t, err, source.ErrBusy)
	readOpen(t, db, func(tx *source.Tx) { assert.Len(t, rows(t, tx, "pairs", "r"), 1) })
}

func TestAReaderIsToldThatWhatItHasReadMayBeOfTwoStates(t *testing.T) {
	t.Parallel()
	write := func(path string) {
		engine := open(t, path)
		execute(t, engine, "INSERT INTO pairs VALUES ('r', 1)", "PRAGMA wal_checkpoint(TRUNCATE)")
		require.NoError(t, engine.Close())
	}
	long := time.Unix(1, 0) // ago, so that writing changes the file's time
	idle := database(t, walSQL...)
	require.NoError(t, os.Chtimes(idle, long, long))
	db, err := source.Open(t.Context(), idle)
	require.NoError(t, err)
	err = db.Read(t.Context(), func(tx *source.Tx) error {
		require.NoError(t, tx.Check())
		write(idle)
		return tx.Check()
	})
	require.ErrorIs(t, err, source.ErrOvertaken)

	shared := filepath.Join(t.TempDir(), "smithers.db")
	engine := open(t, shared)
	execute(t, engine, walSQL...)
	read(t, shared, func(tx *source.Tx) {
		execute(t, engine, "INSERT INTO pairs VALUES ('r', 1)", "PRAGMA wal_checkpoint(PASSIVE)")
		assert.NoError(t, tx.Check(), "an engine that has it open leaves readers what they read")
	})
}

func TestTheLogOfAnEngineThatIsGoneIsReadAndNothingIsChanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "smithers.db")
	engine := open(t, path)
	execute(t, engine, walSQL...)
	execute(t, engine, "PRAGMA wal_checkpoint(TRUNCATE)", "INSERT INTO pairs VALUES ('r', 1)")
	left := make(map[string]string)
	for _, name := range beside(t, path) {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		require.NoError(t, err)
		left[name] = string(content)
	}
	require.Len(t, left, 3)
	log, shared := left["smithers.db-wal"], left["smithers.db-shm"]
	for name, c := range map[string]struct {
		log, shared string
		rows        int
	}{
		"without shared memory":          {log, "", 1},
		"with shared memory":             {log, shared, 1},
		"with the beginning of it":       {log, shared[:3], 1},
		"with other shared memory":       {log, strings.Repeat("x", 32<<10), 1},
		"with empty shared memory":       {log, strings.Repeat("\x00", 32<<10), 1},
		"without the end of the commit":  {log[:len(log)-1], shared, 0},
		"with a header of a log":         {log[:32], shared, 0},
		"with a part of that":            {log[:31], shared, 0},
		"with a header and one byte":     {log[:33], shared, 0},
		"with an empty log":              {log[:0], shared, 0},
		"with a log that is none":        {strings.Repeat("x", len(log)), shared, 0},
		"with a log of zeros":            {strings.Repeat("\x00", len(log)), shared, 0},
		"with a log of other pages":      {log[:8] + "\x00\x00\x00\x03" + log[12:], shared, 0},
		"with a log of impossible pages": {log[:8] + "\x00\x00\x00\x10" + log[12:], shared, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"smithers.db": left["smithers.db"], "smithers.db-wal": c.log}
			if c.shared != "" {
				files["smithers.db-shm"] = c.shared
			}
			dir := t.TempDir()
			for name, content := range files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
			}
			path := filepath.Join(dir, "smithers.db")
			read(t, path, func(tx *source.Tx) { assert.Len(t, rows(t, tx, "pairs", "r"), c.rows) })
			require.Len(t, beside(t, path), len(files))
			for name, content := range files {
				after, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(t, err)
				assert.Equal(t, content, string(after), name)
			}
		})
	}
}

func TestALogThatAnEngineTakesAwayAtItsEndIsNoMissingDatabase(t *testing.T) {
	t.Parallel()
	err := source.Copy(database(t, walSQL...))
	require.ErrorIs(t, err, source.ErrOvertaken)
	assert.NotErrorIs(t, err, fs.ErrNotExist)
}

func TestADatabaseInAFolderThatCannotBeWrittenToIsRead(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{"WAL": walSQL, "DELETE": {runsSQL}} {
		path := database(t, statements...)
		require.NoError(t, os.Chmod(path, 0o400))
		require.NoError(t, os.Chmod(filepath.Dir(path), 0o500))
		t.Cleanup(func() { assert.NoError(t, os.Chmod(filepath.Dir(path), 0o700)) })
		assert.NoError(t, readAll(t.Context(), path), name)
		assert.Equal(t, []string{"smithers.db"}, beside(t, path), name)
	}
}

func TestAnUnfinishedTransactionIsLeftToTheEngine(t *testing.T) {
	t.Parallel()
	path := database(t, "PRAGMA journal_mode = DELETE", runsSQL, "CREATE TABLE t (a)", "INSERT INTO t VALUES (zeroblob(1000000))")
	engine := open(t, path)
	execute(t, engine, "PRAGMA cache_size = 1", "BEGIN", "UPDATE t SET a = randomblob(1000000)")
	// A copy is what a machine that lost its power would have left.
	copied := filepath.Join(t.TempDir(), "smithers.db")
	for _, suffix := range []string{"", "-journal"} {
		content, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(copied+suffix, content, 0o600))
	}
	execute(t, engine, "ROLLBACK")
	err := readAll(t.Context(), copied)
	require.ErrorIs(t, err, source.ErrInterrupted)
	assert.NotErrorIs(t, err, source.ErrDamaged)
}

func TestReadingIsCancelled(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL)
	ctx, cancel := context.WithCancel(t.Context())
	db, err := source.Open(ctx, path)
	require.NoError(t, err)
	err = db.Read(ctx, func(tx *source.Tx) error {
		cancel()
		for _, err := range tx.Rows("_smithers_runs", "r") {
			return err
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
}
