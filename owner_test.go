package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// patience is how long a test waits for what other processes do.
var patience = time.Duration(repotest.Size(2, 5)) * time.Minute

// world is a repository and processes of git-smithers at work in it.
type world struct {
	*repotest.Repo
	t *testing.T
}

func newWorld(t *testing.T, workflow string, env ...string) *world {
	t.Helper()
	w := worldOf(t, repotest.New(t, repotest.Commit))
	w.Env = append(w.Env, env...)
	w.write("flow.yaml", workflow)
	return w
}

// worldOf is a world in a repository that is there.
func worldOf(t *testing.T, repo *repotest.Repo) *world {
	t.Helper()
	repo.Env = append(repo.Env, "GIT_SMITHERS_FSYNC=0", "GORACE=atexit_sleep_ms=0")
	w := &world{repo, t}
	repo.OnCleanup(func(t testing.TB) {
		t.Helper()
		out, err := w.command("verify").CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	return w
}

func (w *world) write(name, content string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(filepath.Join(w.Dir, name), []byte(content), 0o666))
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.Dir, name))
	require.NoError(w.t, err)
	return string(data)
}

func (w *world) command(args ...string) *exec.Cmd {
	return process(w.Dir, w.Env, "git-smithers", args...)
}

// job is a process that was started.
type job struct {
	*exec.Cmd
	t        *testing.T
	out, err output
}

// output is what a process has written by now.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts git-smithers. It ends with the test at the latest.
func (w *world) start(args ...string) *job {
	w.t.Helper()
	return w.startCommand(w.command(args...))
}

// startCommand starts a process. It ends with the test at the latest.
func (w *world) startCommand(cmd *exec.Cmd) *job {
	w.t.Helper()
	j := &job{Cmd: cmd, t: w.t}
	j.Stdout, j.Stderr = &j.out, &j.err
	require.NoError(w.t, j.Start())
	w.t.Cleanup(func() {
		if j.ProcessState == nil {
			_ = j.Process.Kill() // the test has failed
			_ = j.Wait()
		}
	})
	return j
}

func (j *job) signal(s syscall.Signal) {
	j.t.Helper()
	require.NoError(j.t, j.Process.Signal(s))
}

// exit waits for the process and returns its exit status, -1 for one that a signal ended.
func (j *job) exit() int {
	j.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = j.Process.Kill() })
	defer timer.Stop()
	err := j.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		require.NoError(j.t, err)
	}
	return j.ProcessState.ExitCode()
}

// exits waits for the process, which has to end with a status.
func (j *job) exits(status int) {
	j.t.Helper()
	require.Equal(j.t, status, j.exit(), "%v\n%s\n%s", j.Args, j.out.String(), j.err.String())
}

// await waits until a file of the working copy is there.
func (w *world) await(name string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		_, err := os.Stat(filepath.Join(w.Dir, name))
		return err == nil
	}, patience, 5*time.Millisecond, name)
}

// attempts are those of a run, as "node attempt state".
func (w *world) attempts(run string) (status string, epoch int64, attempts []string) {
	w.t.Helper()
	cmd := w.command("show", run, "--json", "--attempts")
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err := cmd.Output()
	require.NoError(w.t, err, talk.String())
	var doc struct {
		Run struct {
			Status string `json:"status"`
			Epoch  int64  `json:"epoch"`
		} `json:"run"`
		Attempts []struct {
			NodeID  string `json:"nodeId"`
			Attempt int    `json:"attempt"`
			State   string `json:"state"`
		} `json:"attempts"`
	}
	require.NoError(w.t, json.Unmarshal(out, &doc))
	for _, a := range doc.Attempts {
		attempts = append(attempts, fmt.Sprintf("%s %d %s", a.NodeID, a.Attempt, a.State))
	}
	slices.Sort(attempts)
	return doc.Run.Status, doc.Run.Epoch, attempts
}

func TestAnEngineThatSleptThroughItsTakeoverWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `name: flow
tasks:
  - id: long
    retries: 1
    run: |
      touch "begun-$SMITHERS_ATTEMPT"
      while test ! -e go; do sleep 0.02; done
  - {id: last, needs: [long], run: "true"}
`, "GIT_SMITHERS_STALE_AFTER=500ms")
	first := w.start("run", "flow.yaml", "--run-id", "r")
	w.await("begun-1")
	assert.Equal(t, 11, w.start("resume", "r").exit(), "it is alive")

	first.signal(syscall.SIGSTOP)
	second := w.start("supervise", "r", "--interval", "100ms")
	w.await("begun-2")
	before := w.Git("for-each-ref")
	first.signal(syscall.SIGCONT)
	assert.Equal(t, 11, first.exit())
	assert.Contains(t, first.err.String(), "was taken over by another process")
	assert.Equal(t, before, w.Git("for-each-ref"))

	w.write("go", "")
	require.Eventually(t, func() bool {
		out, err := w.command("show", "r", "--json").Output()
		return err == nil && bytes.Contains(out, []byte(`"status":"finished"`))
	}, patience, 20*time.Millisecond)
	second.signal(syscall.SIGTERM)
	assert.Equal(t, 143, second.exit())
	status, epoch, attempts := w.attempts("r")
	assert.Equal(t, "finished", status)
	assert.EqualValues(t, 2, epoch)
	assert.Equal(t, []string{"last 1 finished", "long 1 failed", "long 2 finished"}, attempts)
}

func TestALiveEngineIsTakenOverByForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `name: flow
tasks:
  - id: long
    retries: 1
    run: |
      touch "begun-$SMITHERS_ATTEMPT"
      while test ! -e go; do sleep 0.02; done
`)
	first := w.start("run", "flow.yaml", "--run-id", "r")
	w.await("begun-1")
	second := w.start("resume", "r", "--force")
	w.await("begun-2")
	assert.Equal(t, 11, first.exit(), "it notices, although none of its tasks has ended")
	w.write("go", "")
	assert.Zero(t, second.exit())
}
