package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline"
)

func TestASweepHasTheSweptWorkflowAndWhatThatCalls(t *testing.T) {
	t.Parallel()
	read := func(string) ([]byte, error) {
		return []byte("name: leaf\ntasks: [{id: a, run: 'x\n\n      y'}]\n"), nil
	}
	wf, err := workflow.Load("flow.yaml", []byte("name: flow\ntasks: [{id: call, workflow: sub/leaf}]"), read)
	require.NoError(t, err)
	for file, kept := range map[string]string{"a/flow.yaml": "flow.yaml", "": "workflow.yaml", "strange name": "workflow.yaml"} {
		sweep, err := workflow.NewSweep(workflow.SweepName, wf, file, 2)
		require.NoError(t, err)
		assert.True(t, sweep.Sweep)
		require.Len(t, sweep.Tasks, 2)
		assert.Equal(t, "2", sweep.Tasks[1].ID)
		assert.True(t, sweep.Tasks[1].Allowed, "a variant that fails does not keep others from starting")
		assert.Equal(t, kept, sweep.Tasks[1].Call.File)
		assert.Equal(t, string(wf.Snapshot().Definition), string(sweep.Tasks[1].Call.Workflow.Snapshot().Definition), "with the rule of its shell")
		again, err := workflow.Stored("again", sweep.Snapshot().Definition)
		require.NoError(t, err)
		assert.Equal(t, sweep.Snapshot().Hash(), again.Snapshot().Hash())
		_, err = workflow.Parse("flow.yaml", sweep.Snapshot().Definition)
		require.ErrorContains(t, err, `the workflow has no key "sweep"`, "files cannot be sweeps")
	}
}

func TestAPlanGivesEachVariantItsInputAndEdits(t *testing.T) {
	t.Parallel()
	read := func(text string) *workflow.SweepPlan {
		plan, err := workflow.ReadSweepPlan(json.RawMessage(text))
		require.NoError(t, err, text)
		return plan
	}
	plan := read(`{"variants":[{},{"b":12345678901234567890,"outputs.x.y":1}],"input":{"a":1,"b":2},"parallel":1000}`)
	assert.LessOrEqual(t, plan.Parallel, 100)
	assert.Equal(t, []string{"b", "outputs.x.y"}, plan.Members())
	input, edits, err := plan.Variant(1)
	require.NoError(t, err)
	assert.Equal(t, `{"a":1,"b":2}`, string(input))
	assert.Empty(t, edits)
	input, edits, err = plan.Variant(2)
	require.NoError(t, err)
	assert.Equal(t, `{"a":1,"b":12345678901234567890,"outputs.x.y":1}`, string(input), "numbers stay as they are spelled")
	assert.Empty(t, edits, "a new run has no results to edit")

	plan.From = "a:1"
	input, edits, err = plan.Variant(2)
	require.NoError(t, err)
	assert.Equal(t, `{"a":1,"b":12345678901234567890}`, string(input))
	assert.Equal(t, []timeline.Edit{{Path: "outputs.x.y", Value: json.RawMessage("1")}}, edits)
	input, _, err = read(`{"variants":[{"outputs.x":1}],"from":"a:1"}`).Variant(1)
	require.NoError(t, err)
	assert.Nil(t, input, "the input is that of the frame")

	for _, number := range []int{0, 3, -1} {
		_, _, err = plan.Variant(number)
		require.Error(t, err)
	}
	for _, text := range []string{``, `[]`, `{"variants":{}}`, `{"variants":[1]}`, `{"variants":[[]]}`, `{"variants":[null]}`, `{"parallel":"x"}`} {
		_, err := workflow.ReadSweepPlan(json.RawMessage(text))
		require.Error(t, err, text)
	}
}

func FuzzReadSweepPlan(f *testing.F) {
	f.Add([]byte(`{"variants":[{},{"b":12345678901234567890,"outputs.x.y":1}],"input":{"a":1,"b":2},"from":"a:1","parallel":1000}`))
	f.Add([]byte(`{"variants":[{"a":1,"a":2}],"stopWhen":"true","by":"frame","budget":{"tokens":1,"costUsd":0.5,"timeMs":3},"inPlace":true}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		plan, err := workflow.ReadSweepPlan(input)
		if err != nil {
			assert.Nil(t, plan)
			return
		}
		plan.Members()
		for i := range plan.Variants[:min(len(plan.Variants), 3)] {
			if own, _, err := plan.Variant(i + 1); err == nil && plan.Input == nil && own != nil {
				assert.True(t, json.Valid(own), "%s", own)
			}
		}
		text, err := json.Marshal(plan)
		require.NoError(t, err)
		again, err := workflow.ReadSweepPlan(text)
		require.NoError(t, err)
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		assert.Equal(t, string(text), string(twice))
	})
}

func TestTheTaskOfAVariantIsItsNumber(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 12, workflow.VariantOf(workflow.VariantTask(12)))
	for _, task := range []string{"", "0", "01", "+1", "-1", "x", "1x", "99999999999999999999"} {
		assert.Zero(t, workflow.VariantOf(task), task)
	}
}
