package smithers_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// earlierImport is a repository with the runs of the fixture as an earlier version imported them: testdata/repositories
// says how the bundle is made.
func earlierImport(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, gitFixture)
	bundle, err := filepath.Abs(filepath.Join("..", "..", "..", "testdata", "smithers", "imported.bundle"))
	require.NoError(t, err)
	w.repo.Git("fetch", "--quiet", bundle, "refs/smithers/*:refs/smithers/*")
	return w
}

// editPass changes how far the run says that it was imported.
func (w *world) editPass(run string, edit func(pass string) string) {
	w.t.Helper()
	head, err := w.store.Head(w.t.Context(), run)
	require.NoError(w.t, err)
	pass, err := head.Entry().ExtFile("smithers", "pass")
	require.NoError(w.t, err)
	edited := edit(string(pass))
	require.NotEqual(w.t, string(pass), edited)
	require.NoError(w.t, head.Append(w.t.Context(), snapshot.Draft{
		Ext: &snapshot.ExtDraft{Engine: "smithers", Files: map[string][]byte{"pass": []byte(edited)}},
	}))
}

func TestARunThatAnEarlierVersionImportedIsExportedRightlyOrNotAtAll(t *testing.T) {
	t.Parallel()
	w := earlierImport(t)
	w.assertComesBack()
	w.repo.Git("fsck", "--strict")

	// Without the digest that is free of paths, rows in another folder cannot be checked.
	w.editPass("run-a", func(pass string) string { return pass[:strings.Index(pass, `,"movable"`)] + "}\n" })
	to := filepath.Join(t.TempDir(), "out.db")
	_, err := smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: "/another/folder"})
	assert.Equal(t, fault.ExportRefused, fault.CodeOf(err), "%v", err)
	assert.NoFileExists(t, to)
}

func TestARunThatWasImportedWithOtherPredictionsIsRefused(t *testing.T) {
	t.Parallel()
	for _, other := range []string{`"predictions":2,`, ``} {
		w := earlierImport(t)
		w.editPass("run-a", func(pass string) string { return strings.Replace(pass, `"predictions":1,`, other, 1) })
		to := filepath.Join(t.TempDir(), "out.db")
		_, err := smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Runs: []string{"run-a"}})
		require.Equal(t, fault.ExportRefused, fault.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, `run "run-a" cannot be exported: it was imported by a version of git-smithers that stores rows in another form`)
		assertHints(t, err, "nothing was written; prune the run and import it again, or export it with the version of git-smithers that imported it")
		assert.NoFileExists(t, to)

		edited := copyOf(t, gitFixture, `UPDATE _smithers_runs SET created_at_ms = created_at_ms + 1 WHERE run_id = 'run-a'`)
		imported, err := smithers.Import(t.Context(), w.store, edited, smithers.ImportRequest{})
		require.NoError(t, err)
		for _, run := range imported.Runs {
			if run.RunID == "run-a" {
				assert.Equal(t, fault.ImportRefused, fault.CodeOf(run.Err), "%v", run.Err)
			} else {
				assert.NoError(t, run.Err, run.RunID)
			}
		}
	}
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
