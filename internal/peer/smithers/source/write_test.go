package source_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// run is a row of _smithers_runs.
func run(id string) source.Row {
	return source.Row{"run_id": text(id), "workflow_name": text("w"), "status": text("failed"), "created_at_ms": integer(1)}
}

func write(t *testing.T, path string, write func(*source.WriteTx) error) {
	t.Helper()
	require.NoError(t, source.Write(t.Context(), path, write))
}

// intact checks a database as SQLite does.
func intact(t *testing.T, path string) {
	t.Helper()
	db := open(t, path)
	var answer string
	require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&answer))
	assert.Equal(t, "ok", answer)
	violations, err := db.QueryContext(t.Context(), "PRAGMA foreign_key_check")
	require.NoError(t, err)
	defer func() { assert.NoError(t, errors.Join(violations.Close(), db.Close())) }()
	assert.False(t, violations.Next(), "a foreign key is violated")
	require.NoError(t, violations.Err())
}

func TestANewDatabaseHasTheSchemaAndWhatIsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	write(t, path, func(tx *source.WriteTx) error { return tx.Insert("_smithers_runs", run("r")) })
	assert.Equal(t, []string{"new.db"}, beside(t, path))
	intact(t, path)
	read(t, path, func(tx *source.Tx) {
		got := rows(t, tx, "_smithers_runs", "r")
		require.Len(t, got, 1)
		assert.Equal(t, text("w"), got[0]["workflow_name"])
		assert.Equal(t, source.Value{}, got[0]["config_json"])
	})
}

func TestEverythingOfADatabaseCanBeWrittenToANewOneAndIsTheSame(t *testing.T) {
	t.Parallel()
	copied := filepath.Join(t.TempDir(), "smithers.db")
	read(t, filepath.Join(fixtures, "git-run-fork-replay.db"), func(from *source.Tx) {
		write(t, copied, func(to *source.WriteTx) error {
			var errs []error
			for _, table := range from.Tables() {
				errs = append(errs, to.Ensure(table), copyRows(from, to, table.Name))
			}
			return errors.Join(errs...)
		})
		intact(t, copied)
		read(t, copied, func(to *source.Tx) {
			for _, table := range from.Tables() {
				assert.Equal(t, rows(t, from, table.Name, ""), rows(t, to, table.Name, ""), table.Name)
			}
		})
	})
}

// copyRows copies a table. The references of snapshots count themselves.
func copyRows(from *source.Tx, to *source.WriteTx, table string) error {
	for row, err := range from.Rows(table, "") {
		if err != nil {
			return err
		}
		if table == "_smithers_snapshot_contents" {
			row["ref_count"] = integer(0)
		}
		if table == "_smithers_snapshot_payload_refs" {
			continue
		}
		if err := to.Insert(table, row); err != nil {
			return err
		}
	}
	if table != "_smithers_snapshots" {
		return nil
	}
	for row, err := range from.Rows("_smithers_snapshot_payload_refs", "") {
		if err := errors.Join(err, to.Insert("_smithers_snapshot_payload_refs", row)); err != nil {
			return err
		}
	}
	return nil
}

func TestValuesAreWrittenExactly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	odd := source.Table{Name: "odd", SQL: "CREATE TABLE odd (run_id TEXT, a, b, c, d, e, f TIMESTAMP)"}
	row := source.Row{
		"run_id": text("r"), "a": text("x\x00\xff"), "b": {Kind: source.Blob}, "c": {Kind: source.Blob, Bytes: "\x00"},
		"d": {Kind: source.Real, Real: 1}, "e": integer(-1), "f": text("2026-11-21"),
	}
	write(t, path, func(tx *source.WriteTx) error { return errors.Join(tx.Ensure(odd), tx.Insert("odd", row)) })
	read(t, path, func(tx *source.Tx) { assert.Equal(t, []source.Row{row}, rows(t, tx, "odd", "r")) })
}

func TestAnErrorLeavesEverythingAsItWas(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	fail := func(tx *source.WriteTx) error {
		return errors.Join(tx.Insert("_smithers_runs", run("r")), tx.Ensure(source.Table{Name: "t", SQL: "CREATE TABLE t (a)"}), mine)
	}
	fresh := filepath.Join(t.TempDir(), "new.db")
	require.ErrorIs(t, source.Write(t.Context(), fresh, fail), mine)
	assert.Empty(t, beside(t, fresh))

	path := fixture(t)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	require.ErrorIs(t, source.Write(t.Context(), path, fail), mine)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.Equal(t, []string{"smithers.db"}, beside(t, path))
}

// killedProcess dies in the middle of writing a lot.
func killedProcess(path string) int {
	err := source.Write(context.Background(), path, func(tx *source.WriteTx) error {
		for i := range 1000 {
			row := run(fmt.Sprintf("new-%d", i))
			row["config_json"] = text(strings.Repeat("x", 3000)) // more than the cache holds
			if err := tx.Insert("_smithers_runs", row); err != nil {
				return err
			}
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		return self.Kill()
	})
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestAKilledWriteLeavesEverythingAsItWas(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"existing": database(t, "PRAGMA journal_mode = WAL", source.Schema()[2].SQL),
		"new":      filepath.Join(t.TempDir(), "smithers.db"),
	} {
		killed := exec.CommandContext(t.Context(), os.Args[0])
		killed.Env = append(os.Environ(), "SMITHERSDB_TEST_KILLED="+path)
		output, err := killed.CombinedOutput()
		require.Error(t, err, name)
		require.Empty(t, string(output), name)
		if name == "new" {
			assert.NoFileExists(t, path)
			assert.NotEmpty(t, beside(t, path), "it was killed while it made the database")
		} else {
			read(t, path, func(tx *source.Tx) { assert.Empty(t, rows(t, tx, "_smithers_runs", "")) })
			intact(t, path)
		}
		write(t, path, func(tx *source.WriteTx) error { return tx.Insert("_smithers_runs", run("r")) })
		intact(t, path)
		if name == "new" {
			assert.Equal(t, []string{filepath.Base(path)}, beside(t, path), "what it left is gone")
		}
	}
}

func TestOnlyWhatDeadProcessesLeftIsRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	mine := []string{"new.db.new-", "new.db.new-1", "new.db.new-2a", "new.db.newest", "other.db.new-3"}
	for _, name := range mine {
		require.NoError(t, os.Mkdir(filepath.Join(filepath.Dir(path), name), 0o777))
	}
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "new.db.new-4"), nil, 0o666))
	insert := func(id string) func(*source.WriteTx) error {
		return func(tx *source.WriteTx) error { return tx.Insert("_smithers_runs", run(id)) }
	}
	err := source.Write(t.Context(), path, func(tx *source.WriteTx) error {
		another := source.Write(t.Context(), path, insert("another"))
		return errors.Join(another, insert("r")(tx))
	})
	require.ErrorIs(t, err, source.ErrBusy, "both were made, and one was the first")
	read(t, path, func(tx *source.Tx) { assert.Len(t, rows(t, tx, "_smithers_runs", "another"), 1) })
	assert.ElementsMatch(t, append(mine, "new.db.new-4", "new.db"), beside(t, path))
}

func TestADatabaseThatIsNotSmithersIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	never := func(*source.WriteTx) error { return errors.New("must not be called") }
	assert.ErrorIs(t, source.Write(t.Context(), database(t, "CREATE TABLE t (a)"), never), source.ErrNotSmithers)
	assert.ErrorIs(t, source.Write(t.Context(), writeFile(t, []byte(strings.Repeat("x", 5000))), never), source.ErrNotDatabase)
	assert.ErrorIs(t, source.Write(t.Context(), t.TempDir(), never), source.ErrNotDatabase)
	assert.ErrorIs(t, source.Write(t.Context(), filepath.Join(t.TempDir(), "none", "new.db"), never), os.ErrNotExist)
}

func TestAnEmptyFileBecomesADatabase(t *testing.T) {
	t.Parallel()
	path := writeFile(t, nil)
	write(t, path, func(tx *source.WriteTx) error { return tx.Insert("_smithers_runs", run("r")) })
	intact(t, path)
	read(t, path, func(tx *source.Tx) { assert.Len(t, rows(t, tx, "_smithers_runs", "r"), 1) })
}

func TestADatabaseThatAppearsMeanwhileIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	err := source.Write(t.Context(), path, func(*source.WriteTx) error { return os.WriteFile(path, []byte("theirs"), 0o600) })
	require.ErrorIs(t, err, source.ErrBusy)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "theirs", string(content))
	assert.Equal(t, []string{"new.db"}, beside(t, path))
}

func TestADatabaseThatAnEngineHasOpenIsWrittenTo(t *testing.T) {
	t.Parallel()
	path := fixture(t)
	engine := open(t, path)
	execute(t, engine, "PRAGMA journal_mode = WAL", "BEGIN IMMEDIATE", "UPDATE _smithers_runs SET error_json = 'x'")
	written := make(chan error, 1)
	go func() {
		written <- source.Write(context.Background(), path, func(tx *source.WriteTx) error { return tx.Insert("_smithers_runs", run("r")) })
	}()
	execute(t, engine, "COMMIT")
	require.NoError(t, <-written)
	var n int
	require.NoError(t, engine.QueryRowContext(t.Context(), "SELECT count(*) FROM _smithers_runs").Scan(&n))
	assert.Equal(t, 2, n)
}

func TestARunIsFoundInWhateverTableItHasRows(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL, "CREATE TABLE other (run_id TEXT)", "INSERT INTO other VALUES ('o')", "CREATE TABLE global (k TEXT)")
	write(t, path, func(tx *source.WriteTx) error {
		for id, want := range map[string]bool{"r": true, "o": true, "n": false, "R": false} {
			has, err := tx.HasRun(id)
			assert.NoError(t, err)
			assert.Equal(t, want, has, id)
		}
		return nil
	})
}

func TestRowsWithAKeyThatIsThereAreNotNew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	write(t, path, func(tx *source.WriteTx) error {
		added, err := tx.InsertIfNew("_smithers_runs", run("r"))
		assert.NoError(t, err)
		assert.True(t, added)
		added, err = tx.InsertIfNew("_smithers_runs", run("r"))
		assert.NoError(t, err)
		assert.False(t, added)
		assert.Error(t, tx.Insert("_smithers_runs", run("r")))
		return nil
	})
}

func TestRowsThatDoNotFitAreErrors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	write(t, path, func(tx *source.WriteTx) error {
		assert.ErrorContains(t, tx.Insert("nothing", run("r")), `table "nothing" does not exist`)
		row := run("r")
		row["nothing"] = text("x")
		assert.ErrorContains(t, tx.Insert("_smithers_runs", row), `no column "nothing"`)
		return nil
	})
}

func TestForeignKeysAreCheckedAtTheEnd(t *testing.T) {
	t.Parallel()
	frame := source.Row{
		"run_id": text("r"), "frame_no": integer(1), "created_at_ms": integer(1), "xml_json": text("null"), "xml_hash": text("x"),
	}
	path := filepath.Join(t.TempDir(), "new.db")
	err := source.Write(t.Context(), path, func(tx *source.WriteTx) error { return tx.Insert("_smithers_frames", frame) })
	require.ErrorContains(t, err, "FOREIGN KEY")
	assert.Empty(t, beside(t, path))
	write(t, path, func(tx *source.WriteTx) error {
		return errors.Join(tx.Insert("_smithers_frames", frame), tx.Insert("_smithers_runs", run("r")))
	})
}

func TestADatabaseThatIsLockedForLongIsWrittenToInTheEnd(t *testing.T) {
	t.Parallel()
	path := fixture(t)
	engine := open(t, path)
	execute(t, engine, "BEGIN IMMEDIATE", "UPDATE _smithers_runs SET error_json = 'x'")
	began, written, retries := make(chan struct{}), make(chan error, 1), int64(0)
	go func() {
		close(began)
		written <- source.Write(context.Background(), path, func(tx *source.WriteTx) error {
			retries = tx.Retries
			return tx.Insert("_smithers_runs", run("r"))
		})
	}()
	<-began
	time.Sleep(2 * time.Second) // longer than SQLite waits by itself
	execute(t, engine, "COMMIT")
	require.NoError(t, <-written)
	assert.Positive(t, retries)
	read(t, path, func(tx *source.Tx) { assert.Len(t, rows(t, tx, "_smithers_runs", "r"), 1) })
}

func TestADatabaseOfLangGraphIsNamed(t *testing.T) {
	t.Parallel()
	const checkpoints = "CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)"
	for kind, want := range map[string]error{"json": source.ErrLangGraph, "msgpack": source.ErrPython} {
		db, err := source.Open(t.Context(), database(t, checkpoints, "INSERT INTO checkpoints (thread_id, type) VALUES ('a', '"+kind+"')"))
		if err == nil {
			err = db.Read(t.Context(), func(*source.Tx) error { return nil })
		}
		require.ErrorIs(t, err, want)
		require.ErrorIs(t, err, source.ErrNotSmithers)
	}
}
