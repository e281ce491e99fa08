package summary_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// retry returns the Retry of the run r, which has failed.
func (p *place) retry() summary.Retry {
	p.t.Helper()
	sum := p.read("r")
	require.NotNil(p.t, sum.Failure)
	require.NotNil(p.t, sum.Failure.Retry)
	return *sum.Failure.Retry
}

func TestAFailedStepIsTriedAgainFromTheNewestFrame(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `name: flow
tasks:
  - {id: a, run: "echo a >>trace"}
  - {id: b, needs: [a], retries: 1, run: "echo b >>trace; test -e mended"}
`)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "r")
	first := p.retry()
	assert.Equal(t, []string{"b"}, first.Nodes)
	p.do(fault.ExitFailed, "", "resume", "r")
	assert.Greater(t, p.retry().Frame, first.Frame, "the newest frame")

	p.repo.Write("mended", "")
	fork := p.do(fault.ExitOK, "", append([]string{"replay"}, first.Arguments("r")...)...)
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
	retry := p.retry()
	fork := p.do(fault.ExitFailed, "", append([]string{"replay"}, retry.Arguments("r")...)...)
	assert.True(t, step(t, p.read(fork), "a").Inherited, "a succeeded at its second try")
}

func TestWhatSucceededBesideAFailureIsNotRepeated(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `name: flow
tasks:
  - {id: plan, run: "echo plan >>trace"}
  - {id: a, needs: [plan], run: "echo a >>trace"}
  - {id: b, needs: [plan], run: "while ! grep -q ^a trace; do sleep 0.01; done; echo b >>trace; test -e mended"}
  - {id: c, needs: [plan], run: "while ! grep -q ^a trace; do sleep 0.01; done; test -e mended"}
  - {id: join, needs: [a, b, c], run: "echo join >>trace"}
`)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "r")
	retry := p.retry()
	assert.Equal(t, []string{"b", "c"}, retry.Nodes)
	assert.Equal(t, "runs b, c and join", retry.Does())

	p.repo.Write("mended", "")
	p.do(fault.ExitOK, "", append([]string{"replay"}, retry.Arguments("r")...)...)
	trace, err := os.ReadFile(filepath.Join(p.repo.Dir, "trace"))
	require.NoError(t, err)
	assert.Equal(t, "plan\na\nb\nb\njoin\n", string(trace))
}

func TestARoundOfALoopThatFailedIsTriedAgainAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `name: flow
tasks:
  - {loop: work, until: "false", max: 2, on_max: finish, tasks: [{id: a, run: "echo a >>trace; test $(wc -l <trace) != 2"}]}
`)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "r")
	retry := p.retry()
	assert.Equal(t, []string{"a::1"}, retry.Nodes)
	p.do(fault.ExitOK, "", append([]string{"replay"}, retry.Arguments("r")...)...)
	trace, err := os.ReadFile(filepath.Join(p.repo.Dir, "trace"))
	require.NoError(t, err)
	assert.Equal(t, "a\na\na\n", string(trace), "the first round is not repeated")
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
	assert.True(t, p.retry().Denied)
	assert.Nil(t, p.read("r").RetryArguments())
}

func TestTheStepThatFailsFirstIsTheCause(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `name: flow
tasks:
  - {id: allowed, run: "exit 1", continue-on-error: true}
  - {id: a, run: "until test -e failed; do sleep 0.01; done; sleep 0.2; exit 2"}
  - {id: z, run: "touch failed; exit 3"}
`)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "r", "--max-parallel", "3")
	failure := p.read("r").Failure
	require.NotNil(t, failure)
	assert.Equal(t, "z", failure.Step.NodeID)
	assert.Equal(t, "exit_status: exit status 3", failure.Error)
	require.Len(t, failure.Also, 1)
	assert.Equal(t, "a", failure.Also[0].NodeID)
	assert.Equal(t, []string{"a", "z"}, failure.Retry.Nodes, "what is allowed to fail is not tried again")
}
