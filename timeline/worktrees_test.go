package timeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAWorktreeIsMadeOnceAndFoundAgain(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		triage(t, s, "run")
		made, err := files.OpenWorktree(t.Context(), s, "run", files.WorktreeSpec{Name: "fix it"}, false)
		require.NoError(t, err)
		assert.Equal(t, repo.Dir+"-run-fix%20it", made.Root())
		assert.Equal(t, filesIn(t, repo.Dir), filesIn(t, made.Root()))
		require.NoError(t, os.WriteFile(filepath.Join(made.Root(), "work.txt"), []byte("in progress\n"), 0o666))

		found, err := files.OpenWorktree(t.Context(), open(t, repo), "run", files.WorktreeSpec{Name: "fix it"}, true)
		require.NoError(t, err)
		assert.Equal(t, made.Root(), found.Root())
		assert.FileExists(t, filepath.Join(found.Root(), "work.txt"))
		captured, err := found.Capture(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, captured.Close()) })
		assert.NotEmpty(t, captured.VCS.Root)

		require.NoError(t, os.RemoveAll(found.Root()))
		anew, err := files.OpenWorktree(t.Context(), s, "run", files.WorktreeSpec{Name: "fix it"}, true)
		require.NoError(t, err)
		assert.Equal(t, made.Root(), anew.Root())
		assert.Equal(t, filesIn(t, repo.Dir), filesIn(t, anew.Root()))
	})
}

func TestAWorktreeHasItsPlaceAndItsBranch(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("branch", "topic")
	s := open(t, repo)
	triage(t, s, "run")
	for _, c := range []struct {
		spec files.WorktreeSpec
		want string
	}{
		{files.WorktreeSpec{}, repo.Dir + "-run"},
		{files.WorktreeSpec{Name: "a", Path: "../beside"}, filepath.Join(repo.Dir, "..", "beside")},
		{files.WorktreeSpec{Name: "b", Path: filepath.Join(repo.Home, "far"), Branch: "work/b", Base: "topic"}, filepath.Join(repo.Home, "far")},
	} {
		made, err := files.OpenWorktree(t.Context(), s, "run", c.spec, false)
		require.NoError(t, err)
		assert.Equal(t, c.want, made.Root())
		branch, err := repo.GitIn(made.Root(), "branch", "--show-current")
		require.NoError(t, err)
		assert.Equal(t, c.spec.Branch, branch)
	}
	list, err := files.Worktrees(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, list, 3)
	assert.Equal(t, []string{"", "a", "b"}, []string{list[0].Name, list[1].Name, list[2].Name})
	assert.Equal(t, "work/b", list[2].Branch)
	assert.Equal(t, repo.Git("rev-parse", "topic"), list[2].Commit)
}

func TestAFolderThatIsTakenMakesNoWorktree(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "one")
	triage(t, s, "two")
	spec := files.WorktreeSpec{Name: "a", Path: "../shared"}
	_, err := files.OpenWorktree(t.Context(), s, "one", spec, false)
	require.NoError(t, err)
	_, err = files.OpenWorktree(t.Context(), s, "two", spec, false)
	assert.Equal(t, fault.WorktreeFailed, fault.CodeOf(err))
	assert.ErrorContains(t, err, `run "one"`)

	full := filepath.Join(repo.Dir, "..", "full")
	require.NoError(t, os.Mkdir(full, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(full, "mine"), nil, 0o666))
	_, err = files.OpenWorktree(t.Context(), s, "two", files.WorktreeSpec{Name: "a", Path: "../full"}, false)
	assert.Equal(t, fault.WorktreeFailed, fault.CodeOf(err), "%v", err)
	assert.FileExists(t, filepath.Join(full, "mine"))
	list, err := files.Worktrees(t.Context(), s)
	require.NoError(t, err)
	assert.Len(t, list, 1, "what could not be made is not listed")
}

func TestARebaseThatFailsIsAWarning(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	var warnings []string
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Warn: func(err error) { warnings = append(warnings, err.Error()) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	triage(t, s, "run")
	spec := files.WorktreeSpec{Name: "a", Branch: "side"}
	made, err := files.OpenWorktree(t.Context(), s, "run", spec, false)
	require.NoError(t, err)
	commit := func(dir, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte(content), 0o666))
		_, err := repo.GitIn(dir, "commit", "--quiet", "--all", "--message="+content)
		require.NoError(t, err)
	}
	commit(made.Root(), "theirs")
	commit(repo.Dir, "ours")
	before := repo.Git("rev-parse", "side")

	_, err = files.OpenWorktree(t.Context(), s, "run", spec, true)
	require.NoError(t, err)
	require.NotEmpty(t, warnings)
	assert.Contains(t, warnings[len(warnings)-1], " was not rebased: ")
	assert.Equal(t, before, repo.Git("rev-parse", "side"))
}

func TestPruneRemovesWhatIsSavedAndKeepsWhatIsNot(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		head := triage(t, s, "run")
		paths := make(map[string]string)
		for _, name := range []string{"clean", "captured", "unsaved", "gone"} {
			made, err := files.OpenWorktree(t.Context(), s, "run", files.WorktreeSpec{Name: name}, false)
			require.NoError(t, err)
			paths[name] = made.Root()
			if name == "captured" || name == "unsaved" {
				require.NoError(t, os.WriteFile(filepath.Join(made.Root(), "work.txt"), []byte(name), 0o666))
			}
			if name == "captured" {
				draft := shot(t, made, "captured")
				draft.VCS = &snapshot.VCS{Type: draft.VCS.Type, Worktrees: []snapshot.Worktree{{Name: name, VCS: *draft.VCS}}}
				require.NoError(t, head.Append(t.Context(), draft))
			}
		}
		require.NoError(t, os.RemoveAll(paths["gone"]))

		kept, err := files.PruneWorktrees(t.Context(), s, nil, files.PruneOptions{})
		require.NoError(t, err)
		assert.Empty(t, kept, "the run is running")
		would, err := files.PruneWorktrees(t.Context(), s, []string{"run"}, files.PruneOptions{DryRun: true})
		require.NoError(t, err)
		require.Len(t, would, 4)
		for _, w := range would {
			assert.False(t, w.Removed)
		}
		for name, path := range paths {
			if name != "gone" {
				assert.DirExists(t, path)
			}
		}

		require.NoError(t, head.Append(t.Context(), snapshot.Draft{Run: func(r *snapshot.Run) { r.Status = snapshot.RunFinished }}))
		pruned, err := files.PruneWorktrees(t.Context(), s, nil, files.PruneOptions{})
		require.NoError(t, err)
		require.Len(t, pruned, 4)
		for i, w := range pruned {
			assert.Equal(t, would[i].Unsaved, w.Unsaved, "a dry run says the same")
			assert.Equal(t, w.Name != "unsaved", w.Removed, w.Name)
			assert.Equal(t, w.Name == "gone", w.Missing, w.Name)
		}
		assert.NoDirExists(t, paths["clean"])
		assert.NoDirExists(t, paths["captured"])
		assert.FileExists(t, filepath.Join(paths["unsaved"], "work.txt"))
		left, err := files.Worktrees(t.Context(), s)
		require.NoError(t, err)
		require.Len(t, left, 1)
		assert.NotEmpty(t, left[0].Unsaved)
	})
}

func TestAWorktreeOfATaskIsWhereItIsReverted(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startRun(t, s, "run")
	own, err := files.OpenWorktree(t.Context(), s, "run", files.WorktreeSpec{Name: "a"}, false)
	require.NoError(t, err)
	work := filepath.Join(own.Root(), "work.txt")
	require.NoError(t, os.WriteFile(work, []byte("first\n"), 0o666))
	main, mine := shot(t, files.WorkingCopyOf(s), "a finished"), shot(t, own, "")
	main.VCS.Worktrees = []snapshot.Worktree{{Name: "a", VCS: *mine.VCS}}
	main.Objects = mine.Objects
	main.Journal = []snapshot.Change{ended(snapshot.Attempt{
		Attempt: 1, CommitID: mine.VCS.CommitID, Tree: mine.VCS.Tree, Frame: new(int64(1)), Worktree: "a",
	})}
	require.NoError(t, head.Append(t.Context(), main))
	require.NoError(t, os.WriteFile(work, []byte("second\n"), 0o666))
	found := filesIn(t, repo.Dir)

	done, err := files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a"})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"work.txt": "modify"}, opsOf(done.Changes))
	text, err := os.ReadFile(work)
	require.NoError(t, err)
	assert.Equal(t, "first\n", string(text))
	assert.Equal(t, found, filesIn(t, repo.Dir), "the run's own files are others")
	assert.Equal(t, "second", repo.Git("show", "refs/smithers/run/2:worktrees/a/work.txt"))
	assert.Equal(t, "first", repo.Git("show", "refs/smithers/run/3:worktrees/a/work.txt"))
	assert.Equal(t, vcsAt(t, s, "run:0").Tree, vcsAt(t, s, "run:3").Tree)

	require.NoError(t, os.RemoveAll(own.Root()))
	_, err = files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a"})
	assert.Equal(t, fault.NoWorkingCopy, fault.CodeOf(err))
	assert.NoDirExists(t, own.Root())
}

// The run leaves the working copy alone that it was started in, and so does a restore of it.
func TestTheOwnWorktreeOfARunIsWhereItIsRestored(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		row := snapshot.Run{ID: "run", Status: snapshot.RunRunning}
		head, err := s.Create(t.Context(), row, snapshot.Draft{})
		require.NoError(t, err)
		own, err := files.OpenWorktree(t.Context(), s, "run", files.WorktreeSpec{}, false)
		require.NoError(t, err)
		write := func(content string) {
			require.NoError(t, os.WriteFile(filepath.Join(own.Root(), "work.txt"), []byte(content), 0o666))
		}
		write("first\n")
		draft := shot(t, own, "a finished")
		draft.Journal = []snapshot.Change{ended(snapshot.Attempt{
			Attempt: 1, CommitID: draft.VCS.CommitID, Tree: draft.VCS.Tree, Frame: new(int64(1)),
		})}
		require.NoError(t, head.Append(t.Context(), draft))
		first := filesIn(t, own.Root())
		repo.Write("README.md", "# Mine\n")
		mine := filesIn(t, repo.Dir)

		write("second\n")
		reverted, err := files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a"})
		require.NoError(t, err)
		assert.Equal(t, own.Root(), reverted.Root)
		assert.Equal(t, first, filesIn(t, own.Root()))
		write("third\n")
		restored, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:1"})
		require.NoError(t, err)
		assert.Equal(t, own.Root(), restored.Root)
		assert.Equal(t, first, filesIn(t, own.Root()))
		assert.Equal(t, mine, filesIn(t, repo.Dir))

		require.NoError(t, os.RemoveAll(own.Root()))
		_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:1"})
		assert.Equal(t, fault.NoWorkingCopy, fault.CodeOf(err))
		_, err = files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a"})
		assert.Equal(t, fault.NoWorkingCopy, fault.CodeOf(err))
		assert.Equal(t, mine, filesIn(t, repo.Dir))
	})
}
