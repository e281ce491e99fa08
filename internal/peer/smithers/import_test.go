package smithers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// The databases that Smithers 0.32.0 made, and runs in them.
const (
	gitFixture = "git-run-fork-replay.db"
	replayRun  = "8805e8f3-364c-48f2-a529-c256b52b3593" // a fork of run-a:2
	nestedRun  = "5b9a0ef2-e947-4ca3-bd10-c07cd33303e3" // a fork of replayRun:3, which nobody started
	plainFork  = "34fd8fc8-b09b-4e88-84e0-d9efaa31224a" // a fork of run-a:7 that changes nothing
)

// home is a repository that runs are imported into.
type home struct {
	*timeline.Store

	t    *testing.T
	repo *repotest.Repo
}

func newHome(t *testing.T) *home {
	t.Helper()
	repo := repotest.New(t, repotest.Commit)
	return openHome(t, repo)
}

// openHome opens a repository whose history is verified when the test ends.
func openHome(t *testing.T, repo *repotest.Repo) *home {
	t.Helper()
	return openHomeAt(t, repo, 1795300000000)
}

// openHomeAt opens a repository as above, at a time.
func openHomeAt(t *testing.T, repo *repotest.Repo, nowMs int64) *home {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: func() time.Time { return time.UnixMilli(nowMs) },
		Warn: func(err error) { t.Errorf("warning: %v", err) },
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		report, err := verify.Runs(t.Context(), s)
		if t.Context().Err() == nil {
			require.NoError(t, err)
			require.Empty(t, report.Problems)
		}
		require.NoError(t, s.Close())
	})
	return &home{s, t, repo}
}

// take imports a database, and returns what became of its runs.
func (h *home) take(path string, runs ...string) map[string]smithers.ImportedRun {
	h.t.Helper()
	imported, err := smithers.Import(h.t.Context(), h.Store, path, smithers.ImportRequest{Runs: runs})
	require.NoError(h.t, err)
	out := make(map[string]smithers.ImportedRun)
	for _, run := range imported.Runs {
		out[run.RunID] = run
	}
	return out
}

// tips are the tips of all runs.
func (h *home) tips() string {
	h.t.Helper()
	return h.repo.Git("for-each-ref", "refs/smithers/_tip")
}

// entry is what an address means.
func (h *home) entry(address string) *snapshot.Entry {
	h.t.Helper()
	loaded, err := h.Load(h.t.Context(), address)
	require.NoError(h.t, err)
	return loaded.Entry
}

// frames are the frames of a run's timeline.
func (h *home) frames(run string) []list.FrameInfo {
	h.t.Helper()
	tree, err := list.Timeline(h.t.Context(), h.Store, run, list.TreeOptions{})
	require.NoError(h.t, err)
	return tree.Timeline.Frames
}

// copyOf is a copy of a fixture, changed by statements.
func copyOf(t *testing.T, fixture string, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "smithers.db")
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "smithers", fixture))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	if len(statements) > 0 {
		require.NoError(t, sourcetest.Exec(t.Context(), path, strings.Join(statements, ";")))
	}
	return path
}

// exact requires that all comes out of the repository as the database has it.
func (h *home) exact(path string) {
	h.t.Helper()
	to := filepath.Join(h.t.TempDir(), "out.db")
	exported, err := smithers.Export(h.t.Context(), h.Store, smithers.ExportRequest{To: to, Root: fixtureRoot})
	require.NoError(h.t, err)
	for _, run := range exported.Runs {
		require.True(h.t, run.Exact, run.RunID)
	}
	want, got := content(h.t, path), content(h.t, to)
	delete(want, "_smithers_schema_migrations") // the engine writes them when it opens the database
	for table := range want {
		require.Equal(h.t, want[table], got[table], table)
	}
}

func golden(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "smithers", "golden", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}

// Reading changes nothing, so these share what was imported.
func TestImportedRuns(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	runs := h.take(copyOf(t, gitFixture))
	h.take(copyOf(t, jjFixture))
	for name, test := range map[string]func(*testing.T, *home){
		"have the numbers that Smithers has": func(t *testing.T, h *home) {
			t.Helper()
			testNumbers(t, h, runs)
		},
		"have frames as they were then":               testFrames,
		"are forks of the very frame":                 testForks,
		"have the timelines that Smithers shows":      testTimelines,
		"have the rendered trees that Smithers shows": testTrees,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &home{h.Store, t, h.repo})
		})
	}
}

func testNumbers(t *testing.T, h *home, runs map[string]smithers.ImportedRun) {
	t.Helper()
	require.Len(t, runs, 5)
	for id, run := range runs {
		assert.Equal(t, smithers.OutcomeCreated, run.Outcome, id)
		require.NoError(t, run.Err)
		assert.Empty(t, run.Marks)
	}
	assert.Equal(t, int64(31), runs["run-a"].Frame)
	assert.Equal(t, int64(31), runs["run-a"].Frames, "frame 0 of ours is none of Smithers'")
	assert.Equal(t, int64(14), runs[replayRun].Frame)
	assert.Equal(t, int64(0), runs[nestedRun].Frame)

	row, err := h.entry("run-a").RunRow()
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, row.Status)
	assert.Equal(t, "workflow.tsx", row.WorkflowPath)
	row, err = h.entry(nestedRun).RunRow()
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunPending, row.Status, "nobody started it, whatever Smithers shows")
}

func testFrames(t *testing.T, h *home) {
	t.Helper()
	at := func(frame string) (attempts []string, status snapshot.RunStatus, signals, approvals int) {
		entry := h.entry("run-j:" + frame)
		rows, err := entry.Attempts()
		require.NoError(t, err)
		for row, err := range rows.Rows() {
			require.NoError(t, err)
			a, err := snapshot.DecodeAttempt(row)
			require.NoError(t, err)
			attempts = append(attempts, row.Key+" "+a.State)
		}
		run, err := entry.RunRow()
		require.NoError(t, err)
		state, err := entry.State()
		require.NoError(t, err)
		return attempts, run.Status, state.Signals().Len(), state.Approvals().Len()
	}
	attempts, status, signals, approvals := at("3")
	assert.Equal(t, []string{"flaky::0::1 failed", "flaky::0::2 finished", "plan::0::1 finished"}, attempts)
	assert.Equal(t, snapshot.RunRunning, status)
	assert.Zero(t, signals+approvals)
	attempts, _, _, _ = at("5")
	assert.Contains(t, attempts, "p3::0::1 in-progress")
	attempts, status, signals, approvals = at("31")
	assert.Len(t, attempts, 15)
	assert.Equal(t, snapshot.RunRunning, status, "that it has ended is what the tip says")
	assert.Equal(t, 2, signals+approvals)

	input, err := stateOf(t, h.entry("run-j:0")).Input()
	require.NoError(t, err)
	assert.Contains(t, string(input), "topic")
	assert.Zero(t, stateOf(t, h.entry("run-j:0")).Nodes().Len(), "frame 0 is before Smithers' first")
}

func stateOf(t *testing.T, entry *snapshot.Entry) *snapshot.State {
	t.Helper()
	state, err := entry.State()
	require.NoError(t, err)
	return state
}

func testForks(t *testing.T, h *home) {
	t.Helper()
	assert.Equal(t, h.entry("run-a:7").ID, h.entry(plainFork+":0").ID, "it changes nothing")
	row, err := h.entry(nestedRun).RunRow()
	require.NoError(t, err)
	assert.Equal(t, snapshot.Parent{
		RunID: replayRun, Frame: 3, Commit: h.entry(replayRun + ":3").ID, Label: "nested", AtMs: 1795199229463,
	}, *row.Parent)
}

func TestASecondImportChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path)
	before := h.tips()
	for id, run := range h.take(path) {
		assert.Equal(t, smithers.OutcomeUnchanged, run.Outcome, id)
		assert.NoError(t, run.Err)
		assert.Zero(t, run.Frames)
	}
	assert.Equal(t, before, h.tips())
}

func TestTwoRepositoriesGiveOneDatabaseTheSameIDs(t *testing.T) {
	t.Parallel()
	one, other := newHome(t), newHome(t)
	one.take(copyOf(t, gitFixture))
	other.take(copyOf(t, gitFixture))
	assert.Equal(t, one.tips(), other.tips())
}

func TestRunsThatAreNamedComeWithWhatTheyWereForkedFrom(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	runs := h.take(copyOf(t, gitFixture), nestedRun)
	assert.Len(t, runs, 3)
	for _, id := range []string{nestedRun, replayRun, "run-a"} {
		assert.Equal(t, smithers.OutcomeCreated, runs[id].Outcome, id)
	}
	missing := h.take(copyOf(t, gitFixture), "nobody")["nobody"]
	assert.Equal(t, smithers.OutcomeRefused, missing.Outcome)
	assert.EqualError(t, missing.Err, `the database has no run "nobody"`)
}

func TestAForkWhoseParentIsNotThereIsARunOfItsOwn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture, `DELETE FROM _smithers_runs WHERE run_id = 'run-a'`)
	run := h.take(path, nestedRun)[replayRun]
	require.NoError(t, run.Err)
	row, err := h.entry(replayRun).RunRow()
	require.NoError(t, err)
	assert.Nil(t, row.Parent)
	assert.Equal(t, int64(14), row.Frame, "its first frame is Smithers' 0")
}

func TestRunsThatDescendFromThemselvesAreImported(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture, `INSERT INTO _smithers_branches (run_id, parent_run_id, parent_frame_no, created_at_ms)
		VALUES ('run-a', '`+nestedRun+`', 0, 1795199229463)`)
	for id, run := range h.take(path) {
		assert.Equal(t, smithers.OutcomeCreated, run.Outcome, "%s: %v", id, run.Err)
	}
	h.exact(path)
}

func TestARunIDIsAnyText(t *testing.T) {
	t.Parallel()
	const id = "../..//.git/HEAD .lock 💥"
	h := newHome(t)
	path := copyOf(t, jjFixture)
	for table := range content(t, path) {
		if column := query(t, path, `SELECT 1 FROM pragma_table_info(?) WHERE name = 'run_id'`, table); len(column) > 0 {
			require.NoError(t, sourcetest.Exec(t.Context(), path,
				`PRAGMA foreign_keys = OFF; UPDATE "`+table+`" SET run_id = '`+id+`'`))
		}
	}
	run := h.take(path)[id]
	require.NoError(t, run.Err)
	assert.Equal(t, int64(31), run.Frame)
	h.exact(path)
}
