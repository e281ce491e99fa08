package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// parted is a remote and a clone of it with a run that both have gone on with, one that was only decided in the clone, a run that
// the clone is behind with, and one that it never had.
type parted struct {
	*repotest.Repo
	t       *testing.T
	program string
}

const partedFlow = `
name: flow
tasks:
  - {id: one, run: "true"}
  - {id: gate, needs: [one], approval: "Go on?"}
  - {id: two, needs: [gate], run: "true"}
`

func newParted(t *testing.T) *parted {
	t.Helper()
	p := &parted{Repo: repotest.New(t, repotest.Commit), t: t, program: filepath.Join(t.TempDir(), "git-smithers")}
	linkSmithers(t, p.program)
	p.Env = append(p.Env, "GIT_SMITHERS_FSYNC=0", "GIT_SMITHERS_WORKTREE=off", "SCRIPT_NOW=2026-01-02T03:04:05Z", "GORACE=atexit_sleep_ms=0")
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "flow.yaml"), []byte(partedFlow), 0o666))
	p.call(p.Dir, 3, "run", "flow.yaml", "--run-id", "both")
	p.call(p.Dir, 3, "run", "flow.yaml", "--run-id", "behind")
	p.call(p.Dir, 3, "run", "flow.yaml", "--run-id", "decided")
	behind := filepath.Join(t.TempDir(), "behind")
	p.Git("clone", "--quiet", p.Dir, behind)
	p.call(behind, 0, "fetch")
	for _, run := range []string{"both", "decided"} {
		p.call(behind, 0, "approve", run, "gate", "--by", "bob")
	}
	p.call(behind, 0, "resume", "both", "--yes", "--trust-files", "both")
	for _, run := range []string{"both", "behind", "decided"} {
		p.call(p.Dir, 0, "approve", run, "gate", "--by", "ann")
		p.call(p.Dir, 0, "resume", run)
	}
	p.call(p.Dir, 3, "run", "flow.yaml", "--run-id", "new")
	p.Dir = behind
	return p
}

// call runs git-smithers in a folder to its end.
func (p *parted) call(dir string, status int, args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(context.Background(), p.program, args...)
	cmd.Dir, cmd.Env = dir, p.Env
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	_ = cmd.Run()
	require.Equal(p.t, status, cmd.ProcessState.ExitCode(), "%v: %s", args, said.String())
	return said.String()
}

// copy is the clone once more.
func (p *parted) copy() string {
	p.t.Helper()
	dir := filepath.Join(p.t.TempDir(), "clone")
	require.NoError(p.t, os.CopyFS(dir, os.DirFS(p.Dir)))
	return dir
}

// runs are the names of the tips in a clone and of what its remote has, and the frames that
// can be addressed there. Frame refs may be left out: frames are found through the tips.
func (p *parted) runs(dir string) string {
	p.t.Helper()
	store, err := timeline.Open(p.t.Context(), timeline.Options{Dir: dir, Env: p.Env, Now: time.Now})
	require.NoError(p.t, err)
	defer store.Close() //nolint:errcheck // only read
	names := []string{p.Git("-C", dir, "for-each-ref", "--format=%(refname)", "refs/smithers/_tip/", "refs/smithers-remote/")}
	for line := range strings.Lines(p.call(dir, 0, "runs")) {
		run, rest, _ := strings.Cut(line, "\t")
		_, newest, _ := strings.Cut(rest, "\t")
		newest, _, _ = strings.Cut(newest, "\t")
		frames, err := strconv.Atoi(newest)
		require.NoError(p.t, err, line)
		for frame := range frames + 1 {
			address := fmt.Sprintf("%s:%d", run, frame)
			_, err := store.Load(p.t.Context(), address)
			require.NoError(p.t, err)
			names = append(names, address)
		}
	}
	return strings.Join(names, "\n")
}

func TestAFetchThatIsKilledIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	p := newParted(t)
	calm := p.copy()
	began := time.Now()
	p.call(calm, 0, "fetch")
	took := time.Since(began)
	want := p.runs(calm)
	require.Contains(t, want, "refs/smithers/_tip/both-", "what was run here is a fork")
	require.NotContains(t, want, "refs/smithers/_tip/decided-", "what was decided here is joined")
	kills := 8
	for i := range kills {
		dir := p.copy()
		cmd := exec.CommandContext(t.Context(), p.program, "fetch")
		cmd.Dir, cmd.Env = dir, p.Env
		require.NoError(t, cmd.Start())
		at := took*time.Duration(i)/time.Duration(kills) + time.Duration(rand.N(int64(took)/int64(kills)))
		timer := time.AfterFunc(at, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()

		p.call(dir, 0, "fetch")

		assert.Equal(t, want, p.runs(dir), "killed after %v", at)
		assert.NotContains(t, p.call(dir, 0, "verify", "--deep"), "problem", "killed after %v", at)
		p.call(dir, 0, "doctor", "--repair")
		assert.Equal(t, "no problems found", strings.TrimSpace(p.call(dir, 0, "doctor")), "killed after %v", at)
		p.Git("-C", dir, "fsck", "--strict")
	}
}
