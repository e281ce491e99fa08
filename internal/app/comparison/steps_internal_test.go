package comparison

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
)

// aCourse returns the course of a run with a status, without files.
func aCourse(status snapshot.RunStatus, steps ...*Step) *course {
	return &course{Summary: &summary.Summary{Row: snapshot.Run{Status: status}}, steps: steps, texts: new(agent.CallTexts)}
}

// aStep returns a step with a state. Each of calls is the input of a call of the tool sh, in JSON, and after a space its status.
func aStep(id string, state snapshot.NodeState, calls ...[2]string) *Step {
	step := &Step{Step: &summary.Step{NodeID: id, State: state}, Outputs: make(map[string]json.RawMessage)}
	for i, call := range calls {
		step.Calls = append(step.Calls, &Call{Number: i + 1, row: []byte(call[0] + call[1]), ToolCall: snapshot.ToolCall{
			ToolName: "sh", Input: json.RawMessage(call[0]), Status: call[1],
		}})
	}
	return step
}

func TestTheFirstDifferenceIsFound(t *testing.T) {
	t.Parallel()
	const (
		finished, failed, pending, going = snapshot.NodeFinished, snapshot.NodeFailed, snapshot.NodePending, snapshot.NodeInProgress
		ended, running                   = snapshot.RunFinished, snapshot.RunRunning
	)
	saying := func(step *Step, prompt string) *Step {
		step.Outputs[promptsTable] = json.RawMessage(`{"prompt":"` + prompt + `"}`)
		return step
	}
	ok, bad, open := snapshot.ToolCallSucceeded, snapshot.ToolCallFailed, snapshot.ToolCallIntended
	for _, c := range []struct {
		name string
		a, b *course
		want string // the step, and the input of the call
		open bool
	}{
		{"equal runs", aCourse(ended, aStep("x", finished)), aCourse(ended, aStep("x", finished)), "", false},
		{"the state", aCourse(ended, aStep("x", finished), aStep("y", failed)), aCourse(ended, aStep("x", finished), aStep("y", finished)), "y", false},
		{"a run that is not there yet", aCourse(ended, aStep("x", finished), aStep("y", failed)), aCourse(running, aStep("x", finished), aStep("y", going)), "", true},
		{"what has not been made yet", aCourse(ended, aStep("x", finished), aStep("y", failed)), aCourse(running, aStep("x", finished)), "", true},
		{"what an ended run never came to", aCourse(ended, aStep("x", finished), aStep("y", finished)), aCourse(snapshot.RunCancelled, aStep("x", finished), aStep("y", pending)), "y", false},
		{"what only one run has", aCourse(ended, aStep("x", finished)), aCourse(ended, aStep("x", finished), aStep("z", finished)), "z", false},
		{"a later difference of a run that goes on", aCourse(ended, aStep("x", finished), aStep("y", failed)), aCourse(running, aStep("x", going), aStep("y", finished)), "y", false},
		{"a call", aCourse(ended, aStep("x", finished, [2]string{"1", ok}, [2]string{"2", ok})), aCourse(ended, aStep("x", finished, [2]string{"1", ok}, [2]string{"2", bad})), "x 2", false},
		{"a call that only one run has", aCourse(ended, aStep("x", finished, [2]string{"2", ok})), aCourse(ended, aStep("x", finished, [2]string{"1", ok}, [2]string{"2", ok})), "x 1", false},
		{"a call says more than its step", aCourse(ended, aStep("x", failed, [2]string{"1", bad})), aCourse(ended, aStep("x", finished, [2]string{"1", ok})), "x 1", false},
		{"a step without calls that differ", aCourse(ended, aStep("x", failed, [2]string{"1", ok})), aCourse(ended, aStep("x", finished, [2]string{"1", ok}), aStep("y", finished)), "x", false},
		{"a prompt", aCourse(ended, saying(aStep("x", finished, [2]string{"1", bad}), "do")), aCourse(ended, saying(aStep("x", finished, [2]string{"1", ok}), "do not")), "x", false},
		{"a call that has not ended", aCourse(ended, aStep("x", finished, [2]string{"1", ok})), aCourse(running, aStep("x", going, [2]string{"1", open})), "", true},
		{"calls to come", aCourse(ended, aStep("x", finished, [2]string{"1", ok}, [2]string{"2", ok})), aCourse(running, aStep("x", going, [2]string{"1", ok})), "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			first, err := firstDifference(t.Context(), nil, c.a, c.b)
			require.NoError(t, err)
			assert.Equal(t, c.open, first.Open)
			got := ""
			if row := first.Row; row != nil {
				switch {
				case row.A != nil:
					got = row.A.NodeID
				default:
					got = row.B.NodeID
				}
				switch {
				case row.CallA != nil:
					got += " " + string(row.CallA.Input)
				case row.CallB != nil:
					got += " " + string(row.CallB.Input)
				}
			}
			assert.Equal(t, c.want, got)
			turned, err := firstDifference(t.Context(), nil, c.b, c.a)
			require.NoError(t, err)
			assert.Equal(t, first.Row == nil, turned.Row == nil, "whichever run is the base")
		})
	}
}

// Every step and every call of both runs is in one row, and a run does not differ from itself.
func TestEveryStepAndCallIsAligned(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	random := func() *course {
		var steps []*Step
		for _, n := range r.Perm(6)[:r.IntN(7)] {
			var calls [][2]string
			for range r.IntN(5) {
				calls = append(calls, [2]string{strconv.Itoa(r.IntN(3)), []string{snapshot.ToolCallSucceeded, snapshot.ToolCallFailed}[r.IntN(2)]})
			}
			steps = append(steps, aStep(fmt.Sprint("s", n), []snapshot.NodeState{snapshot.NodeFinished, snapshot.NodeFailed}[r.IntN(2)], calls...))
		}
		return aCourse(snapshot.RunFinished, steps...)
	}
	for range 300 {
		a, b := random(), random()
		seen := make(map[any]int)
		for row, err := range (&comparer{a: a, b: b}).rows(t.Context()) {
			require.NoError(t, err)
			if row.CallA == nil && row.CallB == nil {
				seen[row.A]++
				seen[row.B]++
				continue
			}
			seen[row.CallA]++
			seen[row.CallB]++
			if row.InBoth() {
				assert.Equal(t, row.CallA.Input, row.CallB.Input)
			}
		}
		for _, step := range append(a.steps, b.steps...) {
			assert.Equal(t, 1, seen[step])
			for _, call := range step.Calls {
				assert.Equal(t, 1, seen[call])
			}
		}
		same, err := firstDifference(t.Context(), nil, a, a)
		require.NoError(t, err)
		assert.Equal(t, First{}, same)
	}
}
