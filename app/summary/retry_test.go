package summary_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/app/summary"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// retry returns the Retry of a run that has failed.
func (p *place) retry(run string) summary.Retry {
	p.t.Helper()
	sum := p.read(run)
	require.NotNil(p.t, sum.Failure)
	require.NotNil(p.t, sum.Failure.Retry)
	return *sum.Failure.Retry
}

func TestAFailedStepIsTriedAgainFromBeforeAllItsTries(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `name: flow
tasks:
  - {id: a, run: "echo a >>trace"}
  - {id: b, needs: [a], retries: 1, run: "echo b >>trace; test -e mended"}
`)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "r")
	assert.Equal(t, summary.Retry{Frame: 2}, p.retry("r"), "a has finished at frame 2, and b has begun at frame 3")
	p.do(fault.ExitFailed, "", "resume", "r")
	assert.Equal(t, summary.Retry{Frame: 2}, p.retry("r"), "nothing else has finished since")

	p.repo.Write("mended", "")
	fork := p.do(fault.ExitOK, "", "replay", "r:2")
	trace, err := os.ReadFile(filepath.Join(p.repo.Dir, "trace"))
	require.NoError(t, err)
	assert.Equal(t, "a\n"+strings.Repeat("b\n", 5), string(trace), "a has not run again")
	assert.Nil(t, p.read(fork).Failure)
}

func TestWhatHasFinishedBetweenTheTriesIsNotRepeated(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `name: flow
tasks:
  - {id: a, run: "test -e first"}
  - {id: b, run: "test -e second"}
`)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "r", "--max-parallel", "1")
	p.repo.Write("first", "")
	p.do(fault.ExitFailed, "", "resume", "r", "--max-parallel", "1")
	fork := p.do(fault.ExitFailed, "", "replay", "r:"+itoa(p.retry("r").Frame))
	assert.True(t, step(t, p.read(fork), "a").Inherited, "a succeeded at its second try")
	assert.Equal(t, int64(0), p.retry(fork).Frame, "the fork has its parent's frame as frame 0")
}

func TestAnExhaustedLoopIsTriedAgainFromBeforeItFailed(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `name: flow
tasks:
  - {loop: work, until: "false", max: 2, tasks: [{id: a, run: "true"}]}
`)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "r")
	sum := p.read("r")
	assert.Nil(t, sum.Failure.Step)
	assert.Equal(t, sum.Row.Frame-1, sum.Failure.Retry.Frame)
}

func TestADeniedApprovalIsAskedAgainAndNotReplayed(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "name: flow\ntasks:\n  - {id: a, run: \"echo >new\"}\n  - {id: gate, needs: [a], approval: Go?}\n")
	p.do(fault.ExitWaiting, "", "run", "flow.yaml", "--run-id", "r")
	p.do(fault.ExitOK, "", "deny", "r")
	p.do(fault.ExitFailed, "", "resume", "r")
	assert.Equal(t, summary.Retry{Frame: 2, Denied: true}, p.retry("r"))
	assert.Nil(t, p.read("r").RetryArguments())
}
