//go:build unix

package timeline_test

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The files of a claim are in a copy, too, and nobody holds their locks there.
func TestARunThatTheOriginalExecutesIsNotExecutedInACopy(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	head := running(t, s, "run")
	takeClaim(t, head, claim.Request{})
	command := exec.Command("sleep", "60")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Env = claim.AttemptEnv("run", "a", 0, 1)
	require.NoError(t, command.Start())
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
	require.NoError(t, claim.CommandsOf(s, "run").Began(snapshot.AttemptKey("a", 0, 1), command.Process.Pid))

	now := time.UnixMilli(head.Entry().AtMs).Add(time.Minute)
	dir := filepath.Join(t.TempDir(), "copy")
	out, err := exec.Command("cp", "-rp", repo.Dir, dir).CombinedOutput()
	require.NoError(t, err, string(out))
	copied, err := timeline.Open(t.Context(), timeline.Options{Dir: dir, Env: repo.Env, Now: func() time.Time { return now }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, copied.Close()) })
	head, err = copied.Head(t.Context(), "run")
	require.NoError(t, err)
	owner := copied.Owner(head.Row())
	assert.Equal(t, []bool{true, false, false}, []bool{owner.Elsewhere, owner.Here, owner.Live})
	_, err = claim.ToExecute(t.Context(), head, claim.Request{})
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err), "%v", err)
	ended, err := claim.CommandsOf(copied, "run").EndLeft(t.Context(), time.Second)
	require.NoError(t, err)
	assert.Zero(t, ended, "the command is the original's")
	require.NoError(t, command.Process.Signal(syscall.Signal(0)))

	now = now.Add(time.Hour)
	c, err := claim.ToExecute(t.Context(), head, claim.Request{})
	require.NoError(t, err, "after the lease")
	require.NoError(t, c.Release(t.Context()))
}

func TestARunThatAnotherMachineClaimedIsTakenOverByForce(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t))
	head := running(t, s, "run")
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Run: func(row *snapshot.Run) { row.Epoch, row.Owner = 1, "0123456789abcdef" }}))
	_, err := claim.ToExecute(t.Context(), head, claim.Request{})
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err), "%v", err)
	c, err := claim.ToExecute(t.Context(), head, claim.Request{Force: true})
	require.NoError(t, err)
	require.NoError(t, c.Release(t.Context()))
}
