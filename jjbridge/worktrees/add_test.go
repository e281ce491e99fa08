package worktrees_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
)

func TestAWorkspaceIsNotMadeJustAnywhere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ path, reason string }{
		"a relative path":              {"new", "not an absolute path"},
		"a folder with files":          {"SIDE/full", "not an empty folder"},
		"a file":                       {"SIDE/full/file", "not an empty folder"},
		"a link to an empty folder":    {"SIDE/link", "not an empty folder"},
		"among untracked files":        {"REPO/new", "which does not ignore this path"},
		"among ours":                   {"SIDE/link to repo/deep/new", "which does not ignore this path"},
		"inside the git directory":     {"REPO/.git/new", "the repository's own folder"},
		"the working copy itself":      {"REPO", "not an empty folder"},
		"inside a folder of the files": {"REPO/src/new", "which does not ignore this path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			w := workspace(t, repo)
			full := beside(repo, "full")
			require.NoError(t, os.Mkdir(full, 0o777))
			require.NoError(t, os.WriteFile(filepath.Join(full, "file"), nil, 0o666))
			require.NoError(t, os.Mkdir(beside(repo, "empty"), 0o777))
			require.NoError(t, os.Symlink(beside(repo, "empty"), beside(repo, "link")))
			require.NoError(t, os.Symlink(repo.Dir, beside(repo, "link to repo")))
			before := files(t, filepath.Dir(repo.Dir))
			path := strings.NewReplacer("SIDE", filepath.Dir(repo.Dir), "REPO", repo.Dir).Replace(tt.path)

			_, err := worktrees.Add(t.Context(), w, worktrees.AddRequest{Path: path, Branch: "work"})

			require.ErrorIs(t, err, worktrees.ErrWorktree)
			assert.ErrorContains(t, err, tt.reason)
			assert.Equal(t, before, files(t, filepath.Dir(repo.Dir)))
		})
	}
}

func TestAWorkspaceMayBeInAnIgnoredFolder(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w := workspace(t, repo)
		repo.Write(".gitignore", "/.trees/\n")
		before := theirs(t, kind, repo)

		added := add(t, w, worktrees.AddRequest{Path: filepath.Join(repo.Dir, ".trees", "new")})

		assert.Equal(t, repo.Git("rev-parse", "main"), start(t, kind, repo, added))
		require.NoError(t, os.RemoveAll(filepath.Join(repo.Dir, ".trees")))
		assert.Equal(t, before, theirs(t, kind, repo))
	})
}

func TestAWorkspaceWhoseFolderIsGoneIsForgottenFirst(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w := workspace(t, repo)
		req := worktrees.AddRequest{Path: beside(repo, "new"), Name: "task", Branch: "work"}
		add(t, w, req)
		for _, again := range []string{"new", "elsewhere"} {
			require.NoError(t, os.RemoveAll(req.Path))
			if again == "elsewhere" {
				require.NoError(t, os.Mkdir(beside(repo, again), 0o777))
			}
			req.Path = beside(repo, again)

			add(t, w, req)
		}
		list, err := worktrees.List(t.Context(), w)
		require.NoError(t, err)
		for _, info := range list {
			assert.False(t, info.Missing, info.Path)
		}
	})
}

func TestTwoWorkspacesDoNotShareABranchOrAName(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w := workspace(t, repo)
		add(t, w, worktrees.AddRequest{Path: beside(repo, "one"), Name: "task", Branch: "work"})

		_, err := worktrees.Add(t.Context(), w, worktrees.AddRequest{Path: beside(repo, "two"), Name: "task", Branch: "work"})

		require.ErrorIs(t, err, worktrees.ErrWorktree)
		assert.ErrorContains(t, err, beside(repo, "one"))
		assert.NoDirExists(t, beside(repo, "two"))
	})
}

func TestABranchWithCommitsOfItsOwnIsNotReset(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	w := workspace(t, repo)
	commit := repo.Git("commit-tree", "-m", "work", "-p", "main", "main^{tree}")
	repo.Git("update-ref", "refs/heads/work", commit)
	req := worktrees.AddRequest{Path: beside(repo, "new"), Branch: "work"}

	_, err := worktrees.Add(t.Context(), w, req)

	require.ErrorIs(t, err, worktrees.ErrUnsaved)
	assert.ErrorContains(t, err, "branch work")
	assert.Equal(t, commit, repo.Git("rev-parse", "work"))
	assert.NoDirExists(t, req.Path)

	req.Base = "work"
	assert.Equal(t, commit, start(t, repotest.Git, repo, add(t, w, req)), "it may go on from there")
	require.NoError(t, os.RemoveAll(req.Path))
	repo.Git("tag", "kept", "work")
	req.Base = "main"
	add(t, w, req)
	assert.Equal(t, repo.Git("rev-parse", "main"), repo.Git("rev-parse", "work"), "the tag has the commit now")
}

func TestCommitsOfADetachedWorktreeOutliveItsFolder(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	w := workspace(t, repo)
	added := add(t, w, worktrees.AddRequest{Path: beside(repo, "new")})
	in(repo, added.Root).Git("commit", "--quiet", "--allow-empty", "--message=only here")
	require.NoError(t, os.RemoveAll(added.Root))

	_, err := worktrees.Add(t.Context(), w, worktrees.AddRequest{Path: added.Root})

	require.ErrorIs(t, err, worktrees.ErrUnsaved)
	info, ok := listed(t, w, added.Root)
	assert.True(t, ok)
	assert.Equal(t, "only here", repo.Git("log", "-1", "--format=%s", info.CommitID))
}

func TestBeforeTheFirstCommitThereIsNothingToStartFrom(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)

	_, err := worktrees.Add(t.Context(), workspace(t, repo), worktrees.AddRequest{Path: beside(repo, "new"), Branch: "work"})

	require.ErrorIs(t, err, worktrees.ErrWorktree)
	assert.ErrorContains(t, err, "no commit yet")
}

func TestWhatFailsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		branch := "not..a name"
		if !kind.IsJJ() {
			// The name is right, and the checkout fails.
			branch = "work"
			repo.Write(".gitattributes", "* filter=broken\n")
			repo.Git("add", ".")
			repo.Git("commit", "--quiet", "--message=attributes")
			repo.Git("branch", "--force", "base", "HEAD")
			repo.Git("config", "filter.broken.clean", "cat")
			repo.Git("config", "filter.broken.smudge", "false")
			repo.Git("config", "filter.broken.required", "true")
		}
		w := workspace(t, repo)
		before := theirs(t, kind, repo)
		list, err := worktrees.List(t.Context(), w)
		require.NoError(t, err)

		require.NoError(t, os.Mkdir(beside(repo, "empty"), 0o777))
		for _, path := range []string{"deep/new", "empty"} {
			_, err = worktrees.Add(t.Context(), w, worktrees.AddRequest{Path: beside(repo, path), Branch: branch, Base: "base"})
			require.Error(t, err)
		}

		assert.NoDirExists(t, beside(repo, "deep"))
		assert.DirExists(t, beside(repo, "empty"))
		after, err := worktrees.List(t.Context(), w)
		require.NoError(t, err)
		assert.Equal(t, list, after)
		assert.Equal(t, before, theirs(t, kind, repo))
	})
}

func TestANameThatIsNoBranchIsRefused(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	for _, branch := range []string{"-b", "a..b", "@{-1}", "a b"} {
		_, err := worktrees.Add(t.Context(), workspace(t, repo), worktrees.AddRequest{Path: beside(repo, "new"), Branch: branch})
		require.ErrorIs(t, err, worktrees.ErrWorktree, branch)
		assert.NoDirExists(t, beside(repo, "new"))
	}
}

func TestNoHookRunsWhenAWorkspaceIsMade(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	hooks := beside(repo, "hooks")
	require.NoError(t, os.Mkdir(hooks, 0o777))
	repotest.WriteProgram(t, filepath.Join(hooks, "post-checkout"), "#!/bin/sh\nexit 1\n")
	repo.Git("config", "core.hooksPath", hooks)

	added := add(t, workspace(t, repo), worktrees.AddRequest{Path: beside(repo, "new")})

	assert.FileExists(t, filepath.Join(added.Root, "README.md"))
}

func TestGITDIRDoesNotMisleadANewWorkspace(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	env := append(repo.Env, "GIT_DIR="+repo.GitDir, "GIT_WORK_TREE="+repo.Dir)
	w, err := jjbridge.Locate(t.Context(), repo.Dir, env)
	require.NoError(t, err)

	added := add(t, w, worktrees.AddRequest{Path: beside(repo, "new")})

	assert.Equal(t, beside(repo, "new"), added.Root)
	assert.NotEqual(t, w.Repo.GitDir, added.Repo.GitDir)
}

func TestWorkspacesMayBeMadeSideBySide(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w := workspace(t, repo)
		var made errgroup.Group
		for _, name := range []string{"one", "two", "three"} {
			made.Go(func() error {
				_, err := worktrees.Add(t.Context(), w, worktrees.AddRequest{Path: beside(repo, "tasks/"+name), Branch: "work-" + name})
				return err
			})
		}
		require.NoError(t, made.Wait())

		for _, name := range []string{"one", "two", "three"} {
			info, ok := listed(t, w, beside(repo, "tasks/"+name))
			assert.True(t, ok, name)
			assert.Equal(t, "work-"+name, info.Branch)
			assert.FileExists(t, filepath.Join(info.Path, "README.md"))
		}
	})
}
