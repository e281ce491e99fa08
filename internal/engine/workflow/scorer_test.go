package workflow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
)

func TestATaskHasItsOwnScorersAndThoseOfTheWorkflow(t *testing.T) {
	t.Parallel()
	wf, err := workflow.Parse("wf.yaml", []byte(`
name: w
scorers: [{name: lint, run: ./lint}, {name: judge, run: ./any}]
tasks:
  - {id: a, run: x, scorers: [{name: judge, run: ./own, gate: " >=0.8", timeout: 3s}, {name: some, run: y, rate: 0.25}]}
  - {id: b, run: x}
  - {id: c, timer: 1s}
`))
	require.NoError(t, err)
	names := func(task string) string {
		var all []string
		for _, s := range wf.Task(task).Scorers {
			all = append(all, s.Name+" "+s.Run)
		}
		return strings.Join(all, ", ")
	}
	assert.Equal(t, "judge ./own, some y, lint ./lint", names("a"))
	assert.Equal(t, "lint ./lint, judge ./any", names("b"))
	assert.Empty(t, names("c"), "nothing scores a wait")
	judge, some := wf.Task("a").Scorers[0], wf.Task("a").Scorers[1]
	assert.Equal(t, ">= 0.8", judge.Gate.Text)
	assert.Equal(t, []any{3 * time.Second, 1.0}, []any{judge.Limit(), judge.Rate})
	assert.Equal(t, []any{5 * time.Minute, 0.25}, []any{some.Limit(), some.Rate})
	assert.Len(t, wf.Task("a").OwnScorers(wf), 2)
	tree, err := wf.Render(func(string) bool { return false })
	require.NoError(t, err)
	assert.Contains(t, string(tree), `"scorers":"judge \u003e= 0.8, some, lint"`)
}

func TestFlawsOfScorersAreNamed(t *testing.T) {
	t.Parallel()
	var told []string
	for _, flaw := range flawsOf(t, `name: w
scorers: {name: x}
tasks:
  - {id: a, run: a, scorers: [{run: b}, x, {name: j}, {name: k, run: " "}, {name: l, run: b, rate: 2}]}
  - {id: b, run: a, scorers: [{name: j, run: b, gate: good}, {name: k, run: b, gate: "> x"}, {name: l, run: b, gate: "> 1", rate: 0.5}]}
  - {id: c, run: a, scorers: [{name: j, run: b}, {name: j, run: c}, {name: m, run: c, speed: 3}]}
  - {id: d, timer: 1s, scorers: [{name: j, run: b}]}
`) {
		_, what, _ := strings.Cut(flaw.Message, ": ")
		told = append(told, what)
	}
	assert.Equal(t, []string{
		"scorers must be a list, not a mapping",
		"a scorer has no name",
		`a scorer of task a must be a mapping, not "x"`,
		"scorer j has no run",
		"run is empty",
		`rate must be a number from 0 to 1, not "2"`,
		`gate: "good" is not a comparison and a number, such as ">= 0.8"`,
		`gate: "x" is not a number`,
		"scorer l has a gate, so it must score every attempt",
		`task c has two scorers with the name "j"`,
		`a scorer has no key "speed"`,
		"task d has timer, which does not allow scorers",
	}, told)
}

func TestAGateComparesScores(t *testing.T) {
	t.Parallel()
	for text, open := range map[string][3]bool{ // for 0.7, 0.8 and 0.9
		">= 0.8": {false, true, true}, "> 0.8": {false, false, true}, "<= .8": {true, true, false},
		"<8e-1": {true, false, false}, "== 0.8": {false, true, false}, "!= 0.8": {true, false, true},
	} {
		gate, err := workflow.ParseGate(text)
		require.NoError(t, err)
		got := [3]bool{gate.Open(0.7), gate.Open(0.8), gate.Open(0.9)}
		assert.Equal(t, open, got, text)
	}
	for _, text := range []string{"", "0.8", ">=", ">= NaN", ">= Inf", "=> 1", "> 1 2"} {
		_, err := workflow.ParseGate(text)
		assert.Error(t, err, text)
	}
}

// The values are of Smithers 0.32.0.
func TestTheSameAttemptsAreSampledAsBySmithers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		run, scorer string
		value       float64
	}{
		{"m1", "r1", 0.6879820585162264},
		{"m1", "r2", 0.9112421065309739},
		{"m2", "r1", 0.49824572713239235},
		{"m2", "r2", 0.38033945965507243},
	} {
		assert.False(t, workflow.Sampled(c.value, c.run, "scored", 0, 1, c.scorer))
		assert.True(t, workflow.Sampled(c.value+1e-15, c.run, "scored", 0, 1, c.scorer))
	}
	assert.True(t, workflow.Sampled(1, "r", "n", 0, 1, "s"))
	assert.False(t, workflow.Sampled(0, "r", "n", 0, 1, "s"))
}
