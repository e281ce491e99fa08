package smithers_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/peer/smithers"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAnExportWithAChangedPredictionIsRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, jjFixture))
	change := func(name, column string) func(string, []source.Row) {
		return func(table string, rows []source.Row) {
			for _, row := range rows {
				if v := row[column]; table == name && v.Kind == source.Int {
					row[column] = source.Value{Kind: source.Int, Int: v.Int + 1}
				}
			}
		}
	}
	for what, changed := range map[string]func(string, []source.Row){
		"nodes":    change("_smithers_nodes", "updated_at_ms"),
		"attempts": change("_smithers_attempts", "started_at_ms"),
		"events":   change("_smithers_events", "timestamp_ms"),
		"the run":  change("_smithers_runs", "created_at_ms"),
	} {
		for _, root := range []string{fixtureRoot, "/another/folder"} {
			to := filepath.Join(t.TempDir(), "out.db")
			err := smithers.ExportPredicting(t.Context(), h.Store, smithers.ExportRequest{To: to, Root: root}, changed)
			assert.Equal(t, fault.ExportRefused, fault.CodeOf(err), "%s in %s: %v", what, root, err)
			require.ErrorContains(t, err, "its rows are not those that were imported")
			assert.NoFileExists(t, to)
		}
	}
	same := func(string, []source.Row) {}
	for _, root := range []string{fixtureRoot, "/another/folder", "/"} {
		to := filepath.Join(t.TempDir(), "out.db")
		require.NoError(t, smithers.ExportPredicting(t.Context(), h.Store, smithers.ExportRequest{To: to, Root: root}, same), root)
	}
}

// The bundle has the runs of the fixture as an earlier version imported them: without the digest that is free of paths.
func TestARunThatAnEarlierVersionImportedIsExportedRightlyOrNotAtAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "git-run-fork-replay.db")
	bundle, err := filepath.Abs(filepath.Join("..", "..", "testdata", "smithers", "imported-before-movable.bundle"))
	require.NoError(t, err)
	w.repo.Git("fetch", "--quiet", bundle, "refs/smithers/*:refs/smithers/*")
	w.assertComesBack()

	to := filepath.Join(t.TempDir(), "out.db")
	_, err = smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: "/another/folder"})
	assert.Equal(t, fault.ExportRefused, fault.CodeOf(err), "%v", err)
	assert.NoFileExists(t, to)
	w.repo.Git("fsck", "--strict")
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
