package jjbridge_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

func revision(t *testing.T, repo *repotest.Repo, dir string) *snapshot.VCS {
	t.Helper()
	found, err := gitexec.Discover(t.Context(), dir, repo.Env)
	require.NoError(t, err)
	v, err := jjbridge.Revision(t.Context(), found, repo.Env)
	require.NoError(t, err)
	return v
}

func TestTheRevisionIsTheCommitOfHEAD(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	assert.Equal(t, &snapshot.VCS{Type: "git", CommitID: repo.Git("rev-parse", "HEAD")}, revision(t, repo, repo.Dir))
}

func TestEachWorktreeHasItsOwnRevision(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	first := repo.Git("rev-parse", "HEAD")
	other := filepath.Join(repo.Home, "other")
	repo.Git("worktree", "add", "--quiet", "-b", "side", other)
	repo.Git("commit", "--quiet", "--allow-empty", "--message=second")
	assert.Equal(t, first, revision(t, repo, other).CommitID)
	assert.Equal(t, repo.Git("rev-parse", "main"), revision(t, repo, repo.Dir).CommitID)
}

func TestWithoutACommitThereIsNoRevision(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	assert.Nil(t, revision(t, repo, repo.Dir))
	bare := repotest.New(t, repotest.Bare, repotest.Commit)
	assert.Nil(t, revision(t, bare, bare.Dir))
}
