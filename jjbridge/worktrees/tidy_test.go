package worktrees_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
)

// killedAdding returns a repository in which git and a process of ours were killed while git added the worktree at path. begun is how
// far git has come: it has a record without a HEAD, or it has checked out files.
func killedAdding(t *testing.T, headless bool) (repo *repotest.Repo, w *jjbridge.Workspace, path string) {
	t.Helper()
	repo = repotest.New(t)
	repo.Write("a.txt", "one\ntwo\n")
	repo.Git("add", ".")
	repo.Git("commit", "-qm", "files")
	path = filepath.Join(t.TempDir(), "half")
	path, err := filepath.EvalSymlinks(filepath.Dir(path))
	require.NoError(t, err)
	path = filepath.Join(path, "half")
	repo.Git("worktree", "add", "-q", "--detach", path)
	record := filepath.Join(repo.Dir, ".git", "worktrees", "half")
	require.NoError(t, os.WriteFile(filepath.Join(record, "locked"), []byte("initializing"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(path, "a.txt"), []byte("one\n"), 0o666))
	if headless {
		require.NoError(t, os.Remove(filepath.Join(path, "a.txt")))
		head, zeros := filepath.Join(record, "HEAD"), strings.Repeat("0", len(repo.Git("rev-parse", "HEAD")))+"\n"
		if repotest.RefFormat() != "files" {
			tables := filepath.Join(record, "reftable")
			require.NoError(t, os.RemoveAll(tables))
			require.NoError(t, os.Mkdir(tables, 0o777))
			head, zeros = filepath.Join(tables, "tables.list"), ""
		}
		require.NoError(t, os.WriteFile(head, []byte(zeros), 0o666))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(repo.Dir, ".git", "smithers"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(repo.Dir, ".git", "smithers", "worktrees.adding"), []byte(path), 0o666))
	w, err = jjbridge.Locate(t.Context(), repo.Dir, repo.Env)
	require.NoError(t, err)
	return repo, w, path
}

func TestAWorktreeThatAKilledProcessWasAddingIsTidiedAway(t *testing.T) {
	t.Parallel()
	for _, headless := range []bool{true, false} {
		repo, w, path := killedAdding(t, headless)
		unfinished, err := worktrees.Unfinished(w)
		require.NoError(t, err)
		assert.Equal(t, headless, len(unfinished) == 1, "a worktree with a HEAD stops no command of git")
		if headless && repotest.RefFormat() == "files" {
			_, err := repo.GitErr("fsck", "--strict")
			assert.Error(t, err, "git fails over it")
		}
		tidied, err := worktrees.Tidy(t.Context(), w)
		require.NoError(t, err)
		assert.Equal(t, path, tidied)
		assert.NoDirExists(t, path)
		assert.NoDirExists(t, filepath.Join(repo.Dir, ".git", "worktrees", "half"))
		repo.Git("fsck", "--strict")
		tidied, err = worktrees.Tidy(t.Context(), w)
		assert.NoError(t, err)
		assert.Empty(t, tidied)
	}
}

func TestFilesOfTheUsersInAHalfMadeWorktreeStay(t *testing.T) {
	t.Parallel()
	repo, w, path := killedAdding(t, false)
	require.NoError(t, os.WriteFile(filepath.Join(path, "mine.txt"), []byte("mine"), 0o666))
	_, err := worktrees.Tidy(t.Context(), w)
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(path, "mine.txt"))
	assert.NoFileExists(t, filepath.Join(repo.Dir, ".git", "worktrees", "half", "locked"), "git can prune it")
}

func TestAHalfMadeWorktreeOfAnotherProgramIsRemovedOnRequest(t *testing.T) {
	t.Parallel()
	repo, w, path := killedAdding(t, true)
	require.NoError(t, os.Remove(filepath.Join(repo.Dir, ".git", "smithers", "worktrees.adding")))
	tidied, err := worktrees.Tidy(t.Context(), w)
	require.NoError(t, err)
	assert.Empty(t, tidied)
	require.NoError(t, worktrees.DropUnfinished(t.Context(), w, path))
	assert.NoDirExists(t, path)
	repo.Git("fsck", "--strict")
}
