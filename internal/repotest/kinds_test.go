package repotest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

func TestEveryKindHasTheSameFiles(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		data, err := os.ReadFile(filepath.Join(repo.Dir, "src", "main.go"))
		require.NoError(t, err)
		assert.Contains(t, string(data), "package main")
		assert.Equal(t, "first", repo.Git("log", "-1", "--format=%s", "main"))
		if kind.IsJJ() {
			assert.True(t, strings.HasPrefix(repo.JJ("status"), "The working copy has no changes."))
		}
	})
}

func TestOnlyAColocatedWorkspaceHasAGitFolder(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		_, err := os.Lstat(filepath.Join(repo.Dir, ".git"))
		assert.Equal(t, kind != repotest.JJ && kind != repotest.JJSecondary, err == nil)
		_, err = os.Lstat(filepath.Join(repo.Dir, ".jj"))
		assert.Equal(t, kind.IsJJ(), err == nil)
	})
}

func TestCleanupFindsDamagedOperationsOfJJ(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	repo := repotest.NewKind(rec, repotest.JJ)
	heads := filepath.Join(repo.Dir, ".jj", "repo", "op_heads", "heads")
	require.NoError(t, os.RemoveAll(heads))

	rec.finish()

	assert.True(t, rec.failed, "the missing operation must fail the test")
}

func TestTheNewerGitIsWhatJJFetchesWith(t *testing.T) {
	t.Parallel()
	origin := repotest.New(t, repotest.Commit)
	repo := repotest.NewKind(t, repotest.JJ)
	repo.UseNewerGit()
	origin.Git("commit", "--quiet", "--allow-empty", "--message=second")
	repo.JJ("git", "remote", "add", "origin", origin.Dir)

	repo.JJ("git", "fetch", "--quiet")

	assert.Equal(t, origin.Git("rev-parse", "main"), repo.Git("rev-parse", "refs/remotes/origin/main"))
}
