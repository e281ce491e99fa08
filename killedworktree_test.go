package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

const apart = `
name: apart
worktree: {branch: "{run}", base: many}
tasks:
  - {id: own, worktree: {base: many}, run: "echo done > f1"}
  - {id: shared, needs: [own], run: "echo done > f2"}
`

// git and jj die with the process that makes a worktree, and leave it half-made.
func TestARunThatIsKilledWhileItMakesItsWorktreesMakesThemAgain(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		h := &halfMade{Repo: repo, t: t, program: filepath.Join(t.TempDir(), "git-smithers")}
		linkSmithers(t, h.program)
		h.many(kind)
		require.NoError(t, os.WriteFile(filepath.Join(h.Dir, "apart.yaml"), []byte(apart), 0o666))

		began := time.Now()
		out, err := h.smithers(nil, "run", "apart.yaml", "--run-id", "calm")
		require.NoError(t, err, out)
		took := time.Since(began)
		random := rand.New(rand.NewPCG(killSeed(t), 0))
		for i := range repotest.Size(4, 60) {
			run, at := fmt.Sprintf("run%d", i), time.Duration(random.Int64N(int64(took)))
			_, _ = h.smithers(&at, "run", "apart.yaml", "--run-id", run)
			out, err := h.again(run)
			require.NoError(t, err, "%s, killed after %v: %s", run, at, out)
			assert.Equal(t, "done", h.Git("show", "refs/smithers/_tip/"+run+":worktree/f2"))
		}
		out, err = h.smithers(nil, "worktrees", "prune", "--json")
		require.NoError(t, err, out)
		out, err = h.smithers(nil, "verify")
		require.NoError(t, err, out)
	})
}

type halfMade struct {
	*repotest.Repo

	t       *testing.T
	program string
}

// many makes a branch with 300 files, so that most kills meet a checkout.
func (h *halfMade) many(kind repotest.Kind) {
	h.t.Helper()
	var stream strings.Builder
	stream.WriteString("commit refs/heads/many\ncommitter a <a@example.com> 1767323045 +0000\ndata 0\n")
	for i := range 300 {
		text := strings.Repeat("line\n", i)
		fmt.Fprintf(&stream, "M 100644 inline f%d\ndata %d\n%s\n", i, len(text), text)
	}
	h.GitInput(stream.String(), "fast-import", "--quiet")
	if kind != repotest.Git && kind != repotest.GitWorktree {
		h.JJ("git", "import", "--quiet")
	}
}

// smithers runs git-smithers. If kill is not nil, it and everything that it has started is killed after that time.
func (h *halfMade) smithers(kill *time.Duration, args ...string) (string, error) {
	cmd := exec.CommandContext(h.t.Context(), h.program, args...)
	cmd.Dir, cmd.Env = h.Dir, append(h.Env, "GIT_SMITHERS_FSYNC=0", "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return "", err
	}
	if kill != nil {
		timer := time.AfterFunc(*kill, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		defer timer.Stop()
	}
	err := cmd.Wait()
	return out.String(), err
}

// lockOf finds the file that git, or for the lock of reftables this program, asks the user to remove.
var lockOf = regexp.MustCompile(`Unable to create '([^']*\.lock)': File exists|remove the file (\S+\.lock) from the git directory`)

// again continues a run that was killed, or starts it if it is not there.
func (h *halfMade) again(run string) (out string, err error) {
	for range 500 {
		out, err = h.smithers(nil, "resume", run)
		if err != nil && strings.Contains(out, "no run is called") {
			out, err = h.smithers(nil, "run", "apart.yaml", "--run-id", run)
		}
		lock := lockOf.FindStringSubmatch(out)
		switch {
		case lock != nil && lock[1] != "" && os.Remove(lock[1]) == nil:
		case lock != nil && lock[2] != "" && os.Remove(filepath.Join(h.Git("rev-parse", "--path-format=absolute", "--git-common-dir"), lock[2])) == nil:
		case err != nil && strings.Contains(out, "is being executed by process"): // a command that it was about to start has its lock
			time.Sleep(20 * time.Millisecond)
		default:
			return out, err
		}
	}
	return out, err
}
