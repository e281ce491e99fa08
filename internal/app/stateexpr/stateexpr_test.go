package stateexpr_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/stateexpr"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The run has two tasks that write the table verdict. The task check ended last, at its iteration 0, before which draft had an iteration 1.
func values(t *testing.T) *stateexpr.Values {
	t.Helper()
	repo := repotest.New(t)
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	attempt := func(node string, iteration int, ended int64) snapshot.Change {
		return snapshot.SetRow(snapshot.CollectionAttempts, snapshot.EncodeAttempt(snapshot.Attempt{
			NodeID: node, Iteration: iteration, Attempt: 1, State: snapshot.AttemptFinished, StartedAtMs: 1, FinishedAtMs: &ended,
		}))
	}
	score := func(node, name, value string) snapshot.Change {
		return snapshot.SetScore(snapshot.Score{NodeID: node, Attempt: 1, Source: "live", ScorerID: name, Score: json.RawMessage(value), ScoredAtMs: 1})
	}
	again := snapshot.NewNode("draft", snapshot.NodeFailed)
	again.Iteration = 1
	head, err := s.Create(t.Context(), snapshot.Run{ID: "a", Status: snapshot.RunRunning}, snapshot.Draft{
		Frame: &snapshot.FrameDraft{State: []snapshot.Change{
			{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: json.RawMessage(`{"ticket":"T-1","big":9007199254740993}`)},
			snapshot.SetNode(snapshot.NewNode("draft", snapshot.NodeFinished)), snapshot.SetNode(again),
			snapshot.SetNode(snapshot.NewNode("check", snapshot.NodeFinished)),
			snapshot.SetOutput("verdict", "draft", 0, json.RawMessage(`{"n":1}`)),
			snapshot.SetOutput("verdict", "draft", 1, json.RawMessage(`{"n":2}`)),
			snapshot.SetOutput("verdict", "check", 0, json.RawMessage(`{"n":3,"approved":false}`)),
		}},
		Journal: []snapshot.Change{
			attempt("draft", 0, 10), attempt("draft", 1, 20), attempt("check", 0, 30), score("draft", "judge", "0.5"), score("check", "judge", "1"),
		},
	})
	require.NoError(t, err)
	v, err := stateexpr.Of(timeline.Address{Run: "a", Frame: 0}, head.Entry())
	require.NoError(t, err)
	return v
}

func TestAnExpressionReadsTheStateOfAFrame(t *testing.T) {
	t.Parallel()
	v := values(t)
	for text, want := range map[string]bool{
		`outputs.verdict.n == 3`:              true, // the row of the attempt that ended last
		`output("verdict", "draft").n == 2`:   true, // the newest iteration
		`output("verdict", "nobody").n == 2`:  false,
		`outputs.nothing.approved`:            false, // a member of null is null, and null is false
		`!outputs.verdict.approved`:           true,
		`state("draft") == "failed"`:          true,
		`state("nobody") == nil`:              true,
		`input.ticket startsWith "T-"`:        true,
		`input.big == 9007199254740993`:       true,
		`scores.judge == 0.75`:                true,
		`run == "a" && frame == 0`:            true,
		`status == "running"`:                 true,
		`scores.other == nil || scores.other`: true,
	} {
		e, err := stateexpr.CompileTest("when", text)
		require.NoError(t, err, text)
		holds, err := e.Holds(v)
		require.NoError(t, err, text)
		assert.Equal(t, want, holds, text)
	}
}

func TestAnExpressionIsANumber(t *testing.T) {
	t.Parallel()
	v := values(t)
	number := func(text string) (float64, bool, error) {
		e, err := stateexpr.Compile("by", text)
		require.NoError(t, err, text)
		return e.Number(v)
	}
	for text, want := range map[string]float64{`outputs.verdict.n`: 3, `-scores.judge * 2`: -1.5, `outputs.verdict.approved`: 0, `len(input.ticket)`: 3} {
		n, ok, err := number(text)
		require.NoError(t, err, text)
		assert.True(t, ok, text)
		assert.InDelta(t, want, n, 0, text)
	}
	_, ok, err := number(`outputs.nothing.n`)
	require.NoError(t, err)
	assert.False(t, ok, "null is no number")
	for _, text := range []string{`input.ticket`, `1 / 0`, `input.ticket * 2`} {
		_, _, err := number(text)
		assert.Equal(t, fault.InvalidExpression, fault.CodeOf(err), text)
	}
}

func TestAnExpressionThatCannotBeReadSaysWhereItStands(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`outputs.`, `unknown == 1`, `outputs[input.x]`, `now() == nil`, `"a text"`} {
		_, err := stateexpr.CompileTest("when", text)
		assert.Equal(t, fault.InvalidExpression, fault.CodeOf(err), text)
		require.ErrorContains(t, err, "--when", text)
	}
}
