package smithers_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/peer/smithers"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

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
