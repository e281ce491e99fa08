package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// At a terminal, a person sees what would run before several runs begin. One run begins at once.
func TestAPersonIsAskedBeforeSeveralFailedRunsAreResumed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.repo.Write("flow.yaml", "name: flow\ntasks: [{id: check, run: 'test -e .git/ok'}]\n")
	answering := func(typed string) func(*cli.Streams) {
		return func(s *cli.Streams) {
			s.In = strings.NewReader(typed)
			atTerminal()(s)
		}
	}
	for _, id := range []string{"one", "two"} {
		c := d.invoke(t, nil, "run", "flow.yaml", "--run-id", id, "--quiet")
		assert.Equal(t, fault.ExitFailed, c.exit, c.err.String())
	}
	before := d.repo.Git("for-each-ref", "refs/smithers")
	c := d.invoke(t, answering("n\n"), "resume", "--failed")
	assert.Equal(t, fault.ExitUsage, c.exit)
	assert.Contains(t, c.out.String(), "failed in attempt 1: exit status 1")
	assert.Contains(t, c.err.String(), "Resume these 2 runs? [y/N] ")
	assert.Contains(t, c.err.String(), "you did not confirm to resume the runs")
	assert.Equal(t, before, d.repo.Git("for-each-ref", "refs/smithers"))

	d.repo.Write(".git/ok", "")
	c = d.invoke(t, answering("y\n"), "resume", "--failed")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Contains(t, c.err.String(), "2 of 2 resumed runs finished")

	c = d.invoke(t, answering(""), "resume", "--failed")
	assert.Equal(t, fault.ExitOK, c.exit)
	assert.Contains(t, c.err.String(), "no run has failed")
}
