package smithers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// fixtureRoot is the folder that the runs of the fixtures were in.
const fixtureRoot = "/home/dev/project"

// siblingFork is a fork of run-a:7 that Smithers made.
const siblingFork = "34fd8fc8-b09b-4e88-84e0-d9efaa31224a"

// world is a repository with the runs of a database that Smithers 0.32.0 made.
type world struct {
	t      *testing.T
	repo   *repotest.Repo
	store  *timeline.Store
	source string // the database
}

// importedWorld imports a fixture, changed by statements.
func importedWorld(t *testing.T, fixture string, statements ...string) *world {
	t.Helper()
	w := newWorld(t, fixture)
	for _, s := range statements {
		require.NoError(t, sourcetest.Exec(t.Context(), w.source, s))
	}
	w.importAll()
	return w
}

// newWorld is a repository beside a copy of a fixture.
func newWorld(t *testing.T, fixture string) *world {
	t.Helper()
	w := &world{t: t, repo: repotest.New(t, repotest.Commit)}
	store, err := timeline.Open(t.Context(), timeline.Options{
		Dir: w.repo.Dir, Env: w.repo.Env, Now: func() time.Time { return time.UnixMilli(1795300000000) },
		Warn: func(err error) { t.Errorf("warning: %v", err) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	w.store, w.source = store, copied(t, fixture)
	return w
}

// copied is a copy of a fixture.
func copied(t *testing.T, fixture string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "smithers", fixture))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "source.db")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func (w *world) importAll() {
	w.t.Helper()
	imported, err := smithers.Import(w.t.Context(), w.store, w.source, smithers.ImportRequest{})
	require.NoError(w.t, err)
	for _, run := range imported.Runs {
		require.NoError(w.t, run.Err)
	}
}

// export exports runs to a new database, for the folder that they were in.
func (w *world) export(runs ...string) (string, []smithers.ExportedRun) {
	w.t.Helper()
	to := filepath.Join(w.t.TempDir(), "smithers.db")
	exported, err := smithers.Export(w.t.Context(), w.store, smithers.ExportRequest{Runs: runs, To: to, Root: fixtureRoot})
	require.NoError(w.t, err)
	for i := range exported.Runs { // whether Smithers resumes them has tests of its own
		run := &exported.Runs[i]
		run.Resumes, run.Refusals, run.Finished = nil, nil, false
	}
	return to, exported.Runs
}

// query reads a database with SQL.
func query(t *testing.T, path, sql string, args ...any) [][]string {
	t.Helper()
	rows, err := sourcetest.Query(t.Context(), path, sql, args...)
	require.NoError(t, err)
	return rows
}

// value is the only value that a query gives.
func value(t *testing.T, path, sql string, args ...any) string {
	t.Helper()
	rows := query(t, path, sql, args...)
	require.Len(t, rows, 1, sql)
	require.Len(t, rows[0], 1, sql)
	return rows[0][0]
}

// content is all that a database has, by table: a line a row. Columns of processes are left out.
func content(t *testing.T, path string) map[string][]string {
	t.Helper()
	all, err := sourcetest.Dump(t.Context(), path, func(_, column string) bool {
		switch column {
		case "runtime_owner_id", "heartbeat_at_ms", "hijack_requested_at_ms", "hijack_target",
			"cancel_request_client_pid", "cancel_request_client_identity":
			return true
		}
		return false
	})
	require.NoError(t, err)
	return all
}

// The runs of a database, and forks of them. The last of these tests changes what the repository has.
func TestExportOfManyRuns(t *testing.T) { //nolint:tparallel // one after the other, in one repository
	t.Parallel()
	w := importedWorld(t, "git-run-fork-replay.db", `UPDATE _smithers_runs SET cancel_requested_at_ms = 5, status = 'waiting-quota'`)
	t.Run("what was imported comes back row by row", func(t *testing.T) { w.with(t).assertComesBack() })
	t.Run("a fork is exported for Smithers to restore", func(t *testing.T) { testForkForSmithers(w.with(t)) })
}

func TestExportOfOneRun(t *testing.T) { //nolint:tparallel // as above
	t.Parallel()
	w := importedWorld(t, jjFixture)
	t.Run("what was imported comes back row by row", func(t *testing.T) { w.with(t).assertComesBack() })
	t.Run("an engine goes on with it in another folder", func(t *testing.T) { testAnotherFolder(w.with(t)) })
	t.Run("one that we went back in is restored from its newest snapshot", func(t *testing.T) { testWentBack(w.with(t)) })
}

// with is the world in another test.
func (w *world) with(t *testing.T) *world {
	t.Helper()
	other := *w
	other.t = t
	return &other
}

// assertComesBack exports everything, and compares all tables with those that were imported.
func (w *world) assertComesBack() {
	w.t.Helper()
	to, runs := w.export()
	for _, run := range runs {
		assert.True(w.t, run.Exact, run.RunID)
	}
	want, got := content(w.t, w.source), content(w.t, to)
	delete(want, "_smithers_schema_migrations") // the engine writes them when it opens the database
	delete(got, "_smithers_schema_migrations")
	for table := range want {
		assert.Equal(w.t, want[table], got[table], table)
	}
	assertSound(w.t, to)
}

// assertSound reads a database without anything of ours, and checks all hashes and references in it.
func assertSound(t *testing.T, path string) {
	t.Helper()
	assert.Equal(t, "ok", value(t, path, `PRAGMA integrity_check`))
	assert.Empty(t, query(t, path, `PRAGMA foreign_key_check`))
	assert.Empty(t, query(t, path, `SELECT content_hash FROM _smithers_snapshot_contents c
		WHERE ref_count <> (SELECT count(*) FROM _smithers_snapshot_payload_refs r WHERE r.content_hash = c.content_hash)`))
	snapshots := query(t, path, `SELECT s.content_hash, coalesce(c.nodes_json, s.nodes_json), coalesce(c.outputs_json, s.outputs_json),
			coalesce(c.ralph_json, s.ralph_json), coalesce(c.input_json, s.input_json)
		FROM _smithers_snapshots s LEFT JOIN _smithers_snapshot_payload_refs r USING (run_id, frame_no)
		LEFT JOIN _smithers_snapshot_contents c ON c.content_hash = r.content_hash`)
	require.NotEmpty(t, snapshots)
	for _, s := range snapshots {
		sum := sha256.Sum256([]byte(`{"nodes":` + s[1] + `,"outputs":` + s[2] + `,"ralph":` + s[3] + `,"input":` + s[4] + `}`))
		assert.Equal(t, s[0], hex.EncodeToString(sum[:]))
	}
	assertTrees(t, path)
}

func testForkForSmithers(w *world) {
	t := w.t
	t.Helper()
	_, err := w.store.Fork(t.Context(), timeline.ForkRequest{
		From: "run-a:7", RunID: "child", Label: "mine", Description: "why", Input: []byte(`{"rounds":1}`),
	})
	require.NoError(t, err)
	to, runs := w.export("child")
	assert.Equal(t, []smithers.ExportedRun{{RunID: "child", Frames: 1}}, runs)
	assertSound(t, to)
	_, err = smithers.Export(t.Context(), w.store, smithers.ExportRequest{Runs: []string{"run-a", "child"}, To: to, Root: fixtureRoot})
	assert.Equal(t, fault.RunExists, fault.CodeOf(err))
	assert.Equal(t, [][]string{{"child"}}, query(t, to, `SELECT run_id FROM _smithers_runs`), "nothing is overwritten, or written beside it")

	assert.Equal(t, [][]string{{"0", w.commitOf("run-a"), `{"runId":"child","topic":"git","rounds":1,"flag":null}`}},
		query(t, to, `SELECT frame_no, vcs_pointer, input_json FROM _smithers_snapshots`))
	assert.Equal(t, [][]string{{"failed", "run-a", "lab", fixtureRoot + "/workflow.tsx", "", ""}},
		query(t, to, `SELECT status, parent_run_id, workflow_name, workflow_path, runtime_owner_id, cancel_requested_at_ms FROM _smithers_runs`))
	assert.Equal(t, [][]string{{"child", "run-a", "7", "mine", "why"}},
		query(t, to, `SELECT run_id, parent_run_id, parent_frame_no, branch_label, fork_description FROM _smithers_branches`))
	assert.Equal(t,
		query(t, w.source, `SELECT output_table, node_id, iteration, seq FROM _smithers_output_provenance WHERE run_id = ? ORDER BY seq`, siblingFork),
		query(t, to, `SELECT output_table, node_id, iteration, seq FROM _smithers_output_provenance ORDER BY seq`))
	has := content(t, to)
	for _, table := range []string{"_smithers_nodes", "_smithers_attempts", "_smithers_ralph", "_smithers_frames", "input"} {
		assert.Empty(t, has[table], table)
	}
}

// commitOf is the revision that a run was started at.
func (w *world) commitOf(run string) string {
	return value(w.t, w.source, `SELECT vcs_revision FROM _smithers_runs WHERE run_id = ?`, run)
}

func TestAForkThatReceivedASignalIsExportedWithTheWait(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path)
	const waits = `SELECT state, json_extract(meta_json, '$.waitForEvent.resolvedSignalSeq') FROM _smithers_attempts WHERE run_id = ?`
	for frame, want := range map[string][][]string{
		"run-a:21": nil, "run-a:25": {{"waiting-event", "12"}}, "run-a:31": {{"finished", "12"}},
	} {
		fork, err := h.Fork(t.Context(), timeline.ForkRequest{From: frame})
		require.NoError(t, err)
		run := fork.Row().ID
		_, err = smithers.Export(t.Context(), h.Store, smithers.ExportRequest{Runs: []string{run}, To: path, Root: fixtureRoot})
		require.NoError(t, err)
		assert.Equal(t, want, query(t, path, waits, run), frame)
		assert.Equal(t, smithers.OutcomeUnchanged, h.take(path, run)[run].Outcome, frame)
		require.NoError(t, sourcetest.Exec(t.Context(), path, `DELETE FROM _smithers_attempts WHERE run_id = '`+run+`'`))
		assert.Equal(t, smithers.OutcomeUnchanged, h.take(path, run)[run].Outcome, "older versions exported none")
	}
}
