package workflow_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
)

func TestATaskHasItsOwnSandboxOrThatOfTheWorkflow(t *testing.T) {
	t.Parallel()
	wf, err := workflow.Parse("wf.yaml", []byte(`
name: w
sandbox: true
tasks:
  - {id: a, run: x, sandbox: {network: on, write: [.git, out], read: [~/.npmrc], env: [B, A], memory: 2g, processes: 100, cpu: 1.5}}
  - {id: b, run: x}
  - {id: c, run: x, sandbox: false}
  - {id: d, timer: 1s}
`))
	require.NoError(t, err)
	assert.Equal(t, &sandbox.Spec{
		Network: true, Write: []string{".git", "out"}, Read: []string{"~/.npmrc"}, Env: []string{"A", "B"}, Memory: 2 << 30, Processes: 100, CPU: 1.5,
	}, wf.Task("a").Sandbox)
	assert.Equal(t, "network, writes .git out, reads ~/.npmrc, gets A B, at most 2048 MiB, at most 100 processes, at most 1.5 processors", wf.Task("a").Sandbox.String())
	assert.Equal(t, "no network", wf.Task("b").Sandbox.String())
	assert.Nil(t, wf.Task("c").Sandbox)
	assert.Nil(t, wf.Task("d").Sandbox)
}

func TestFlawsOfSandboxesAreNamed(t *testing.T) {
	t.Parallel()
	var told []string
	for _, flaw := range flawsOf(t, `name: w
sandbox: strict
tasks:
  - {id: a, run: a, sandbox: {network: maybe, write: [""], env: [A-B], memory: 5x, processes: 0, cpu: none}}
  - {id: b, run: a, sandbox: {memory: 1k, port: 80}}
  - {id: c, timer: 1s, sandbox: true}
`) {
		_, what, _ := strings.Cut(flaw.Message, ": ")
		told = append(told, what)
	}
	assert.Equal(t, []string{
		`sandbox must be true, false or a mapping, not "strict"`,
		`network must be on or off, not "maybe"`,
		"a path is empty",
		`"A-B" is not the name of an environment variable`,
		`memory is not a size: "5x"`,
		`processes must be a whole number from 1 to 1000000, not "0"`,
		`cpu must be a number from 0.01 to 10000, not "none"`,
		`sandbox has no key "port"`,
		`memory must be from 1m to 1024t, not "1k"`,
		"task c has timer, which does not allow sandbox",
	}, told)
}
