package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestMergeKeysBringWhatAMappingLacks(t *testing.T) {
	t.Parallel()
	const file = `name: w
x-one: &one {model: one, label: one}
x-two: &two {<<: *one, model: two, retries: 2}
outputs:
  a: &a {type: object, required: [n]}
  b: {<<: *a, type: array}
  c: {"<<": {type: object}}
tasks:
  - {<<: *two, id: t1, run: x}
  - {id: t2, run: x, <<: [*one, *two], label: own}
  - {<<: {id: t3, run: x}}
  - <<: &loop {loop: l, until: "true", max: 2}
    tasks: [{id: t4, run: x, env: {<<: {A: b}}}]
`
	wf := parse(t, file)
	one, two := wf.Task("t1"), wf.Task("t2")
	assert.Equal(t, []any{"two", "one", 2}, []any{one.Model, one.Label, one.Retries}, "a mapping that merges another one can be merged")
	assert.Equal(t, []any{"one", "own", 2}, []any{two.Model, two.Label, two.Retries}, "the mapping itself wins, then the first one")
	assert.NotNil(t, wf.Task("t3"))
	assert.Equal(t, "l", wf.Task("t4").Loop)
	assert.Equal(t, []string{"A=b"}, wf.Task("t4").Env)
	assert.JSONEq(t, `{"type":"array","required":["n"]}`, string(wf.Snapshot().Schemas["b"]))
	assert.Equal(t, file, string(wf.Snapshot().Definition))
	assert.Equal(t, []workflow.Doubt{{Line: 7, Schema: "outputs.c", Keyword: "#/<<"}}, wf.Doubts, "in quotes it is a key like any other")
}

func TestMergeKeysAreBounded(t *testing.T) {
	t.Parallel()
	var many, deep strings.Builder
	many.WriteString("name: w\nx-base: &base\n")
	for i := range 1000 {
		fmt.Fprintf(&many, "  k%d: 1\n", i)
	}
	many.WriteString("x-uses:\n" + strings.Repeat("  - <<: *base\n", 1000) + "tasks: [{id: a, run: x}]\n")
	deep.WriteString("name: w\nx-0: &a0 {k: 1}\n")
	for i := range 40 { // without a bound, each level has twice as many
		fmt.Fprintf(&deep, "x-%d: &a%d {<<: [*a%d, *a%d]}\n", i+1, i+1, i, i)
	}
	deep.WriteString("tasks: [{id: a, run: x}]\n")
	_, err := workflow.Parse("wf.yaml", []byte(many.String()))
	assert.Contains(t, fails(t, fault.InvalidWorkflow, err), "the file has more than 100000 values")
	_, err = workflow.Parse("wf.yaml", []byte(deep.String()))
	require.NoError(t, err, "equal keys are merged once")
}

func TestFlawsOfMergeKeysAreNamed(t *testing.T) {
	t.Parallel()
	for file, message := range map[string]string{
		"x-a: &a {b: {<<: *a}}":     "wf.yaml:2: << merges a mapping into itself",
		"x-a: &a {<<: *a}":          "wf.yaml:2: << merges a mapping into itself",
		"x-a: {<<: [[{}]]}":         "wf.yaml:2: << must be a mapping or a list of mappings, not a list",
		"x-a: {<<: }":               "wf.yaml:2: << must be a mapping or a list of mappings, not nothing",
		"x-a: {<<: {a: b}, <<: {}}": "wf.yaml:2: a mapping has the key << twice",
	} {
		_, err := workflow.Parse("wf.yaml", []byte("name: w\n"+file+"\ntasks: [{id: a, run: x}]\n"))
		assert.Equal(t, message, fails(t, fault.InvalidWorkflow, err), file)
	}
}
