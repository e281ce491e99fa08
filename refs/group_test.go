package refs_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// A git of ours that holds packed-refs.lock while our process group is killed gives up its transaction, and removes its
// locks: the user's git gc finds none.
func TestAProcessGroupThatIsKilledLeavesNoLockOfGit(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	id := refstest.Objects(t, repo, 1)[0]
	frame := refstest.Frame(t, "run", 0)
	repo.Git("update-ref", string(refstest.Tip(t, "run")), id.String())
	repo.Git("update-ref", string(frame), id.String())
	repo.Git("pack-refs", "--all")

	// Whoever reads the pipe to its end has waited for git, which nobody else can wait for.
	bin, pipe := t.TempDir(), filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	repotest.WriteProgram(t, filepath.Join(bin, "git"), "#!/bin/sh\nPATH=${PATH#*:}\nexec git \"$@\" 9>"+pipe+"\n")
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(repo.Env, envDir+"="+repo.Dir, envPoint+"="+refs.FailRefsLocked, envGroup+"=1", "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(in, string(frame)+" "+id.String()+" "+objstore.ID{}.String()+"\n")
	require.NoError(t, err)
	gits, err := os.Open(pipe)
	require.NoError(t, err)
	var killed *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &killed)
	require.Equal(t, -1, killed.ExitCode())
	_, err = io.ReadAll(gits)
	require.NoError(t, err)
	require.NoError(t, gits.Close())

	assert.Empty(t, refstest.Locks(t, repo))
	assert.NoFileExists(t, filepath.Join(repo.GitDir, "packed-refs.lock"))
	repo.Git("gc", "--quiet")
	assert.Equal(t, id.String(), repo.Git("rev-parse", string(frame)), "nobody acknowledged that it is deleted")
}
