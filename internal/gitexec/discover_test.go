package gitexec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

func TestDiscoverFindsWhatGitWouldUse(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	base := filepath.Dir(repo.Dir)
	linked := filepath.Join(base, "linked")
	repo.Git("worktree", "add", "--quiet", linked, "-b", "side")
	elsewhere := filepath.Join(base, "elsewhere")
	require.NoError(t, os.Mkdir(elsewhere, 0o777))
	link := filepath.Join(base, "link")
	require.NoError(t, os.Symlink(filepath.Join(repo.Dir, "src"), link))

	for name, tt := range map[string]struct {
		dir               string
		env               []string
		gitDir, commonDir string
		workTree          string
	}{
		"the top of a working copy": {dir: repo.Dir, gitDir: repo.GitDir, commonDir: repo.GitDir, workTree: repo.Dir},
		"a subfolder": {
			dir: filepath.Join(repo.Dir, "src"), gitDir: repo.GitDir, commonDir: repo.GitDir, workTree: repo.Dir,
		},
		"a subfolder behind a symbolic link": {dir: link, gitDir: repo.GitDir, commonDir: repo.GitDir, workTree: repo.Dir},
		"inside the git directory":           {dir: repo.GitDir, gitDir: repo.GitDir, commonDir: repo.GitDir},
		"a linked worktree": {
			dir: linked, gitDir: filepath.Join(repo.GitDir, "worktrees", "linked"), commonDir: repo.GitDir, workTree: linked,
		},
		"GIT_DIR alone makes the current folder the working copy": {
			dir: elsewhere, env: []string{"GIT_DIR=" + repo.GitDir},
			gitDir: repo.GitDir, commonDir: repo.GitDir, workTree: elsewhere,
		},
		"GIT_DIR relative, with GIT_WORK_TREE": {
			dir: elsewhere, env: []string{"GIT_DIR=../repo/.git", "GIT_WORK_TREE=../repo"},
			gitDir: repo.GitDir, commonDir: repo.GitDir, workTree: repo.Dir,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := gitexec.Discover(t.Context(), tt.dir, append(repo.Env, tt.env...))
			require.NoError(t, err)
			assert.Equal(t, tt.gitDir, got.GitDir)
			assert.Equal(t, tt.commonDir, got.CommonDir)
			assert.Equal(t, tt.workTree, got.WorkTree)
			assert.Equal(t, repotest.ObjectFormat(), got.ObjectFormat)
			assert.Equal(t, "files", got.RefFormat)
		})
	}
}

func TestDiscoverInABareRepository(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Bare)
	for _, dir := range []string{repo.Dir, filepath.Join(repo.Dir, "objects")} {
		got, err := gitexec.Discover(t.Context(), dir, repo.Env)
		require.NoError(t, err)
		assert.Equal(t, repo.Dir, got.GitDir)
		assert.Equal(t, repo.Dir, got.CommonDir)
		assert.Empty(t, got.WorkTree)
	}
}

func TestDiscoverInASubmodule(t *testing.T) {
	t.Parallel()
	repo, inner := repotest.New(t, repotest.Commit), repotest.New(t, repotest.Commit)
	repo.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Dir, "sub")

	got, err := gitexec.Discover(t.Context(), filepath.Join(repo.Dir, "sub", "src"), repo.Env)

	require.NoError(t, err)
	assert.Equal(t, filepath.Join(repo.GitDir, "modules", "sub"), got.GitDir)
	assert.Equal(t, got.GitDir, got.CommonDir)
	assert.Equal(t, filepath.Join(repo.Dir, "sub"), got.WorkTree)
}

func TestDiscoverReadsFormatsAndConfiguration(t *testing.T) {
	t.Parallel()
	t.Run("worktree configuration counts", func(t *testing.T) {
		t.Parallel()
		repo := repotest.New(t, repotest.Commit)
		repo.Git("config", "extensions.worktreeConfig", "true")
		repo.Git("config", "--worktree", "smithers.fsync", "false")
		repo.Git("config", "extensions.preciousObjects", "true")
		got, err := gitexec.Discover(t.Context(), repo.Dir, repo.Env)
		require.NoError(t, err)
		value, _ := got.Config.Get("smithers.fsync")
		assert.Equal(t, "false", value)
	})
	t.Run("git -c counts", func(t *testing.T) {
		t.Parallel()
		repo := repotest.New(t)
		env := append(repo.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=smithers.x", "GIT_CONFIG_VALUE_0=y")
		got, err := gitexec.Discover(t.Context(), repo.Dir, env)
		require.NoError(t, err)
		value, _ := got.Config.Get("smithers.x")
		assert.Equal(t, "y", value)
	})
	t.Run("sha256", func(t *testing.T) {
		t.Parallel()
		repo := repotest.New(t)
		other := filepath.Join(filepath.Dir(repo.Dir), "sha256")
		repo.Git("init", "--quiet", "--object-format=sha256", other)
		got, err := gitexec.Discover(t.Context(), other, repo.Env)
		require.NoError(t, err)
		assert.Equal(t, "sha256", got.ObjectFormat)
	})
	t.Run("a reftable folder", func(t *testing.T) {
		t.Parallel()
		repo := repotest.New(t)
		require.NoError(t, os.Mkdir(filepath.Join(repo.GitDir, "reftable"), 0o777))
		got, err := gitexec.Discover(t.Context(), repo.Dir, repo.Env)
		require.NoError(t, err)
		assert.Equal(t, "reftable", got.RefFormat)
	})
	t.Run("refs elsewhere", func(t *testing.T) {
		t.Parallel()
		repo := repotest.New(t)
		got, err := gitexec.Discover(t.Context(), repo.Dir, append(repo.Env, "GIT_REFERENCE_BACKEND=reftable:///x"))
		require.NoError(t, err)
		assert.Equal(t, "reftable:///x by GIT_REFERENCE_BACKEND", got.RefFormat)
		// In the repository's own file, a newer git would follow it, and an older one refuses it.
		env := append(repo.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=extensions.refStorage", "GIT_CONFIG_VALUE_0=FILES:///X")
		got, err = gitexec.Discover(t.Context(), repo.Dir, env)
		require.NoError(t, err)
		assert.Equal(t, "files:///X", got.RefFormat)
	})
}

func TestDiscoverErrorsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	outside := filepath.Dir(repo.Dir)
	t.Run("no repository", func(t *testing.T) {
		t.Parallel()
		_, err := gitexec.Discover(t.Context(), outside, repo.Env)
		require.ErrorIs(t, err, gitexec.ErrNoRepository)
		var failure *gitexec.Error
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, 128, failure.Status)
		assert.Contains(t, failure.Stderr, "not a git repository")
	})
	t.Run("GIT_DIR leads nowhere", func(t *testing.T) {
		t.Parallel()
		_, err := gitexec.Discover(t.Context(), repo.Dir, append(repo.Env, "GIT_DIR=/nowhere/at/all"))
		assert.ErrorIs(t, err, gitexec.ErrNoRepository)
	})
	t.Run("no git on PATH", func(t *testing.T) {
		t.Parallel()
		_, err := gitexec.Discover(t.Context(), repo.Dir, append(repo.Env, "PATH="+t.TempDir()))
		assert.ErrorIs(t, err, gitexec.ErrNoGit)
	})
	t.Run("no such folder", func(t *testing.T) {
		t.Parallel()
		_, err := gitexec.Discover(t.Context(), filepath.Join(outside, "missing"), repo.Env)
		assert.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("somebody else's repository", func(t *testing.T) {
		t.Parallel()
		_, err := gitexec.Discover(t.Context(), repo.Dir, append(repo.Env, "GIT_TEST_ASSUME_DIFFERENT_OWNER=1"))
		var failure *gitexec.Error
		require.ErrorAs(t, err, &failure)
		assert.NotErrorIs(t, err, gitexec.ErrNoRepository)
		assert.Contains(t, failure.Stderr, "dubious ownership")
	})
	t.Run("broken configuration", func(t *testing.T) {
		t.Parallel()
		broken := repotest.New(t)
		broken.Damaged()
		require.NoError(t, os.WriteFile(filepath.Join(broken.GitDir, "config"), []byte("[core\n"), 0o666))
		_, err := gitexec.Discover(t.Context(), broken.Dir, broken.Env)
		var failure *gitexec.Error
		require.ErrorAs(t, err, &failure)
		assert.Contains(t, failure.Stderr, "bad config")
	})
}

func TestRunIgnoresWhereTheEnvironmentPoints(t *testing.T) {
	t.Parallel()
	repo, other := repotest.New(t, repotest.Commit), repotest.New(t)
	env := append(repo.Env, "GIT_DIR="+other.GitDir, "GIT_WORK_TREE="+other.Dir, "GIT_INDEX_FILE=/nowhere",
		"GIT_OBJECT_DIRECTORY="+filepath.Join(other.GitDir, "objects"), "LC_ALL=de_DE.UTF-8")
	found, err := gitexec.Discover(t.Context(), repo.Dir, repo.Env)
	require.NoError(t, err)
	git := gitexec.New(found, env)

	out, err := git.Run(t.Context(), "rev-parse", "main")
	require.NoError(t, err)
	assert.Equal(t, repo.Git("rev-parse", "main"), strings.TrimSpace(string(out)))

	_, err = git.Run(t.Context(), "cat-file", "-t", "nothing")
	var failure *gitexec.Error
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, 128, failure.Status)
	assert.Equal(t, "git cat-file: fatal: Not a valid object name nothing", err.Error())
}

func TestInitBareIgnoresDefaultsOfTheUser(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	dir := filepath.Join(repo.Home, "a", "store.git")
	env := append(repo.Env, "GIT_DEFAULT_HASH=sha256", "GIT_DIR="+repo.GitDir)

	require.NoError(t, gitexec.InitBare(t.Context(), dir, "sha1", env))

	got, err := gitexec.Discover(t.Context(), dir, repo.Env)
	require.NoError(t, err)
	assert.Equal(t, dir, got.GitDir)
	assert.Equal(t, "sha1", got.ObjectFormat)
	assert.NoDirExists(t, filepath.Join(dir, "hooks"))
}

func BenchmarkDiscover(b *testing.B) {
	repo := repotest.New(b, repotest.Commit)
	for b.Loop() {
		if _, err := gitexec.Discover(b.Context(), repo.Dir, repo.Env); err != nil {
			b.Fatal(err)
		}
	}
}
