package workflow_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
)

// files returns a workflow.Read of files in memory.
func files(of map[string]string) workflow.Read {
	return func(path string) ([]byte, error) {
		if text, ok := of[path]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
}

const leaf = "name: leaf\noutputs: {t: {}}\ntasks:\n  - {id: work, output: t, run: x}\n"

func TestADefinitionHasTheFilesThatItCalls(t *testing.T) {
	t.Parallel()
	main := "name: main\noutputs: {t: {}}\ntasks:\n  - {id: a, workflow: sub/mid.yaml, output: t, with: {n: \"1\"}, timeout: 1m, retries: 2}\n  - {id: b, workflow: ./sub/leaf.yaml}"
	read := files(map[string]string{
		"sub/mid.yaml":  "name: mid\noutputs: {t: {}}\ntasks:\n  - {id: deep, workflow: leaf.yaml, output: t}\n",
		"sub/leaf.yaml": leaf,
	})
	wf, err := workflow.Load("dir/main.yaml", []byte(main), read)
	require.NoError(t, err)
	definition := wf.Snapshot().Definition
	assert.Equal(t, main+"\n--- # workflow: sub/leaf.yaml\n"+leaf+"--- # workflow: sub/mid.yaml\nname: mid\noutputs: {t: {}}\ntasks:\n  - {id: deep, workflow: leaf.yaml, output: t}\n", string(definition))

	again, err := workflow.Parse("the workflow of r", definition)
	require.NoError(t, err)
	assert.Equal(t, definition, again.Snapshot().Definition, "the same bytes, however it was read")
	assert.Equal(t, wf.Snapshot().Hash(), again.Snapshot().Hash())

	mid := again.Task("a").Call.Workflow
	assert.Equal(t, "deep", mid.Result().ID)
	alone, err := workflow.Parse("the workflow of a called run", mid.Snapshot().Definition)
	require.NoError(t, err, "a called run stores what it needs")
	assert.Equal(t, "leaf", alone.Task("deep").Call.Workflow.Name)
	assert.Same(t, mid.Task("deep").Call.Workflow, again.Task("b").Call.Workflow, "a file is read once")
}

func TestFlawsOfCallsAreNamed(t *testing.T) {
	t.Parallel()
	read := files(map[string]string{
		"leaf.yaml":   leaf,
		"silent.yaml": "name: silent\ntasks:\n  - {id: work, run: x}\n",
		"flawed.yaml": "name: flawed\ntasks:\n  - {id: work, rn: x}\n",
		"back.yaml":   "name: back\ntasks:\n  - {id: x, workflow: wf.yaml}\n",
		"mark.yaml":   "name: mark\n--- # workflow: x\ntasks: []\n",
	})
	for name, tc := range map[string]struct{ task, want string }{
		"missing":               {"{id: a, workflow: gone.yaml}", "wf.yaml:4: task a: there is no workflow file gone.yaml"},
		"flawed":                {"{id: a, workflow: flawed.yaml}", `wf.yaml:4: task a: flawed.yaml:3: a task has no key "rn"`},
		"itself":                {"{id: a, workflow: wf.yaml}", "task a calls the workflow that it is part of: wf.yaml -> wf.yaml"},
		"in a circle":           {"{id: a, workflow: back.yaml}", "back.yaml:3: task x calls the workflow that it is part of: wf.yaml -> back.yaml -> wf.yaml"},
		"an absolute path":      {"{id: a, workflow: /etc/x.yaml}", `"/etc/x.yaml" is not the path of a workflow file`},
		"a second definition":   {"{id: a, workflow: mark.yaml}", "a called file cannot contain"},
		"a command, too":        {"{id: a, workflow: leaf.yaml, run: x}", "task a has both run and workflow"},
		"a key of commands":     {"{id: a, workflow: leaf.yaml, env: {A: b}}", "task a has workflow, which does not allow env"},
		"with without workflow": {"{id: a, run: x, with: {a: \"1\"}}", "task a has with, but calls no workflow"},
		"no expression":         {"{id: a, workflow: leaf.yaml, with: {a: \"1 +\"}}", "with.a of task a"},
		"an output of nothing":  {"{id: a, workflow: silent.yaml, output: t}", "task a has an output, but no task of silent.yaml has one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Load("wf.yaml", []byte("name: w\noutputs: {t: {}}\ntasks:\n  - "+tc.task+"\n  - {id: z, output: t, run: x}\n"), read)
			require.Error(t, err)
			assert.Contains(t, err.Error(), tc.want)
		})
	}
}

func TestWorkflowsCallEachOtherSixteenDeep(t *testing.T) {
	t.Parallel()
	chain := make(map[string]string)
	for i := 2; i <= 17; i++ {
		chain[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("name: w\ntasks:\n  - {id: x, workflow: %d.yaml}\n", i+1)
	}
	chain["16.yaml"] = leaf
	first := []byte("name: w\ntasks:\n  - {id: x, workflow: 2.yaml}\n")
	_, err := workflow.Load("1.yaml", first, files(chain))
	require.NoError(t, err)
	chain["16.yaml"], chain["17.yaml"] = "name: w\ntasks:\n  - {id: x, workflow: 17.yaml}\n", leaf
	_, err = workflow.Load("1.yaml", first, files(chain))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "workflows call each other deeper than 16 files")
}

func TestTheFilesOfADefinitionAreBoundedTogether(t *testing.T) {
	t.Parallel()
	large := leaf + "#" + fmt.Sprintf("%0600000d", 0) + "\n"
	_, err := workflow.Load("wf.yaml", []byte("name: w\ntasks:\n  - {id: a, workflow: a.yaml}\n  - {id: b, workflow: b.yaml}\n"), files(map[string]string{"a.yaml": large, "b.yaml": large}))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "larger than 1048576 bytes together")
}
