package timeline

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func openStore(t *testing.T, repo *repotest.Repo, warn func(error)) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now, Warn: warn})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// A process that dies while it makes a worktree leaves it in any state.
func TestAWorktreeThatWasNotFinishedIsMadeAnew(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := openStore(t, repo, nil)
	made, err := s.OpenWorktree(t.Context(), "run", WorktreeSpec{Name: "a"}, false)
	require.NoError(t, err)
	begun := madeWorktree{Run: "run", Name: "a", Path: made.Root(), Begun: true}
	require.NoError(t, s.putMade(begun))

	anew, err := s.OpenWorktree(t.Context(), "run", WorktreeSpec{Name: "a"}, false)
	require.NoError(t, err)
	assert.Equal(t, made.Root(), anew.Root())
	record, err := s.madeWorktree("run", "a")
	require.NoError(t, err)
	assert.False(t, record.Begun)

	require.NoError(t, s.putMade(begun))
	require.NoError(t, os.WriteFile(filepath.Join(made.Root(), "mine"), []byte("of the user\n"), 0o666))
	_, err = s.OpenWorktree(t.Context(), "run", WorktreeSpec{Name: "a"}, false)
	assert.Equal(t, fault.UnsavedWork, fault.CodeOf(err), "%v", err)
	assert.FileExists(t, filepath.Join(made.Root(), "mine"))
}

func TestARecordThatCannotBeReadIsAWarning(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	var warnings []error
	s := openStore(t, repo, func(err error) { warnings = append(warnings, err) })
	_, err := s.OpenWorktree(t.Context(), "run", WorktreeSpec{Name: "a"}, false)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.madePath("0000.json"), []byte("{"), 0o666))
	require.NoError(t, os.WriteFile(s.madePath("1111.json.new"), []byte("{"), 0o666))
	list, err := s.Worktrees(t.Context())
	require.NoError(t, err)
	assert.Len(t, list, 1)
	assert.Len(t, warnings, 1)
}
