package smithers_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// earlierImport is a repository with the runs of the fixture as 0.1 imported them: differences from predicted rows.
func earlierImport(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, gitFixture)
	bundle, err := filepath.Abs(filepath.Join("..", "..", "..", "testdata", "smithers", "imported.bundle"))
	require.NoError(t, err)
	w.repo.Git("fetch", "--quiet", bundle, "refs/smithers/*:refs/smithers/*")
	return w
}

// assertOlder asserts that a run cannot be exported before it, or the run that it was forked from, is imported again.
func (w *world) assertOlder(run, imported string) {
	w.t.Helper()
	to := filepath.Join(w.t.TempDir(), "out.db")
	_, err := smithers.Export(w.t.Context(), w.store, smithers.ExportRequest{To: to, Runs: []string{run}})
	require.Equal(w.t, fault.OlderFormat, fault.CodeOf(err), "%v", err)
	assertHints(w.t, err, "import it again: `git smithers import DATABASE --run "+imported+"`")
	assert.NoFileExists(w.t, to)
}

func TestARunThatAnEarlierVersionImportedIsExportedOnceItIsImportedAgain(t *testing.T) {
	t.Parallel()
	repotest.NeedsSHA1(t)
	w := earlierImport(t)
	_, err := w.store.Fork(t.Context(), timeline.ForkRequest{From: "run-a:7", RunID: "before"})
	require.NoError(t, err)
	w.assertOlder("run-a", "run-a")
	w.assertOlder("before", "run-a")
	before, err := w.store.Head(t.Context(), "run-a")
	require.NoError(t, err)

	imported, err := smithers.Import(t.Context(), w.store, w.source, smithers.ImportRequest{})
	require.NoError(t, err)
	for _, run := range imported.Runs {
		require.NoError(t, run.Err, run.RunID)
		require.Equal(t, smithers.OutcomeContinued, run.Outcome, run.RunID)
		require.Zero(t, run.Frames, run.RunID)
		require.Empty(t, run.Marks, run.RunID)
	}
	after, err := w.store.Head(t.Context(), "run-a")
	require.NoError(t, err)
	w.repo.Git("merge-base", "--is-ancestor", before.Entry().ID.String(), after.Entry().ID.String())
	w.repo.Git("fsck", "--strict")

	// A fork of a frame from before has what its parent kept of the run's row since then.
	_, err = w.store.Fork(t.Context(), timeline.ForkRequest{From: "run-a:7", RunID: "since"})
	require.NoError(t, err)
	for _, run := range []string{"before", "since"} {
		to := filepath.Join(t.TempDir(), "out.db")
		_, err := smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Runs: []string{run}})
		require.NoError(t, err)
		assertSound(t, to)
		assert.Contains(t, value(t, to, `SELECT config_json FROM _smithers_runs`), "toolTimeoutMs")
	}
	for _, run := range []string{"before", "since"} {
		w.repo.Git("update-ref", "-d", "refs/smithers/_tip/"+run)
	}
	w.assertComesBack()

	again, err := smithers.Import(t.Context(), w.store, w.source, smithers.ImportRequest{})
	require.NoError(t, err)
	for _, run := range again.Runs {
		require.Equal(t, smithers.OutcomeUnchanged, run.Outcome, run.RunID)
	}
}

func TestTextsThatAreNotAsImportedAreNotExported(t *testing.T) {
	t.Parallel()
	w := importedWorld(t, jjFixture)
	head, err := w.store.Head(t.Context(), "run-j")
	require.NoError(t, err)
	pass, err := head.Entry().ExtFile("smithers", "pass")
	require.NoError(t, err)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Ext: &snapshot.ExtDraft{Engine: "smithers", Files: map[string][]byte{
		"pass": []byte(strings.Replace(string(pass), `"pass":2,`, `"pass":3,`, 1)), "outputs": []byte(`{"bareInput":true}`),
	}}}))
	_, err = smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: filepath.Join(t.TempDir(), "out.db")})
	require.Equal(t, fault.ExportRefused, fault.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "the texts of a snapshot differ from the imported texts")
}

func TestARunFromADatabaseWithoutRenderedTreesIsExportedWithThem(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, jjFixture, `DROP TABLE _smithers_frames`))
	to := filepath.Join(t.TempDir(), "out.db")
	exported, err := smithers.Export(t.Context(), h.Store, smithers.ExportRequest{To: to, Root: "/another/folder"})
	require.NoError(t, err)
	assert.True(t, exported.Runs[0].Exact)
	assert.NotEmpty(t, query(t, to, `SELECT 1 FROM _smithers_frames`))
}
