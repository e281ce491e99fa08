package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

const viewedFlow = `name: flow
tasks:
  - {id: good, run: "true"}
  - {id: never, needs: [good], when: "false", run: "true"}
  - {id: gate, needs: [good], approval: "Go on?"}
  - {id: bad, needs: [gate], run: "exit 7"}
`

// At a terminal, run shows its tasks as they wait and end, and no list of frames. Its id, which
// stands above them, is not printed once more.
func TestRunShowsItsTasksAtATerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.NoError(t, os.WriteFile(filepath.Join(d.repo.Dir, "flow.yaml"), []byte(viewedFlow), 0o600))

	c := d.invoke(t, atTerminal("NO_COLOR=1", "LC_ALL=C.UTF-8"), "run", "flow.yaml", "--run-id", "seen")
	require.Equal(t, fault.ExitWaiting, c.exit, c.err.String())
	assert.Empty(t, c.out.String())
	said := c.err.String()
	assert.Regexp(t, `(?m)  ✓ good  +\d+ ms  finished$`, said)
	assert.Regexp(t, `(?m)  – never +skipped$`, said)
	assert.Regexp(t, `(?m)  ◆ gate +waits for approval$`, said)
	assert.NotContains(t, said, "frame ")
	assert.NotContains(t, said, "error:")
	assert.Contains(t, said, "● good  (0 of 4 done)", "the task at work is told in place")

	c = d.invoke(t, atTerminal("LC_ALL=C"), "run", "flow.yaml", "--run-id", "plain")
	assert.Contains(t, c.err.String(), "  \x1b[33m?\x1b[m gate ", "one colour for what waits, as in show, and signs that every terminal has")

	require.Equal(t, fault.ExitOK, d.invoke(t, nil, "approve", "seen").exit)
	c = d.invoke(t, atTerminal(), "resume", "seen")
	require.Equal(t, fault.ExitFailed, c.exit, c.err.String())
	assert.Contains(t, c.err.String(), "\x1b[31mfailed: exit status 7\x1b[m")
}

// Programs that read standard output get the id, and logs of programs the frames, as ever.
func TestRunPrintsItsIDWhereNobodyLooks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.NoError(t, os.WriteFile(filepath.Join(d.repo.Dir, "flow.yaml"), []byte(viewedFlow), 0o600))

	c := d.invoke(t, nil, "run", "flow.yaml", "--run-id", "read")
	assert.Equal(t, "read\n", c.out.String())
	assert.Contains(t, c.err.String(), "  frame 1  good started  (0 of 4 done)\n")

	c = d.invoke(t, atTerminal(), "run", "flow.yaml", "--run-id", "quiet", "--quiet")
	assert.Equal(t, "quiet\n", c.out.String())
	assert.NotContains(t, c.err.String(), "✓")
}
