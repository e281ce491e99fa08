package timeline_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func openAt(t *testing.T, dir string, env []string) (*timeline.Store, error) {
	t.Helper()
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: dir, Env: env, Now: time.Now})
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, store.Close()) })
	}
	return store, err
}

func TestAStoreIsTheSharedOneOfEveryWorkingCopy(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		store, err := openAt(t, filepath.Join(repo.Dir, "src"), repo.Env)
		require.NoError(t, err)
		assert.Equal(t, repo.GitDir, store.Repo().CommonDir)
		assert.Equal(t, repo.Dir, store.Workspace().Root)
	})
}

func TestAStoreForHistoryAloneHasNoWorkingCopy(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	made, err := timeline.InitBare(t.Context(), repo.Home, repo.Env)
	require.NoError(t, err)
	store, err := openAt(t, repo.Home, repo.Env)
	require.NoError(t, err)
	assert.Equal(t, made, store.Repo().CommonDir)
	assert.Empty(t, store.Workspace().Root)
}

func TestAJJFolderThatLeadsNowhereIsExplained(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		damage func(jj string) error
		code   fault.Code
	}{
		"no repository": {func(jj string) error { return os.RemoveAll(filepath.Join(jj, "repo")) }, fault.NoRepository},
		"another kind of one": {func(jj string) error {
			return os.WriteFile(filepath.Join(jj, "repo", "store", "type"), []byte("simple"), 0o666)
		}, fault.UnsupportedFormat},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.NewKind(t, repotest.JJ)
			repo.Damaged()
			require.NoError(t, tt.damage(filepath.Join(repo.Dir, ".jj")))
			_, err := openAt(t, repo.Dir, repo.Env)
			assert.Equal(t, tt.code, fault.CodeOf(err), err)
			var explained *fault.Error
			require.ErrorAs(t, err, &explained)
			assert.NotContains(t, err.Error(), "current folder")
		})
	}
}
