package source_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// TestMain is another process of tests when it is told to be.
func TestMain(m *testing.M) {
	if path := os.Getenv("SMITHERSDB_TEST_ENGINE"); path != "" {
		os.Exit(engineProcess(path))
	}
	if path := os.Getenv("SMITHERSDB_TEST_LOOKS"); path != "" {
		os.Exit(looksProcess(path))
	}
	if path := os.Getenv("SMITHERSDB_TEST_KILLED"); path != "" {
		os.Exit(killedProcess(path))
	}
	os.Exit(m.Run())
}

// pairs is how many rows the engine writes.
const pairs = 600

// engineProcess writes rows to a database, two in one transaction. It says when it has begun.
func engineProcess(path string) int {
	if err := writePairs(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func writePairs(path string) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=10000&_synchronous=NORMAL")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	for n := 0; n < pairs; n += 2 {
		if _, err := db.Exec("INSERT INTO pairs VALUES ('r', ?), ('r', ?)", n, n+1); err != nil {
			return err
		}
		if n == 0 {
			fmt.Println("begun")
		}
	}
	return db.Close()
}

func TestPairsThatAnotherProcessWritesAreReadInPairs(t *testing.T) {
	t.Parallel()
	path := database(t, walSQL...)
	engine := exec.CommandContext(t.Context(), os.Args[0])
	engine.Env = append(os.Environ(), "SMITHERSDB_TEST_ENGINE="+path)
	stdout, err := engine.StdoutPipe()
	require.NoError(t, err)
	engine.Stderr = os.Stderr
	require.NoError(t, engine.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan(), "the engine has written")

	// At the engine's end nothing keeps the database from changing while it is read.
	db, err := source.Open(t.Context(), path)
	for errors.Is(err, source.ErrBusy) {
		db, err = source.Open(t.Context(), path)
	}
	require.NoError(t, err)
	for seen := int64(1); seen < pairs; {
		err := db.Read(t.Context(), func(tx *source.Tx) error {
			n, err := tx.Count("pairs", "r")
			assert.NoError(t, err)
			assert.Zero(t, n%2)
			assert.GreaterOrEqual(t, n, seen)
			assert.Len(t, rows(t, tx, "pairs", "r"), int(n))
			seen = n
			return nil
		})
		if err != nil {
			require.ErrorIs(t, err, source.ErrBusy)
		}
	}
	require.NoError(t, engine.Wait())
	require.NoError(t, db.Close())
}

// looks is how often the process that looks opens the database.
const looks = 3000

// looksProcess opens a database again and again as Smithers does to see whether it is one of its own: for reading only,
// without waiting for any lock. It prints what kept it from looking.
func looksProcess(path string) int {
	for range looks {
		if err := look(path); err != nil {
			fmt.Println(err)
		}
	}
	return 0
}

func look(path string) error {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_busy_timeout=0")
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // only read
	var name string
	return db.QueryRow("SELECT name FROM sqlite_master WHERE name = '_smithers_runs'").Scan(&name)
}

func TestReadingKeepsNobodyFromOpeningTheDatabase(t *testing.T) {
	t.Parallel()
	path := database(t, walSQL...)
	require.NoError(t, look(path)) // leaves a log and its shared memory
	require.Len(t, beside(t, path), 3)
	smithers := exec.CommandContext(t.Context(), os.Args[0])
	smithers.Env = append(os.Environ(), "SMITHERSDB_TEST_LOOKS="+path)
	var refused []byte
	ended := make(chan error)
	go func() {
		var err error
		refused, err = smithers.Output()
		ended <- err
	}()
	db, err := source.Open(t.Context(), path)
	require.NoError(t, err)
	for reads := 0; ; reads++ {
		select {
		case err := <-ended:
			require.NoError(t, err)
			assert.Empty(t, string(refused))
			assert.NotZero(t, reads)
			require.NoError(t, db.Close())
			return
		default:
			if err := db.Read(t.Context(), func(*source.Tx) error { return nil }); err != nil {
				require.ErrorIs(t, err, source.ErrBusy) // it is made to wait, not Smithers
			}
		}
	}
}
