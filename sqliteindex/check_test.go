package sqliteindex_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/sqliteindex"
)

// checkedWorld has two runs, and the index of both with details.
func checkedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.start(t, "one", 4)
	w.start(t, "two", 3)
	x, err := sqliteindex.Open(t.Context(), w.options())
	require.NoError(t, err)
	require.NoError(t, x.SyncDetails(t.Context()))
	require.NoError(t, x.Close())
	return w
}

// forge changes a database behind the index's back.
func forge(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	result, err := db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
	changed, err := result.RowsAffected()
	require.NoError(t, err)
	require.Positive(t, changed)
	require.NoError(t, db.Close())
}

func TestNothingIsWrongWithAnIndexThatIsUpToDateBehindOrNotThere(t *testing.T) {
	t.Parallel()
	w := checkedWorld(t)
	check := func() {
		t.Helper()
		flaws, err := sqliteindex.Check(t.Context(), w.options())
		require.NoError(t, err)
		assert.Empty(t, flaws)
	}
	check()
	w.start(t, "three", 2)
	w.dropTip(t, "two")
	check()
	require.NoError(t, os.RemoveAll(filepath.Join(w.gitDir, "smithers")))
	check()
	assert.NoFileExists(t, w.indexPath(), "looking makes nothing")
}

func TestRowsThatTheRefsDoNotSayAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, statement, run, table string }{
		{"a row that says something else", "index.db", "UPDATE _smithers_runs SET status = 'finished' WHERE run_id = 'one'", "one", "_smithers_runs"},
		{"a row that is missing", "index.db", "DELETE FROM _smithers_snapshots WHERE run_id = 'two' AND frame_no = 1", "two", "_smithers_snapshots"},
		{
			"a row too many", "index.db",
			"INSERT INTO _smithers_snapshots (run_id, frame_no, content_hash, created_at_ms, subject, git_commit) VALUES ('one', 9, 'x', 1, 'x', 'x')",
			"one", "_smithers_snapshots",
		},
		{"a run that is missing", "index.db", "DELETE FROM _smithers_runs WHERE run_id = 'two'", "", "does not match the tips in table _smithers_runs"},
		{"a row of the details", "index-details.db", "INSERT INTO _smithers_ralph (run_id, ralph_id, updated_at_ms) VALUES ('one', 'odd', 1)", "one", "_smithers_ralph"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := checkedWorld(t)
			forge(t, filepath.Join(filepath.Dir(w.indexPath()), c.file), c.statement)
			flaws, err := sqliteindex.Check(t.Context(), w.options())
			require.NoError(t, err)
			require.Len(t, flaws, 1, "%+v", flaws)
			assert.Equal(t, c.file, flaws[0].File)
			assert.Equal(t, c.run, flaws[0].RunID)
			assert.Contains(t, flaws[0].What, c.table)

			flaws, err = sqliteindex.Check(t.Context(), w.options(), "no such run")
			require.NoError(t, err)
			assert.Equal(t, c.run == "", len(flaws) == 1, "only the rows of the runs that were asked for count")
		})
	}
}

func TestADatabaseThatIsNoneIsFoundAndNotMadeAnew(t *testing.T) {
	t.Parallel()
	w := checkedWorld(t)
	garbage := strings.Repeat("this is no database\n", 400)
	require.NoError(t, os.WriteFile(w.indexPath(), []byte(garbage), 0o666))
	flaws, err := sqliteindex.Check(t.Context(), w.options())
	require.NoError(t, err)
	require.Len(t, flaws, 1)
	assert.Equal(t, "index.db", flaws[0].File)
	after, err := os.ReadFile(w.indexPath())
	require.NoError(t, err)
	assert.Equal(t, garbage, string(after))
}

// TestRowsOfNoRunAreNotCompared although a table of them may have a column run_id.
func TestRowsOfNoRunAreNotCompared(t *testing.T) {
	t.Parallel()
	w := checkedWorld(t)
	x := w.index(t)
	cache := sqliteindex.RepositoryTable{Name: "_smithers_cache", Columns: []string{"cache_key", "run_id"}}
	require.NoError(t, x.SetRepositoryRows(t.Context(), cache, "newest", func() ([][]any, error) {
		return [][]any{{"key", "one"}}, nil
	}))
	flaws, err := sqliteindex.Check(t.Context(), w.options())
	require.NoError(t, err)
	assert.Empty(t, flaws)
}
