//go:build linux

package timeline_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// commandOf runs a command as that of an attempt of the run "r", and returns the id of the
// process that it leaves behind.
func commandOf(t *testing.T, c *claim.Commands, attempt string, env []string) string {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "sh", "-c", "read go; sleep 60 >&- & echo $!")
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	require.NoError(t, c.Began(attempt, cmd.Process.Pid))
	_, err = in.Write([]byte("\n"))
	require.NoError(t, err)
	left, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	return strings.TrimSpace(left)
}

func there(pid string) bool {
	state, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(state), ") Z ")
}

func TestWhatIsLeftOfCommandsIsEndedByWhoComesNext(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := claim.CommandsOf(openWith(t, repo, newWatch().now), "r")
	one := commandOf(t, c, "a::0::1", claim.AttemptEnv("r", "a", 0, 1))
	two := commandOf(t, c, "b::3::2", claim.AttemptEnv("r", "b", 3, 2))
	ended := commandOf(t, c, "c::0::1", claim.AttemptEnv("r", "c", 0, 1))
	c.Ended("c::0::1")

	other := claim.CommandsOf(openWith(t, repo, newWatch().now), "r")
	n, err := other.EndLeft(t.Context(), time.Second)
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.False(t, there(one))
	assert.False(t, there(two))
	assert.True(t, there(ended), "nobody asked for it")
	assert.NoDirExists(t, filepath.Join(repo.GitDir, "smithers", "commands", "r"))

	n, err = other.EndLeft(t.Context(), time.Second)
	require.NoError(t, err)
	assert.Zero(t, n)
}

func TestATravelEndsWhatADeadProcessLeftAtWork(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	pid := commandOf(t, claim.CommandsOf(s, "run"), "c::0::1", claim.AttemptEnv("run", "c", 0, 1))
	travelTo(t, s, "run", "b::0::1")
	assert.False(t, there(pid))
}

func TestTheCommandsOfAnotherRunAreLeftAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := openWith(t, repo, newWatch().now)
	pid := commandOf(t, claim.CommandsOf(s, "r"), "a::0::1", claim.AttemptEnv("r", "a", 0, 1))
	n, err := claim.CommandsOf(s, "other").EndLeft(t.Context(), time.Second)
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.True(t, there(pid))
}

func TestAProcessThatIsNotTheAttemptsIsLeftAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := claim.CommandsOf(openWith(t, repo, newWatch().now), "r")
	pid := commandOf(t, c, "a::0::2", claim.AttemptEnv("r", "a", 0, 1))
	n, err := c.EndLeft(t.Context(), time.Second)
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.True(t, there(pid))
}

func TestANoteThatIsNotWholeIsOfACommandThatNeverBegan(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := claim.CommandsOf(openWith(t, repo, newWatch().now), "r")
	folder := filepath.Join(repo.GitDir, "smithers", "commands", "r")
	require.NoError(t, os.MkdirAll(folder, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a%3a%3a0"), []byte(`{"attempt":"a::0::1","gro`), 0o666))
	n, err := c.EndLeft(t.Context(), time.Second)
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.NoDirExists(t, folder)
}
