package smithers_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// exportTo exports runs to a database, for a folder.
func (h *home) exportTo(to, root string, runs ...string) error {
	h.t.Helper()
	_, err := smithers.Export(h.t.Context(), h.Store, smithers.ExportRequest{Runs: runs, To: to, Root: root})
	return err
}

func TestRenderedFramesWithoutASnapshotComeBack(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, jjFixture,
		`DELETE FROM _smithers_snapshot_payload_refs WHERE frame_no IN (14, 31)`,
		`DELETE FROM _smithers_snapshots WHERE frame_no IN (14, 31)`,
		`DELETE FROM _smithers_snapshot_contents WHERE content_hash NOT IN (SELECT content_hash FROM _smithers_snapshots)`)
	run := h.take(path)["run-j"]
	require.NoError(t, run.Err)
	assert.Empty(t, run.Marks, "the deltas after them go on from them")
	h.exact(path)
}

func TestRowsOfNoRunAreThereOnceHoweverOftenTheyAreExported(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture,
		`CREATE TABLE notes (body TEXT, weight)`,
		`INSERT INTO notes VALUES ('a', 1), ('a', 1), ('a', 1.0), ('b', NULL), (NULL, x'00')`,
		`CREATE TABLE places (name TEXT, at INTEGER, PRIMARY KEY (name, at))`,
		`INSERT INTO places VALUES ('x', 1), (NULL, 2), (NULL, 2)`)
	h.take(path)
	h.exact(path)
	to := filepath.Join(t.TempDir(), "out.db")
	for _, run := range []string{"run-a", replayRun} {
		require.NoError(t, h.exportTo(to, fixtureRoot, run))
	}
	want, got := content(t, path), content(t, to)
	assert.Equal(t, want["notes"], got["notes"])
	assert.Equal(t, want["places"], got["places"])

	require.NoError(t, sourcetest.Exec(t.Context(), to, `DELETE FROM notes WHERE rowid IN (1, 4)`))
	require.NoError(t, h.exportTo(to, fixtureRoot, plainFork))
	assert.ElementsMatch(t, want["notes"], content(t, to)["notes"], "what is missing is added")
}

func TestTheRootOfTheFileSystemIsAFolderLikeAnyOther(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, gitFixture), "run-a")
	to := filepath.Join(t.TempDir(), "out.db")
	require.NoError(t, h.exportTo(to, "/", "run-a"))
	assert.Equal(t, [][]string{{"/", "/workflow.tsx", "/"}},
		query(t, to, `SELECT vcs_root, workflow_path, json_extract(config_json, '$.rootDir') FROM _smithers_runs`))
	assert.Empty(t, query(t, to, `SELECT jj_cwd FROM _smithers_attempts WHERE jj_cwd <> '/'`))

	again := newHome(t)
	require.NoError(t, again.take(to)["run-a"].Err)
	back := filepath.Join(t.TempDir(), "back.db")
	require.NoError(t, again.exportTo(back, "/"))
	assert.Equal(t, content(t, to), content(t, back))
}

func TestOutputTablesComeBackThoughTheyAreEmpty(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, jjFixture,
		`CREATE TABLE never_out (run_id TEXT NOT NULL, node_id TEXT NOT NULL, iteration INTEGER NOT NULL DEFAULT 0, "why" TEXT,
			PRIMARY KEY (run_id, node_id, iteration))`,
		`INSERT INTO _smithers_output_schema_columns (table_name, column_name, kind) VALUES ('never_out', 'why', 'string')`)
	h.take(path)
	h.exact(path)
	tips := h.tips()
	require.NoError(t, sourcetest.Exec(t.Context(), path, `
		CREATE TABLE later_out (run_id TEXT NOT NULL, node_id TEXT NOT NULL, iteration INTEGER NOT NULL, PRIMARY KEY (run_id, node_id, iteration));
		INSERT INTO _smithers_output_schema_columns (table_name, column_name, kind) VALUES ('later_out', 'x', 'string')`))
	assert.Equal(t, smithers.OutcomeUnchanged, h.take(path)["run-j"].Outcome, "a table of another workflow is no reason to go on")
	assert.Equal(t, tips, h.tips())
}

func TestAFolderThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, jjFixture))
	folder := filepath.Join(t.TempDir(), "none")
	err := h.exportTo(filepath.Join(folder, "x.db"), fixtureRoot)
	assert.Equal(t, fault.Usage, fault.CodeOf(err))
	require.EqualError(t, err, "there is no folder "+folder)

	err = h.exportTo(filepath.Join(copyOf(t, jjFixture), "x.db"), fixtureRoot)
	assert.Equal(t, fault.WriteFailed, fault.CodeOf(err))
	require.ErrorContains(t, err, "not a directory")
	assert.NotContains(t, err.Error(), ".new-")
}

func TestWhatATaskSavedWithItsHeartbeatComesBack(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, jjFixture, `UPDATE _smithers_attempts SET heartbeat_at_ms = 5, heartbeat_data_json = '{"page":7}' WHERE attempt = 1`)
	h.take(path)
	h.exact(path)
	to := filepath.Join(t.TempDir(), "out.db")
	require.NoError(t, h.exportTo(to, fixtureRoot))
	assert.Equal(t, [][]string{{"", `{"page":7}`}}, query(t, to, `SELECT DISTINCT heartbeat_at_ms, heartbeat_data_json FROM _smithers_attempts WHERE attempt = 1`))
}
