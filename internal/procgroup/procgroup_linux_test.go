package procgroup_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/procgroup"
)

// token is the environment by which the members of a group are told from others.
const token = "PROCGROUP_TEST=mine"

// start runs a script as the leader of a group, and returns it when it has printed a line,
// with that line. The group is gone when the test ends.
func start(t *testing.T, script string, env ...string) (leader *exec.Cmd, line string) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_, _ = cmd.Process.Wait()
	})
	line, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return cmd, strings.TrimSpace(line)
}

func markOf(t *testing.T, cmd *exec.Cmd) procgroup.Mark {
	t.Helper()
	mark, err := procgroup.Of(cmd.Process.Pid)
	require.NoError(t, err)
	return mark
}

// alive reports whether a process is there and not only waits for its parent.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	state, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(state), ") Z ")
}

func end(t *testing.T, mark procgroup.Mark, env ...string) int {
	t.Helper()
	n, err := mark.End(t.Context(), env, 50*time.Millisecond)
	require.NoError(t, err)
	return n
}

func TestAGroupIsEndedWithEverythingInIt(t *testing.T) {
	t.Parallel()
	cmd, child := start(t, "sleep 60 & echo $!; wait")
	assert.Equal(t, 2, end(t, markOf(t, cmd)))
	assert.False(t, alive(t, child))
	assert.Zero(t, end(t, markOf(t, cmd)), "a leader that nobody waits for is dead all the same")
}

func TestWhoDoesNotEndIsKilledAfterTheGrace(t *testing.T) {
	t.Parallel()
	cmd, _ := start(t, "trap '' TERM; echo ready; while :; do sleep 60; done")
	assert.GreaterOrEqual(t, end(t, markOf(t, cmd)), 2)
	assert.False(t, alive(t, strconv.Itoa(cmd.Process.Pid)))
}

func TestWithoutItsLeaderAGroupIsKnownByTheEnvironment(t *testing.T) {
	t.Parallel()
	cmd, child := start(t, "sleep 60 >&- & echo $!", token)
	mark := markOf(t, cmd)
	require.NoError(t, cmd.Wait())
	assert.Zero(t, end(t, mark, "PROCGROUP_TEST=another's"))
	assert.Zero(t, end(t, mark), "nothing to know it by")
	assert.True(t, alive(t, child))
	assert.Equal(t, 1, end(t, mark, token))
	assert.False(t, alive(t, child))
}

// While a process becomes another program, it has no environment.
func TestAProcessThatBecomesAnotherProgramIsStillOfTheGroup(t *testing.T) {
	t.Parallel()
	for range 20 {
		cmd, child := start(t, `sh -c "$AGAIN" >&- & echo $!`, token, `AGAIN=exec sh -c "$AGAIN"`)
		mark := markOf(t, cmd)
		require.NoError(t, cmd.Wait())
		require.Equal(t, 1, end(t, mark, token))
		require.False(t, alive(t, child))
	}
}

// A number that was used again names a process which started later, or on another start of
// the machine, or in another container: that is nobody we know.
func TestANumberThatWasUsedAgainIsLeftAlone(t *testing.T) {
	t.Parallel()
	cmd, child := start(t, "sleep 60 & echo $!; wait")
	earlier, elsewhere := markOf(t, cmd), markOf(t, cmd)
	earlier.Start--
	elsewhere.Machine = "another"
	assert.Zero(t, end(t, earlier, token))
	assert.Zero(t, end(t, elsewhere, token))
	assert.True(t, alive(t, child))
	assert.True(t, alive(t, strconv.Itoa(cmd.Process.Pid)))
}

func TestTheGroupThatWeAreInIsLeftAlone(t *testing.T) {
	t.Parallel()
	mark, err := procgroup.Of(os.Getpid())
	require.NoError(t, err)
	mark.PID = syscall.Getpgrp()
	assert.Zero(t, end(t, mark))
}

func TestTheEndOfTheContextEndsTheGrace(t *testing.T) {
	t.Parallel()
	cmd, _ := start(t, "trap '' TERM; echo ready; while :; do sleep 60; done")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := markOf(t, cmd).End(ctx, nil, time.Hour)
	require.NoError(t, err)
	assert.False(t, alive(t, strconv.Itoa(cmd.Process.Pid)))
}
