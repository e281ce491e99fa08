package export_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/export"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAnExportWithAChangedPredictionIsRefused(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	_, err = smithers.Import(t.Context(), store, filepath.Join("..", "..", "..", "..", "testdata", "smithers", "jj-pristine-31frames.db"), smithers.ImportRequest{})
	require.NoError(t, err)
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
		for _, root := range []string{"/home/dev/project", "/another/folder"} {
			to := filepath.Join(t.TempDir(), "out.db")
			err := export.RunsPredicting(t.Context(), store, export.Request{To: to, Root: root}, changed)
			assert.Equal(t, fault.ExportRefused, fault.CodeOf(err), "%s in %s: %v", what, root, err)
			require.ErrorContains(t, err, "the restored rows differ from the imported rows")
			assert.NoFileExists(t, to)
		}
	}
	same := func(string, []source.Row) {}
	for _, root := range []string{"/home/dev/project", "/another/folder", "/"} {
		to := filepath.Join(t.TempDir(), "out.db")
		require.NoError(t, export.RunsPredicting(t.Context(), store, export.Request{To: to, Root: root}, same), root)
	}
}
