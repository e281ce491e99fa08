package code

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

func openStore(t *testing.T, repo *repotest.Repo, warn func(error)) *timeline.Store {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now, Warn: warn})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// A process that dies while it makes a worktree leaves it in any state.
func TestAWorktreeThatWasNotFinishedIsMadeAnew(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := openStore(t, repo, nil)
		made, err := OpenWorktree(t.Context(), s, "run", WorktreeSpec{Name: "a"}, false)
		require.NoError(t, err)
		begun := madeWorktree{Run: "run", Name: "a", Path: made.Root(), Begun: true}
		require.NoError(t, putMade(s, begun))

		anew, err := OpenWorktree(t.Context(), s, "run", WorktreeSpec{Name: "a"}, false)
		require.NoError(t, err)
		assert.Equal(t, made.Root(), anew.Root())
		record, err := findMade(s, "run", "a")
		require.NoError(t, err)
		assert.False(t, record.Begun)

		require.NoError(t, putMade(s, begun))
		require.NoError(t, os.WriteFile(filepath.Join(made.Root(), "mine"), []byte("of the user\n"), 0o666))
		_, err = OpenWorktree(t.Context(), s, "run", WorktreeSpec{Name: "a"}, false)
		assert.Equal(t, fault.UnsavedWork, fault.CodeOf(err), "%v", err)
		assert.FileExists(t, filepath.Join(made.Root(), "mine"))
	})
}

// Between the note and the making of a worktree, a user may have made one in its place.
func TestAWorktreeOfTheUserIsNotTakenForOneThatWasNotFinished(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(t *testing.T, repo *repotest.Repo, path string){
		"on a branch": func(_ *testing.T, repo *repotest.Repo, path string) {
			repo.Git("worktree", "add", "--quiet", "-b", "mine", path)
		},
		"with an ignored file": func(t *testing.T, repo *repotest.Repo, path string) {
			t.Helper()
			repo.Git("worktree", "add", "--quiet", "--detach", path)
			require.NoError(t, os.MkdirAll(filepath.Join(repo.GitDir, "info"), 0o777))
			require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "info", "exclude"), []byte(".env\n"), 0o666))
			require.NoError(t, os.WriteFile(filepath.Join(path, ".env"), []byte("SECRET=1\n"), 0o666))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			s := openStore(t, repo, nil)
			path := filepath.Join(filepath.Dir(repo.Dir), "own")
			add(t, repo, path)
			require.NoError(t, putMade(s, madeWorktree{Run: "run", Path: path, Begun: true}))
			before := repo.Git("worktree", "list", "--porcelain")

			_, err := OpenWorktree(t.Context(), s, "run", WorktreeSpec{Path: path}, false)
			assert.Equal(t, fault.UnsavedWork, fault.CodeOf(err), "%v", err)
			assert.Equal(t, before, repo.Git("worktree", "list", "--porcelain"))
			entries, err := os.ReadDir(path)
			require.NoError(t, err)
			assert.NotEmpty(t, entries)
		})
	}
}

func TestARecordThatCannotBeReadIsAWarning(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	var warnings []error
	s := openStore(t, repo, func(err error) { warnings = append(warnings, err) })
	_, err := OpenWorktree(t.Context(), s, "run", WorktreeSpec{Name: "a"}, false)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(madePath(s, "0000.json"), []byte("{"), 0o666))
	require.NoError(t, os.WriteFile(madePath(s, "1111.json.new"), []byte("{"), 0o666))
	list, err := Worktrees(t.Context(), s)
	require.NoError(t, err)
	assert.Len(t, list, 1)
	assert.Len(t, warnings, 1)
}
