package jjbridge_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
)

func locate(t *testing.T, dir string, env []string) *jjbridge.Workspace {
	t.Helper()
	w, err := jjbridge.Locate(t.Context(), dir, env)
	require.NoError(t, err)
	return w
}

func TestLocateFindsEveryKindFromTheTopAndFromBelow(t *testing.T) {
	t.Parallel()
	want := map[repotest.Kind]struct{ kind, name string }{
		repotest.Git:         {"git", ""},
		repotest.GitWorktree: {"git", "linked"},
		repotest.JJColocated: {"jj", "default"},
		repotest.JJ:          {"jj", "default"},
		repotest.JJSecondary: {"jj", "second"},
	}
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		gitDir := repo.GitDir
		if kind == repotest.GitWorktree {
			gitDir = filepath.Join(gitDir, "worktrees", "linked")
		}
		link := filepath.Join(repo.Home, "link")
		require.NoError(t, os.Symlink(filepath.Join(repo.Dir, "src"), link))
		// Running this jj fails: finding a working copy needs none.
		path := onlyGit(t)
		require.NoError(t, os.WriteFile(filepath.Join(path, "jj"), []byte("#!/bin/sh\nexit 1\n"), 0o755))
		env := append(repo.Env, "PATH="+path)

		for _, dir := range []string{repo.Dir, filepath.Join(repo.Dir, "src"), link} {
			w := locate(t, dir, env)
			assert.Equal(t, want[kind].kind, w.Type)
			assert.Equal(t, want[kind].name, w.Name)
			assert.Equal(t, repo.Dir, w.Root)
			assert.Equal(t, repo.Dir, w.Repo.WorkTree)
			assert.Equal(t, repo.GitDir, w.Repo.CommonDir)
			assert.Equal(t, gitDir, w.Repo.GitDir)
			assert.Equal(t, repotest.ObjectFormat(), w.Repo.ObjectFormat)
			assert.NotEmpty(t, w.Repo.Config)
			assert.True(t, jjbridge.IsRepo(dir))
		}
	})
}

func TestLocateTakesTheNearest(t *testing.T) {
	t.Parallel()
	t.Run("a git repository inside a jj workspace", func(t *testing.T) {
		t.Parallel()
		repo := repotest.NewKind(t, repotest.JJ)
		inner := filepath.Join(repo.Dir, "src", "inner")
		initRepo(t, repo, inner)
		w := locate(t, inner, repo.Env)
		assert.Equal(t, "git", w.Type)
		assert.Equal(t, inner, w.Root)
	})
	t.Run("a jj workspace inside a git repository", func(t *testing.T) {
		t.Parallel()
		outer, jj := repotest.New(t, repotest.Commit), repotest.NewKind(t, repotest.JJ)
		inner := filepath.Join(outer.Dir, "src", "inner")
		require.NoError(t, os.Rename(jj.Dir, inner))
		jj.Damaged()
		w := locate(t, inner, outer.Env)
		assert.Equal(t, "jj", w.Type)
		assert.Equal(t, inner, w.Root)
		assert.Equal(t, filepath.Join(inner, ".jj", "repo", "store", "git"), w.Repo.CommonDir)
	})
	t.Run("a bare repository inside a jj workspace", func(t *testing.T) {
		t.Parallel()
		repo := repotest.NewKind(t, repotest.JJ)
		inner := filepath.Join(repo.Dir, "src", "inner.git")
		initRepo(t, repo, inner, "--bare")
		w := locate(t, filepath.Join(inner, "objects"), repo.Env)
		assert.Empty(t, w.Type)
		assert.Equal(t, inner, w.Repo.CommonDir)
	})
}

func TestAJJFolderThatLeadsElsewhereIsNotObeyed(t *testing.T) { //nolint:tparallel // the subtests share files
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	initRepo(t, repo, filepath.Join(repo.Dir, "vendor.git"), "--bare")
	sub := filepath.Join(repo.Dir, "sub")
	isGits := func(dir string) {
		w := locate(t, dir, repo.Env)
		assert.Equal(t, "git", w.Type)
		assert.Equal(t, repo.Dir, w.Root)
		assert.Equal(t, repo.GitDir, w.Repo.CommonDir)
	}
	t.Run("beside a .git", func(t *testing.T) {
		for _, target := range []string{"../../../vendor.git", "gone"} {
			fakeJJ(t, repo.Dir, target)
			isGits(repo.Dir)
			isGits(filepath.Join(repo.Dir, "src"))
		}
		require.NoError(t, os.RemoveAll(filepath.Join(repo.Dir, ".jj")))
	})
	t.Run("to what git tracks", func(t *testing.T) {
		repotest.NeedsFiles(t)
		fakeJJ(t, sub, "../../../../vendor.git")
		assert.Equal(t, "jj", locate(t, sub, repo.Env).Type)
		require.NoError(t, writeFile(repo.Dir, "vendor.git/refs/heads/.keep", ""))
		repo.Git("add", "vendor.git")
		isGits(sub)
		repo.Git("rm", "-rq", "--cached", "vendor.git")
		require.NoError(t, os.RemoveAll(sub))
	})
	t.Run("and is tracked itself", func(t *testing.T) {
		for _, dir := range []string{sub, repo.Dir} {
			target, err := filepath.Rel(filepath.Join(dir, ".jj", "repo", "store"), repo.GitDir)
			require.NoError(t, err)
			fakeJJ(t, dir, target)
			assert.Equal(t, "jj", locate(t, dir, append(repo.Env, "SMITHERS_JJ_PATH=jj")).Type)
			repo.Git("add", "-f", filepath.Join(dir, ".jj"))
			isGits(dir)
		}
	})
}

// fakeJJ makes a .jj in dir whose store names target as its git directory, or replaces the name in it.
func fakeJJ(t *testing.T, dir, target string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".jj", "repo", "store"), 0o777))
	require.NoError(t, writeFile(dir, ".jj/repo/store/type", "git"))
	require.NoError(t, writeFile(dir, ".jj/repo/store/git_target", target))
}

func TestAJJFolderOfAnotherUserIsNotObeyed(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	above := filepath.Join(repo.Home, "above")
	mine := filepath.Join(above, "mine")
	require.NoError(t, os.MkdirAll(mine, 0o777))
	fakeJJ(t, above, repo.GitDir)
	assert.Equal(t, "jj", locate(t, mine, repo.Env).Type)

	_, err := jjbridge.Locate(t.Context(), mine, append(repo.Env, "GIT_TEST_ASSUME_DIFFERENT_OWNER=1"))
	require.ErrorContains(t, err, "dubious ownership", "git judges the repository to which the .jj leads")

	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	const nobody = 65534
	dotJJ := filepath.Join(above, ".jj")
	require.NoError(t, os.Chown(dotJJ, nobody, -1))
	refused := func(env ...string) {
		_, err := jjbridge.Locate(t.Context(), mine, append(repo.Env, env...))
		require.ErrorContains(t, err, "'"+dotJJ+"' belongs to another user")
	}
	obeyed := func(env ...string) { assert.Equal(t, "jj", locate(t, mine, append(repo.Env, env...)).Type) }
	safe := func(value string) []string {
		return []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=" + value}
	}
	refused()
	refused("SUDO_UID=1")
	obeyed("SUDO_UID=65534")
	for _, value := range []string{"*", above, above + "/", repo.Home + "/*"} {
		obeyed(safe(value)...)
	}
	for _, value := range []string{"", mine, above + "/*", repo.Home} {
		refused(safe(value)...)
	}
	require.NoError(t, os.Chown(dotJJ, 0, -1))
	require.NoError(t, os.Chown(filepath.Join(dotJJ, "repo"), nobody, -1))
	_, err = jjbridge.Locate(t.Context(), mine, repo.Env)
	require.ErrorContains(t, err, "belongs to another user")
}

func initRepo(t *testing.T, repo *repotest.Repo, dir string, options ...string) {
	t.Helper()
	_, err := (&repotest.Repo{Env: repo.Env}).GitIn("", append(append([]string{"init", "--quiet", "--template="}, options...), dir)...)
	require.NoError(t, err)
}

func TestThereIsNoWorkingCopy(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	bare := repotest.New(t, repotest.Bare, repotest.Commit)
	history := filepath.Join(bare.Home, ".smithers", "store.git")
	require.NoError(t, gitexec.InitBare(t.Context(), history, "sha1", bare.Env))
	for name, dir := range map[string]string{
		"in a bare repository":      bare.Dir,
		"inside a git directory":    filepath.Join(repo.GitDir, "objects"),
		"in a store made by init":   history,
		"below one that has nested": filepath.Join(history, "refs"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := locate(t, dir, bare.Env)
			assert.Empty(t, w.Type)
			assert.Empty(t, w.Root)
			assert.NotEmpty(t, w.Repo.CommonDir)
			assert.False(t, jjbridge.IsRepo(dir))
			pointer, err := w.Pointer(t.Context())
			require.NoError(t, err)
			assert.Nil(t, pointer)
		})
	}
}

func TestOutsideOfARepositoryThereIsNone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	_, err := jjbridge.Locate(t.Context(), repo.Home, repo.Env)
	require.ErrorIs(t, err, gitexec.ErrNoRepository)
	_, err = jjbridge.Locate(t.Context(), filepath.Join(repo.Home, "gone"), repo.Env)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.False(t, jjbridge.IsRepo(filepath.Join(repo.Home, "gone")))
}

func TestGitVariablesDecide(t *testing.T) {
	t.Parallel()
	git, colocated := repotest.New(t, repotest.Commit), repotest.NewKind(t, repotest.JJColocated)
	other := repotest.NewKind(t, repotest.JJ)
	for name, tt := range map[string]struct {
		dir  string
		env  []string
		kind string
		top  string
		repo string
	}{
		"a git repository, seen from a jj workspace": {
			other.Dir, []string{"GIT_DIR=" + git.GitDir, "GIT_WORK_TREE=" + git.Dir}, "git", git.Dir, git.GitDir,
		},
		"a git repository with a jj workspace of another one as its files": {
			git.Dir, []string{"GIT_DIR=" + git.GitDir, "GIT_WORK_TREE=" + other.Dir}, "git", other.Dir, git.GitDir,
		},
		"a colocated workspace, seen from elsewhere": {
			git.Dir, []string{"GIT_DIR=" + colocated.GitDir, "GIT_WORK_TREE=" + colocated.Dir}, "jj", colocated.Dir, colocated.GitDir,
		},
		"the store of a workspace that is not colocated": {
			git.Dir, []string{"GIT_DIR=" + other.GitDir, "GIT_WORK_TREE=" + other.Dir}, "jj", other.Dir, other.GitDir,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := locate(t, tt.dir, append(git.Env, tt.env...))
			assert.Equal(t, tt.kind, w.Type)
			assert.Equal(t, tt.top, w.Root)
			assert.Equal(t, tt.repo, w.Repo.CommonDir)
		})
	}
}

func TestABrokenJJFolderIsAClearError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind   repotest.Kind
		damage func(repo *repotest.Repo) error
		want   error
		says   string
	}{
		"the main repository of a secondary workspace is gone": {
			repotest.JJSecondary,
			func(repo *repotest.Repo) error { return os.RemoveAll(filepath.Join(filepath.Dir(repo.Dir), "jj")) },
			jjbridge.ErrNoStore, "the workspace's main repository is gone",
		},
		"the path to the main repository is empty": {
			repotest.JJSecondary,
			func(repo *repotest.Repo) error { return writeFile(repo.Dir, ".jj/repo", "") },
			jjbridge.ErrNoStore, "store",
		},
		"there is no repository": {
			repotest.JJ,
			func(repo *repotest.Repo) error { return os.RemoveAll(filepath.Join(repo.Dir, ".jj", "repo")) },
			jjbridge.ErrNoStore, "repo",
		},
		"the git store is gone": {
			repotest.JJ,
			func(repo *repotest.Repo) error { return os.RemoveAll(repo.GitDir) },
			jjbridge.ErrNoStore, "git",
		},
		"jj keeps its commits in something else": {
			repotest.JJ,
			func(repo *repotest.Repo) error { return writeFile(repo.Dir, ".jj/repo/store/type", "simple") },
			jjbridge.ErrBackend, `"simple"`,
		},
		"the git store is no repository": {
			repotest.JJ,
			func(repo *repotest.Repo) error { return os.Remove(filepath.Join(repo.GitDir, "HEAD")) },
			gitexec.ErrNoRepository, "not a git repository",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.NewKind(t, tt.kind)
			repo.Damaged()
			require.NoError(t, tt.damage(repo))
			_, err := jjbridge.Locate(t.Context(), repo.Dir, repo.Env)
			require.ErrorIs(t, err, tt.want)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

func TestABrokenGitFolderInAJJWorkspaceDoesNotMatter(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJ)
	require.NoError(t, os.Mkdir(filepath.Join(repo.Dir, ".git"), 0o777))
	w := locate(t, repo.Dir, repo.Env)
	assert.Equal(t, "jj", w.Type)
	assert.Equal(t, repo.GitDir, w.Repo.CommonDir)
}

func TestAWorkspaceKeepsItsNameWhenItMoves(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJ)
	added, moved := filepath.Join(repo.Home, "a"), filepath.Join(repo.Home, "b")
	repo.JJ("workspace", "add", "--quiet", "--name=task 1", added)
	require.NoError(t, os.Rename(added, moved))
	assert.Equal(t, "task 1", locate(t, moved, repo.Env).Name)

	require.NoError(t, writeFile(moved, ".jj/working_copy/checkout", "\xff"))
	assert.Equal(t, "b", locate(t, moved, repo.Env).Name, "jj's own default where the name cannot be read")
}

func writeFile(dir, name, content string) error {
	return os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(content), 0o666)
}

// onlyGit is a folder for PATH that has git in it, and no jj.
func onlyGit(t *testing.T) string {
	t.Helper()
	git, err := gitexec.Find(os.Environ(), "git")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(git, filepath.Join(dir, "git")))
	return dir
}
