package workflow_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// flawsOf parses a workflow file that has several flaws.
func flawsOf(t *testing.T, file string) []workflow.Flaw {
	t.Helper()
	_, err := workflow.Parse("wf.yaml", []byte(file))
	require.Error(t, err)
	var known *fault.Error
	require.ErrorAs(t, err, &known)
	assert.Equal(t, fault.InvalidWorkflow, known.Code)
	flaws, ok := known.Details[workflow.DetailFlaws].([]workflow.Flaw)
	require.True(t, ok, "%v", err)
	assert.Equal(t, flaws[0].Message, known.Msg, "the error tells the first")
	return flaws
}

func TestParseNamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	var told []string
	for _, flaw := range flawsOf(t, `name: a b
outputs: {v: {type: objekt}, "x/y": {}}
tasks:
  - {id: x, run: a, retries: many, timeout: 10, env: {A-B: c}}
  - {id: y, run: a, needs: [q, x, p]}
  - {run: a}
  - {loop: l, until: "1 +", max: 0, tasks: [{id: x, run: a}]}
`) {
		_, what, _ := strings.Cut(flaw.Message, ": ")
		told = append(told, what)
	}
	assert.Equal(t, []string{
		`name "a b" has an invalid character or is too long`,
		"outputs.v is not a JSON Schema: #/type: objekt is not a type; types are null, boolean, object, array, number, integer, string",
		`"x/y" cannot be the name of a table`,
		`retries must be a whole number from 0 to 100, not "many"`,
		`timeout is not a duration: "10"`,
		`"A-B" is not the name of an environment variable`,
		"a task has no id",
		`max must be a whole number from 1 to 10000, not "0"`,
		`the id "x" is already used in line 4`,
		`task y needs "q", which is neither a task nor a loop`,
		`task y needs "p", which is neither a task nor a loop`,
	}, told[:11])
	assert.Contains(t, told[11], "until of loop l: ")
	assert.Len(t, told, 12)
}

// What only follows from a flaw that was told is not told as well: it is gone once that is mended.
func TestParseDoesNotTellWhatFollowsFromAFlaw(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"a task that others need":     "name: w\ntasks:\n  - {id: x, runn: y}\n  - {id: y, needs: [x], run: z}\n",
		"a misspelt list of tasks":    "name: w\ntask: [{id: x, run: y}]\n",
		"a loop that others need":     "name: w\ntasks:\n  - {loop: l, until: 'true', tasks: [{id: x, run: y}]}\n  - {id: y, needs: [l, x], run: z}\n",
		"a table that others read":    "name: w\noutputs: {v: {type: objekt}}\ntasks:\n  - {id: x, output: v, run: y}\n  - {id: y, needs: [x], run: z, when: outputs.v.ok}\n",
		"a writer of a table":         "name: w\noutputs: {v: {}}\ntasks:\n  - {id: x, output: u, run: y}\n  - {id: y, needs: [x], run: z, when: outputs.v.ok}\n",
		"a question with a bad table": "name: w\noutputs: {v: {type: objekt}}\ntasks:\n  - {id: x, output: v, human: 'Which?'}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Parse("wf.yaml", []byte(file))
			var known *fault.Error
			require.ErrorAs(t, err, &known)
			assert.NotContains(t, known.Details, workflow.DetailFlaws)
		})
	}
}

// A file can hold more flaws than anybody reads.
func TestParseStopsAfterManyFlaws(t *testing.T) {
	t.Parallel()
	flaws := flawsOf(t, "name: w\ntasks:\n"+strings.Repeat("  - {id: a b, run: x}\n", 5000))
	assert.Len(t, flaws, 100)
}

func TestAToolIsOneName(t *testing.T) {
	t.Parallel()
	_, err := workflow.Parse("wf.yaml", []byte("name: w\ntasks: [{id: x, run: a, tools: ['a,b']}]\n"))
	assert.ErrorContains(t, err, "task x has the tool \"a,b\": a name cannot have a comma")
}
