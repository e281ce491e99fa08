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
	"github.com/git-smithers/git-smithers/objstore"
)

// added is a working copy beside the one of repo, on a branch, and its place in the list.
func added(t *testing.T, repo *repotest.Repo) (w, work *jjbridge.Workspace, there *repotest.Repo, info worktrees.Info) {
	t.Helper()
	w = workspace(t, repo)
	work = add(t, w, worktrees.AddRequest{Path: beside(repo, "new"), Name: "task", Branch: "work"})
	info, ok := listed(t, w, work.Root)
	require.True(t, ok)
	return w, work, in(repo, work.Root), info
}

// commit makes a commit of what is in the working copy.
func commit(kind repotest.Kind, repo *repotest.Repo, message string) {
	if kind.IsJJ() {
		repo.JJ("commit", "--quiet", "--message="+message)
		return
	}
	repo.Git("add", ".")
	repo.Git("commit", "--quiet", "--message="+message)
}

func TestAWorkspaceWithoutWorkIsRemoved(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w, work, there, info := added(t, repo)
		outside := beside(repo, "outside")
		require.NoError(t, os.Mkdir(outside, 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(outside, "kept"), nil, 0o666))
		there.Write(".gitignore", "/ignored/\n")
		commit(kind, there, "work")
		if kind.IsJJ() {
			there.JJ("bookmark", "set", "--quiet", "--revision=@-", "work")
			repo.JJ("git", "export") // jj does it by itself in the main workspace
		}
		there.Write("ignored/cache/file", "no work\n")
		require.NoError(t, os.Symlink(outside, filepath.Join(work.Root, "ignored", "link")))
		require.NoError(t, os.Chmod(filepath.Join(work.Root, "ignored", "cache"), 0o555))
		_, err := work.Capture(t.Context(), jjbridge.CaptureOptions{})
		require.NoError(t, err)
		before := theirs(t, kind, repo)

		require.NoError(t, worktrees.Forget(t.Context(), w, info, objstore.ID{}))

		assert.NoDirExists(t, work.Root)
		assert.NoDirExists(t, beside(repo, ".new.removed"))
		assert.FileExists(t, filepath.Join(outside, "kept"))
		_, ok := listed(t, w, work.Root)
		assert.False(t, ok)
		assert.Equal(t, before, theirs(t, kind, repo), "the branch stays")
		left, err := filepath.Glob(filepath.Join(w.Repo.CommonDir, "smithers", "worktrees", "*"+info.Name))
		require.NoError(t, err)
		assert.Empty(t, left, "what captures keep of it goes, too")
	})
}

func TestUncommittedWorkIsNeverRemovedUnlessItIsSaved(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(there *repotest.Repo){
		"a changed file":    func(there *repotest.Repo) { there.Write("README.md", "changed\n") },
		"an untracked file": func(there *repotest.Repo) { there.Write("deep/new", "new\n") },
		"a removed file":    func(there *repotest.Repo) { _ = os.Remove(filepath.Join(there.Dir, "README.md")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
				w, work, there, info := added(t, repo)
				if kind.IsJJ() {
					there.JJ("bookmark", "delete", "--quiet", "work")
				}
				change(there)
				captured, err := work.Capture(t.Context(), jjbridge.CaptureOptions{})
				require.NoError(t, err)
				store(t, repo, captured)
				before := files(t, work.Root)
				other := capture(t, repo, jjbridge.CaptureOptions{})

				for _, saved := range []objstore.ID{{}, other.Tree} {
					require.ErrorIs(t, worktrees.CheckRemoval(t.Context(), w, info, saved), worktrees.ErrUnsaved)
					err := worktrees.Forget(t.Context(), w, info, saved)
					require.ErrorIs(t, err, worktrees.ErrUnsaved)
					assert.ErrorContains(t, err, "uncommitted changes")
					assert.Equal(t, before, files(t, work.Root))
				}

				require.NoError(t, worktrees.CheckRemoval(t.Context(), w, info, captured.VCS.Tree))
				assert.Equal(t, before, files(t, work.Root))
				require.NoError(t, worktrees.Forget(t.Context(), w, info, captured.VCS.Tree))
				assert.NoDirExists(t, work.Root)
				if kind.IsJJ() {
					still := "--revisions=visible_heads() & " + captured.VCS.CommitID
					assert.Empty(t, repo.JJ("log", "--no-graph", "--template=commit_id", still), "no anonymous head is left")
					repo.JJ("operation", "restore", captured.VCS.Operation)
					assert.Equal(t, captured.VCS.CommitID, repo.JJ("log", "--no-graph", "--template=commit_id", still), "and jj can take it back")
				}
			})
		})
	}
}

func TestWhatElseIsUnsavedInGit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(there *repotest.Repo)
		reason string
	}{
		"staged content that is not in the file": {func(there *repotest.Repo) {
			there.Write("README.md", "staged\n")
			there.Git("add", ".")
			there.Write("README.md", "# A scratch repository\n")
		}, "staged content that differs from the file: README.md"},
		"a staged file that is removed": {func(there *repotest.Repo) {
			there.Write("new", "staged\n")
			there.Git("add", ".")
			_ = os.Remove(filepath.Join(there.Dir, "new"))
		}, "staged content that differs from the file: new"},
		"commits without a branch": {func(there *repotest.Repo) {
			there.Git("checkout", "--quiet", "--detach")
			there.Git("commit", "--quiet", "--allow-empty", "--message=only here")
		}, "no branch, tag or remote has"},
		"commits without a branch, whose beginning has left the reflog": {func(there *repotest.Repo) {
			there.Git("checkout", "--quiet", "--detach")
			there.Git("commit", "--quiet", "--allow-empty", "--message=only here")
			for n := strings.Count(there.Git("reflog"), "\n"); n > 0; n-- {
				there.Git("reflog", "delete", "HEAD@{1}")
			}
		}, "no branch, tag or remote has"},
		"a merge": {func(there *repotest.Repo) {
			there.Git("checkout", "--quiet", "-b", "other")
			there.Git("commit", "--quiet", "--allow-empty", "--message=other")
			there.Git("checkout", "--quiet", "work")
			there.Git("merge", "--quiet", "--no-commit", "--no-ff", "other")
		}, "a merge is in progress"},
		"a lock": {func(there *repotest.Repo) {
			there.Git("worktree", "lock", "--reason=mine", there.Dir)
		}, "is locked: mine"},
		"an embedded repository": {func(there *repotest.Repo) {
			there.Git("init", "--quiet", "embedded")
		}, "uncommitted changes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, work, there, info := added(t, repotest.New(t, repotest.Commit))
			tt.change(there)
			before := files(t, work.Root)

			err := worktrees.Forget(t.Context(), w, info, objstore.ID{})

			require.ErrorIs(t, err, worktrees.ErrUnsaved)
			assert.ErrorContains(t, err, tt.reason)
			assert.Equal(t, before, files(t, work.Root))
			after, ok := listed(t, w, work.Root)
			assert.True(t, ok)
			assert.False(t, after.Missing)
		})
	}
}

func TestWhatElseIsUnsavedInJJ(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(there *repotest.Repo)
		reason string
	}{
		"a file that jj leaves out": {func(there *repotest.Repo) {
			there.Write("large", strings.Repeat("x", 1<<20+1))
		}, "large (left-out-by-jj)"},
		"commits without a bookmark": {func(there *repotest.Repo) {
			there.JJ("bookmark", "delete", "--quiet", "work")
			there.JJ("commit", "--quiet", "--message=only here")
		}, "no bookmark, tag or remote has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []repotest.Kind{repotest.JJColocated, repotest.JJ} {
				w, work, there, info := added(t, repotest.NewKind(t, kind))
				tt.change(there)
				before := files(t, work.Root)

				err := worktrees.Forget(t.Context(), w, info, objstore.ID{})

				require.ErrorIs(t, err, worktrees.ErrUnsaved)
				assert.ErrorContains(t, err, tt.reason)
				assert.Equal(t, before, files(t, work.Root))
			}
		})
	}
}

func TestOnlyWhatWasAddedIsRemoved(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w, work, _, info := added(t, repo)
		list, err := worktrees.List(t.Context(), w)
		require.NoError(t, err)
		before := files(t, filepath.Dir(repo.Home))
		replaced := info
		replaced.Path = filepath.Dir(repo.Home)

		for _, tt := range []struct {
			from *jjbridge.Workspace
			info worktrees.Info
		}{
			{work, list[0]}, // the main one
			{work, info},    // the one in use
			{w, replaced},   // another folder
			{w, worktrees.Info{Name: "none", Path: beside(repo, "none")}},
		} {
			require.ErrorIs(t, worktrees.Forget(t.Context(), tt.from, tt.info, objstore.ID{}), worktrees.ErrWorktree, tt.info.Path)
		}

		assert.Equal(t, before, files(t, filepath.Dir(repo.Home)))
	})
}

func TestAFolderThatIsSomethingElseNowIsNotRemoved(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w, work, _, info := added(t, repo)
		require.NoError(t, os.Rename(work.Root, work.Root+" moved"))
		require.NoError(t, os.Mkdir(work.Root, 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(work.Root, "file"), nil, 0o666))

		require.Error(t, worktrees.Forget(t.Context(), w, info, objstore.ID{}))
		assert.FileExists(t, filepath.Join(work.Root, "file"))

		require.NoError(t, os.RemoveAll(work.Root))
		require.NoError(t, os.Symlink(work.Root+" moved", work.Root))
		require.ErrorIs(t, worktrees.Forget(t.Context(), w, info, objstore.ID{}), worktrees.ErrWorktree)
		assert.FileExists(t, filepath.Join(work.Root+" moved", "README.md"))
		require.NoError(t, os.RemoveAll(work.Root+" moved"))
	})
}

func TestAWorkspaceWithAnotherInsideItIsKept(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w, work, there, info := added(t, repo)
		there.Write(".gitignore", "/inner/\n")
		commit(kind, there, "ignore")
		add(t, w, worktrees.AddRequest{Path: filepath.Join(work.Root, "inner")})

		err := worktrees.Forget(t.Context(), w, info, objstore.ID{})

		require.ErrorIs(t, err, worktrees.ErrUnsaved)
		assert.ErrorContains(t, err, "contains another working copy")
		assert.DirExists(t, filepath.Join(work.Root, "inner"))
	})
}

func TestTheRecordOfAFolderThatIsGoneIsRemoved(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w, work, _, info := added(t, repo)
		require.NoError(t, os.RemoveAll(work.Root))

		require.NoError(t, worktrees.Forget(t.Context(), w, info, objstore.ID{}))

		_, ok := listed(t, w, work.Root)
		assert.False(t, ok)
	})
}

func TestARemovalThatWasCutShortIsFinished(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w, work, _, info := added(t, repo)
		aside := beside(repo, ".new.removed")
		require.NoError(t, os.Rename(work.Root, aside))
		require.NoError(t, os.Remove(filepath.Join(aside, "README.md")))

		require.NoError(t, worktrees.Forget(t.Context(), w, info, objstore.ID{}))

		assert.NoDirExists(t, aside)
		_, ok := listed(t, w, work.Root)
		assert.False(t, ok)
	})
}

func TestAFolderOfThatNameThatIsNotOursStays(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w, work, _, info := added(t, repo)
		aside := beside(repo, ".new.removed")
		require.NoError(t, os.Mkdir(aside, 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(aside, "file"), nil, 0o666))
		before := files(t, work.Root)

		require.Error(t, worktrees.Forget(t.Context(), w, info, objstore.ID{}))
		assert.Equal(t, before, files(t, work.Root))

		require.NoError(t, os.RemoveAll(work.Root))
		require.NoError(t, worktrees.Forget(t.Context(), w, info, objstore.ID{}))
		assert.FileExists(t, filepath.Join(aside, "file"))
	})
}

func TestAWorktreeThatGitDidNotFinishIsRemoved(t *testing.T) {
	t.Parallel()
	w, work, there, info := added(t, repotest.New(t, repotest.Commit))
	require.NoError(t, os.WriteFile(filepath.Join(work.Repo.GitDir, "locked"), []byte("initializing\n"), 0o666))
	require.NoError(t, os.Remove(filepath.Join(work.Repo.GitDir, "index")))
	require.NoError(t, os.Remove(filepath.Join(work.Root, "README.md")))
	for _, mine := range []string{"src/main.go", "new"} {
		before, err := os.ReadFile(filepath.Join(work.Root, mine))
		there.Write(mine, "mine\n")
		require.ErrorIs(t, worktrees.Forget(t.Context(), w, info, objstore.ID{}), worktrees.ErrUnsaved)
		require.NoError(t, os.Remove(filepath.Join(work.Root, mine)))
		if err == nil {
			there.Write(mine, string(before))
		}
	}

	require.NoError(t, worktrees.Forget(t.Context(), w, info, objstore.ID{}))

	assert.NoDirExists(t, work.Root)
	_, ok := listed(t, w, work.Root)
	assert.False(t, ok)
}

func TestTheCommitThatAWorktreeBeganWithIsNoWork(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	w := workspace(t, repo)
	id, err := objstore.ParseID(repo.Git("commit-tree", "-m", "on no branch", "-p", "main", "main^{tree}"))
	require.NoError(t, err)
	for _, gone := range []bool{false, true} {
		work := add(t, w, worktrees.AddRequest{Path: beside(repo, "new"), Commit: id})
		info, ok := listed(t, w, work.Root)
		require.True(t, ok)
		if gone {
			require.NoError(t, os.RemoveAll(work.Root))
		}
		require.NoError(t, worktrees.CheckRemoval(t.Context(), w, info, objstore.ID{}))
		require.NoError(t, worktrees.Forget(t.Context(), w, info, objstore.ID{}))
	}
}

// TestAChangeThatTheUserHasTouchedIsNotAbandoned removes a jj workspace whose files a frame has.
func TestAChangeThatTheUserHasTouchedIsNotAbandoned(t *testing.T) {
	t.Parallel()
	for name, touch := range map[string]func(there *repotest.Repo){
		"a description": func(there *repotest.Repo) { there.JJ("describe", "--quiet", "--message=mine") },
		"a bookmark":    func(there *repotest.Repo) { there.JJ("bookmark", "create", "--quiet", "--revision=@", "mine") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.NewKind(t, repotest.JJ)
			w := workspace(t, repo)
			work := add(t, w, worktrees.AddRequest{Path: beside(repo, "new")})
			info, ok := listed(t, w, work.Root)
			require.True(t, ok)
			there := in(repo, work.Root)
			there.Write("new", "new\n")
			touch(there)
			captured, err := work.Capture(t.Context(), jjbridge.CaptureOptions{})
			require.NoError(t, err)
			store(t, repo, captured)
			require.NoError(t, worktrees.Forget(t.Context(), w, info, captured.VCS.Tree))
			assert.Equal(t, captured.VCS.CommitID,
				repo.JJ("log", "--no-graph", "--template=commit_id", "--revisions=visible_heads() & "+captured.VCS.CommitID))
		})
	}
}
