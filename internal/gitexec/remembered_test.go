//go:build unix

package gitexec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// asked is a repository with a private folder, in an environment in which git notes that it was run.
type asked struct {
	t    *testing.T
	repo *repotest.Repo
	log  string
	env  []string
}

// newAsked makes the repository, and waits until its files are old enough to be remembered.
func newAsked(t *testing.T) *asked {
	t.Helper()
	a := &asked{t: t, repo: repotest.New(t, repotest.Commit), log: filepath.Join(t.TempDir(), "log")}
	git, err := gitexec.Find(a.repo.Env, "git")
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), fmt.Appendf(nil, "#!/bin/sh\necho \"$@\" >>%s\nexec %s \"$@\"\n", a.log, git), 0o755))
	path, _ := gitexec.LookupEnv(a.repo.Env, "PATH")
	a.env = append(a.repo.Env, "PATH="+bin+":"+path)
	require.NoError(t, os.Mkdir(filepath.Join(a.repo.GitDir, "smithers"), 0o777))
	a.settle()
	return a
}

// settle waits until no file is new.
func (a *asked) settle() {
	info, err := os.Stat(filepath.Join(a.repo.GitDir, "config"))
	require.NoError(a.t, err)
	time.Sleep(gitexec.Settled(info.ModTime()) + 50*time.Millisecond)
}

// discover discovers a repository, and reports whether git was asked.
func (a *asked) discover(dir string, env ...string) (repo gitexec.Repo, was bool, err error) {
	a.t.Helper()
	_ = os.Remove(a.log)
	repo, err = gitexec.Discover(a.t.Context(), dir, append(a.env, env...))
	_, missing := os.Stat(a.log)
	return repo, missing == nil, err
}

// answers checks that git was asked or was not, and what the configuration says of a key.
func (a *asked) answers(was bool, key, want string, env ...string) gitexec.Repo {
	a.t.Helper()
	repo, got, err := a.discover(filepath.Join(a.repo.Dir, "src"), env...)
	require.NoError(a.t, err)
	assert.Equal(a.t, was, got, "git was asked")
	value, _ := repo.Config.Get(key)
	assert.Equal(a.t, want, value)
	return repo
}

func TestWhatGitHasSaidIsRememberedWhileNothingChanges(t *testing.T) {
	t.Parallel()
	a := newAsked(t)
	first := a.answers(true, "demo.key", "")
	assert.Equal(t, first, a.answers(false, "demo.key", ""))

	changed := time.Now()
	a.repo.Git("config", "demo.key", "1")
	a.answers(true, "demo.key", "1")
	_, was, err := a.discover(filepath.Join(a.repo.Dir, "src"))
	require.NoError(t, err)
	if time.Since(changed) < gitexec.Settled(changed) { // not where the machine is busy
		assert.True(t, was, "the file is new")
	}
	a.settle()
	_, _, err = a.discover(filepath.Join(a.repo.Dir, "src")) // where the machine is busy, it was remembered before
	require.NoError(t, err)
	a.answers(false, "demo.key", "1")

	// Each of these may change what git says.
	a.answers(true, "demo.key", "2", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=demo.key", "GIT_CONFIG_VALUE_0=2")
	a.answers(true, "demo.key", "1", "GIT_DISCOVERY_ACROSS_FILESYSTEM=1")
	home := t.TempDir()
	a.answers(true, "demo.key", "1", "HOME="+home, "XDG_CONFIG_HOME="+home)
	a.answers(true, "demo.key", "1")
	_, was, err = a.discover(a.repo.GitDir)
	require.NoError(t, err)
	assert.True(t, was, "inside the git directory")
	a.answers(false, "demo.key", "1")
	_, _, err = a.discover(filepath.Join(a.repo.Dir, "src"), "GIT_CEILING_DIRECTORIES="+a.repo.Dir)
	require.ErrorIs(t, err, gitexec.ErrNoRepository)

	// A configuration that appears later counts at once, and so does a repository that appears nearer.
	require.NoError(t, os.WriteFile(filepath.Join(a.repo.GitDir, "config.worktree"), []byte("[demo]\n\tkey = 3\n"), 0o600))
	a.answers(true, "demo.key", "1")
	a.repo.Git("config", "extensions.worktreeConfig", "true")
	a.answers(true, "demo.key", "3")
	a.settle()
	a.answers(true, "demo.key", "3")
	a.answers(true, "demo.key", "3") // a worktree configuration is not remembered
	a.repo.Git("init", "-q", filepath.Join(a.repo.Dir, "src"))
	repo, _, err := a.discover(filepath.Join(a.repo.Dir, "src"))
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(a.repo.Dir, "src"), repo.WorkTree)
}

func TestATimeThatShowsAFineClockSettlesSooner(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 100*time.Millisecond, gitexec.Settled(time.Unix(1, 2_123_456)))
	for _, coarse := range []int64{0, 10_000_000, 990_000_000} { // as FAT and exFAT have them
		assert.Equal(t, 2*time.Second, gitexec.Settled(time.Unix(1, coarse)))
	}
}

func TestConfigurationThatNamesFilesIsNotRemembered(t *testing.T) {
	t.Parallel()
	a := newAsked(t)
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, []byte("[demo]\n\tkey = 1\n"), 0o600))
	a.repo.Git("config", "include.path", other)
	a.settle()
	a.answers(true, "demo.key", "1")
	require.NoError(t, os.WriteFile(other, []byte("[demo]\n\tkey = 2\n"), 0o600))
	a.answers(true, "demo.key", "2")
}

func TestConfigurationWithACredentialIsNotRemembered(t *testing.T) {
	t.Parallel()
	a := newAsked(t)
	for key, value := range map[string]string{
		"http.https://host.example/.extraHeader": "Authorization: x", "remote.origin.url": "https://me:pass@host.example/r", "credential.helper": "!echo password=x", "demo.apiToken": "x",
	} {
		a.repo.Git("config", key, value)
		a.settle()
		a.answers(true, key, value)
		assert.NoFileExists(t, filepath.Join(a.repo.GitDir, "smithers", "git"), key)
		a.repo.Git("config", "--unset", key)
	}
}

func TestTheRepositoryOfAnotherUserIsAskedOfGit(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	a := newAsked(t)
	a.answers(true, "core.bare", "false")
	a.answers(false, "core.bare", "false")
	for _, path := range []string{a.repo.GitDir, a.repo.Dir} {
		require.NoError(t, os.Chown(path, 12345, 12345))
		_, was, err := a.discover(a.repo.Dir)
		assert.True(t, was)
		require.ErrorContains(t, err, "dubious ownership")
		require.NoError(t, os.Chown(path, 0, 0))
	}
	memory := filepath.Join(a.repo.GitDir, "smithers", "git")
	require.NoError(t, os.Chown(memory, 12345, 12345))
	_, was, err := a.discover(a.repo.Dir)
	require.NoError(t, err)
	assert.True(t, was, "the memory is not the user's own")
}

func TestACopyOfAFolderHasNoMemory(t *testing.T) {
	t.Parallel()
	a := newAsked(t)
	a.answers(true, "core.bare", "false")
	a.answers(false, "core.bare", "false")
	there := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(there, os.DirFS(a.repo.Dir)))
	repo, was, err := a.discover(there)
	require.NoError(t, err)
	assert.True(t, was)
	assert.True(t, strings.HasSuffix(repo.WorkTree, "copy"))
}
