package timeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// workedIn is a run whose newest frame has the files of a worktree that the run made for a task, or for itself.
func workedIn(t *testing.T, s *timeline.Store, run, name string) (own *files.WorkingCopy, found map[string]string) {
	t.Helper()
	head, err := s.Create(t.Context(), snapshot.Run{ID: run, Status: snapshot.RunRunning}, snapshot.Draft{})
	require.NoError(t, err)
	own, err = files.OpenWorktree(t.Context(), s, run, files.WorktreeSpec{Name: name, Fill: true}, false)
	require.NoError(t, err)
	assert.Nil(t, own.FilledWith(), "no frame has files of it yet")
	require.NoError(t, os.WriteFile(filepath.Join(own.Root(), "work.txt"), []byte("work\n"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(own.Root(), "README.md"), []byte("# Worked on\n"), 0o666))
	draft := shot(t, own, "a finished")
	if name != "" {
		draft.VCS = &snapshot.VCS{Type: draft.VCS.Type, Worktrees: []snapshot.Worktree{{Name: name, VCS: *draft.VCS}}}
	}
	require.NoError(t, head.Append(t.Context(), draft))
	return own, filesIn(t, own.Root())
}

func TestAWorktreeThatIsMadeAnewHasTheFilesOfTheNewestFrame(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		for run, name := range map[string]string{"of the run": "", "of a task": "task"} {
			own, found := workedIn(t, s, run, name)
			base := filesIn(t, repo.Dir)
			require.NoError(t, os.RemoveAll(own.Root()))
			anew, err := files.OpenWorktree(t.Context(), s, run, files.WorktreeSpec{Name: name, Fill: true}, true)
			require.NoError(t, err)
			assert.Equal(t, own.Root(), anew.Root())
			assert.Equal(t, found, filesIn(t, anew.Root()))
			assert.NotNil(t, anew.FilledWith())
			if kind.IsJJ() {
				continue // it stands on the change of the one before, which jj goes on showing
			}
			pruned, err := files.PruneWorktrees(t.Context(), s, []string{run}, files.PruneOptions{})
			require.NoError(t, err)
			require.Len(t, pruned, 1)
			assert.True(t, pruned[0].Removed, "its files are in a frame: %s", pruned[0].Unsaved)
			plain, err := files.OpenWorktree(t.Context(), s, run, files.WorktreeSpec{Name: name}, true)
			require.NoError(t, err)
			assert.Equal(t, base, filesIn(t, plain.Root()), "nobody asked for the frame's files")
		}
	})
}

// A process may die while it fills a worktree. What it left is no work of anybody's.
func TestAWorktreeThatWasHalfFilledIsMadeAnew(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	own, found := workedIn(t, s, "run", "")
	require.NoError(t, os.RemoveAll(own.Root()))
	spec := files.WorktreeSpec{Fill: true}
	anew, err := files.OpenWorktree(t.Context(), s, "run", spec, false)
	require.NoError(t, err)
	halfway := func() {
		notes, err := filepath.Glob(filepath.Join(repo.GitDir, "smithers", "worktrees", "made", "*.json"))
		require.NoError(t, err)
		require.Len(t, notes, 1)
		note, err := os.ReadFile(notes[0])
		require.NoError(t, err)
		begun := strings.TrimSuffix(strings.TrimSpace(string(note)), "}") + `,"begun":true}`
		require.NoError(t, os.WriteFile(notes[0], []byte(begun), 0o666))
		require.NoError(t, os.Remove(filepath.Join(anew.Root(), "work.txt")))
	}
	halfway()
	anew, err = files.OpenWorktree(t.Context(), s, "run", spec, false)
	require.NoError(t, err)
	assert.Equal(t, found, filesIn(t, anew.Root()))

	halfway()
	mine := filepath.Join(anew.Root(), "mine.txt")
	require.NoError(t, os.WriteFile(mine, []byte("precious\n"), 0o666))
	_, err = files.OpenWorktree(t.Context(), s, "run", spec, false)
	assert.Equal(t, fault.UnsavedWork, fault.CodeOf(err), "%v", err)
	assert.FileExists(t, mine)
}
