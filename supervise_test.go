package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// says waits until the process has written a text to standard output.
func (j *job) says(text string) {
	j.t.Helper()
	require.Eventually(j.t, func() bool { return strings.Contains(j.out.String(), text) },
		patience, 5*time.Millisecond, text)
}

func TestASupervisorGoesOnWhenATimerIsDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "{name: flow, tasks: [{id: later, timer: 1s}]}")
	require.Equal(t, 3, w.start("run", "flow.yaml", "--run-id", "r").exit())
	supervisor := w.start("supervise", "--interval", "1h", "--quiet")
	supervisor.says("r: finished at frame ")
	supervisor.signal(syscall.SIGTERM)
	supervisor.exits(143)
}

func TestASupervisorSaysOnceWhyItLeavesARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "{name: flow, tasks: [{id: ask, approval: Go on?}]}")
	for _, run := range []string{"left", "other"} {
		require.Equal(t, 3, w.start("run", "flow.yaml", "--run-id", run).exit())
	}
	require.Zero(t, w.start("approve", "left").exit())
	w.write("flow.yaml", "{name: flow, tasks: [{id: ask, approval: Really?}]}")
	supervisor := w.start("supervise", "--interval", "100ms", "--json")
	supervisor.says(`"action":"left","runId":"left"`)
	require.Zero(t, w.start("approve", "other").exit())
	supervisor.says(`"action":"left","runId":"other"`) // it has looked again
	supervisor.signal(syscall.SIGINT)
	supervisor.exits(130)
	assert.Equal(t, 2, strings.Count(supervisor.out.String(), "\n"), supervisor.out.String())
}

func TestFourSupervisorsResumeTwentyRunsOnceEach(t *testing.T) {
	t.Parallel()
	const runs, supervisors = 20, 4
	w := newWorld(t, `name: flow
tasks:
  - {id: one, run: 'echo one >>"said-$SMITHERS_RUN_ID"'}
  - id: two
    needs: [one]
    run: |
      echo two >>"said-$SMITHERS_RUN_ID"
      test -e go && exit 0
      touch "begun-$SMITHERS_RUN_ID"
      while :; do sleep 0.1; done
  - {id: three, needs: [two], run: 'echo three >>"said-$SMITHERS_RUN_ID"'}
`)
	var engines []*job
	for i := range runs {
		engines = append(engines, w.start("run", "flow.yaml", "--run-id", fmt.Sprintf("run-%02d", i)))
	}
	for i, engine := range engines {
		w.await(fmt.Sprintf("begun-run-%02d", i))
		require.NoError(t, engine.Process.Kill())
		engine.exits(-1)
	}
	w.write("go", "")

	var all []*job
	for range supervisors {
		all = append(all, w.start("supervise", "--once", "--quiet"))
	}
	var said []string
	for _, supervisor := range all {
		supervisor.exits(0)
		said = append(said, strings.Split(strings.TrimSpace(supervisor.out.String()), "\n")...)
	}
	slices.Sort(said)
	var want []string
	for i := range runs {
		run := fmt.Sprintf("run-%02d", i)
		status, epoch, attempts := w.attempts(run)
		assert.Equal(t, "finished", status, run)
		assert.EqualValues(t, 2, epoch, "%s was claimed by the process that was killed, and by one supervisor", run)
		assert.Equal(t, []string{"one 1 finished", "three 1 finished", "two 1 failed", "two 2 finished"}, attempts)
		assert.Equal(t, "one\ntwo\ntwo\nthree\n", w.read("said-"+run), "what is finished is not run again")
		for _, line := range said {
			if strings.HasPrefix(line, run+": ") {
				want = append(want, line)
			}
		}
		assert.Len(t, want, 2*(i+1), "%s was resumed, and finished, once: %q", run, said)
	}
	_, err := os.Stat(filepath.Join(w.GitDir, "smithers", "claims", "run-00"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.Zero(t, w.start("verify").exit())
}
