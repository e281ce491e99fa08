package timeline_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// stopVariable has the point at which a process stops itself, until it is told to go on.
const stopVariable = "TIMELINE_TEST_STOP"

// stopAt stops this process when it comes by the point of the environment for the nth time.
func stopAt(nth int) func(string) error {
	times := 0
	return func(name string) error {
		if name == os.Getenv(stopVariable) {
			if times++; times == nth {
				must(syscall.Kill(os.Getpid(), syscall.SIGSTOP))
				time.Sleep(150 * time.Millisecond) // a busy machine stops the process a little later
			}
		}
		return nil
	}
}

// A process that is stopped anywhere while it logs or publishes keeps nobody from its run for longer than the patience for a lock: who
// meets its gate or its lock gets "locked", all others go on. When it goes on, nothing that anybody acknowledged is missing.
func TestAStoppedProcessThatLogsLosesNothingWhenItGoesOn(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("whether a process is stopped is read in /proc")
	}
	for _, point := range logPoints {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t)
			s := open(t, repo)
			cmd := again(t.Context(), repo, "logged", stopVariable+"="+point)
			var said bytes.Buffer
			cmd.Stdout = &said
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool { return isStopped(cmd.Process.Pid) }, 20*time.Second, 5*time.Millisecond)

			head, err := s.Head(t.Context(), "run")
			require.NoError(t, err)
			ours := ""
			err = head.Update(t.Context(), func() (*snapshot.Draft, error) {
				return &snapshot.Draft{Operation: "ours", Frame: &snapshot.FrameDraft{}}, nil
			})
			if err == nil {
				ours = head.Entry().ID.String()
			} else {
				assert.Equal(t, fault.Locked, fault.CodeOf(err), "%v", err) // another goroutine held the gate or a lock when the process stopped
			}
			require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
			time.Sleep(600 * time.Millisecond)
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()

			there := make(map[string]bool)
			for entry, err := range s.Chain(headOf(t, open(t, repo), "run").Entry()) {
				require.NoError(t, err)
				there[entry.ID.String()] = true
			}
			lines := strings.Split(strings.TrimSpace(said.String()), "\n")
			for _, commit := range lines {
				assert.True(t, len(commit) < 40 || there[commit], commit) // the last line can be cut off
			}
			assert.Greater(t, len(lines), 3, "the process has gone on")
			assert.True(t, ours == "" || there[ours])
		})
	}
}

// isStopped reports whether a process is stopped by a signal.
func isStopped(pid int) bool { return processState(pid) == "T" }

// isDead reports whether a process has ended, and nobody has waited for it.
func isDead(pid int) bool { return processState(pid) == "Z" }

// processState returns the state of a process as a letter, or "" if there is no such process.
func processState(pid int) string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // without the file, there is no state
	_, state, _ := strings.Cut(string(stat), ") ")
	return state[:min(1, len(state))]
}
