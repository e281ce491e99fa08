package repotest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

func TestNewMakesAWorkingRepository(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts   []repotest.Option
		commit bool
	}{
		"empty":              {},
		"with a commit":      {opts: []repotest.Option{repotest.Commit}, commit: true},
		"bare":               {opts: []repotest.Option{repotest.Bare}},
		"bare with a commit": {opts: []repotest.Option{repotest.Bare, repotest.Commit}, commit: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, tt.opts...)
			assert.Equal(t, repo.GitDir, repo.Git("rev-parse", "--absolute-git-dir"))
			_, err := repo.GitErr("rev-parse", "--verify", "--quiet", "main")
			assert.Equal(t, tt.commit, err == nil)
		})
	}
}

func TestCommitIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	one, two := repotest.New(t, repotest.Commit), repotest.New(t, repotest.Commit)
	assert.Equal(t, one.Git("rev-parse", "main"), two.Git("rev-parse", "main"))
	assert.Empty(t, one.Git("status", "--porcelain"))
}

func TestEnvLetsNoGitVariableThrough(t *testing.T) {
	t.Setenv("GIT_DIR", "/elsewhere")
	t.Setenv("GIT_INDEX_FILE", "/elsewhere/index")
	for _, entry := range repotest.Env(t.TempDir()) {
		assert.False(t, strings.HasPrefix(entry, "GIT_DIR=") || strings.HasPrefix(entry, "GIT_INDEX_FILE="), entry)
	}
}

func TestCleanupWaitsForWhatATestHasLeft(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("processes are found in /proc")
	}
	rec := &recorder{TB: t}
	repo := repotest.New(rec, repotest.Commit)
	left := filepath.Join(t.TempDir(), "git-smithers")
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(sh, left))
	written := filepath.Join(repo.Home, "written")
	cmd := exec.CommandContext(t.Context(), left, "-c", "sleep 0.2; echo late >"+written)
	cmd.Dir = repo.Dir
	require.NoError(t, cmd.Start())
	go func() { _ = cmd.Wait() }()

	rec.finish()

	assert.FileExists(t, written)
	assert.False(t, rec.failed)
}

func TestCleanupRunsHooksAndFindsDamage(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	repo := repotest.New(rec, repotest.Commit)
	hooked := false
	repo.OnCleanup(func(testing.TB) { hooked = true })
	tree := repo.Git("rev-parse", "main^{tree}")
	require.NoError(t, os.Remove(filepath.Join(repo.GitDir, "objects", tree[:2], tree[2:])))

	rec.finish()

	assert.True(t, hooked)
	assert.True(t, rec.failed, "the missing tree must fail the test")
}

func TestDamagedSwitchesTheChecksOff(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	repo := repotest.New(rec, repotest.Commit)
	repo.Damaged()
	require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "refs", "heads", "main"), nil, 0o666))

	rec.finish()

	assert.False(t, rec.failed)
}

// recorder is a test whose end comes when the test says so and whose failure is
// only noted.
type recorder struct {
	testing.TB
	cleanups []func()
	failed   bool
}

func (r *recorder) Cleanup(f func())      { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) finish() {
	for _, f := range r.cleanups {
		f()
	}
}
