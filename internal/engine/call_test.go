package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const caller = `name: main
outputs: {t: {type: object}}
tasks:
  - {id: inner, workflow: inner.yaml, output: t, with: {n: input.n + 1}, timeout: 10s}
  - {id: after, needs: [inner], run: 'true'}
--- # workflow: inner.yaml
name: inner
outputs: {t: {}}
tasks:
  - {id: work, output: t, run: 'true'}
`

// calling runs the caller with a function in place of called runs.
func calling(t *testing.T, call func(context.Context, engine.Call) (engine.Called, error)) (*scratch, error) {
	t.Helper()
	s := newScratch(t, caller, `{"n": 1}`)
	s.opts.Call = call
	_, err := s.run()
	return s, err
}

func TestATaskIsWhatBecomesOfTheRunThatItCalls(t *testing.T) {
	t.Parallel()
	finished, failed, cancelled := snapshot.RunFinished, snapshot.RunFailed, snapshot.RunCancelled
	for name, tc := range map[string]struct {
		called engine.Called
		err    error
		want   string // of the run's error; "" if it finishes
	}{
		"it finishes":                {engine.Called{Status: finished, Output: json.RawMessage(`{"a":1}`)}, nil, ""},
		"its output does not fit":    {engine.Called{Status: finished, Output: json.RawMessage(`7`)}, nil, "inner: t: type: "},
		"it has no output":           {engine.Called{Status: finished}, nil, "inner: t: type: "},
		"it fails":                   {engine.Called{Status: failed, Trouble: errors.New("work: exit status 1")}, nil, "inner: run r.inner.1: work: exit status 1"},
		"a person cancels it":        {engine.Called{Status: cancelled}, nil, "inner: run r.inner.1 was cancelled"},
		"its input does not fit":     {engine.Called{}, fault.New(fault.InvalidInput, "input.n is no text"), "inner: run r.inner.1: input.n is no text"},
		"it cannot be made":          {engine.Called{}, fault.New(fault.WriteFailed, "/home/me: no space left"), "inner: run r.inner.1: write_failed"},
		"nobody can execute it here": {engine.Called{}, nil, "inner: workflows cannot be called here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var given engine.Call
			call := func(_ context.Context, c engine.Call) (engine.Called, error) {
				given = c
				return tc.called, tc.err
			}
			if name == "nobody can execute it here" {
				call = nil
			}
			s, err := calling(t, call)
			if tc.want == "" {
				require.NoError(t, err)
				assert.JSONEq(t, `{"a":1}`, s.outputs("t")["inner::0"])
			} else {
				assert.Contains(t, fails(t, fault.RunFailed, err), tc.want)
			}
			assert.Equal(t, "r.inner.1", s.attempts()["inner::0::1"].Child)
			if call != nil {
				assert.Equal(t, snapshot.Caller{RunID: "r", NodeID: "inner", Attempt: 1}, given.Caller)
				assert.JSONEq(t, `{"n":2}`, string(given.Input))
				assert.Equal(t, "inner", given.Workflow.Name)
			}
		})
	}
}

func TestACallerWaitsWithTheRunThatItCalls(t *testing.T) {
	t.Parallel()
	answered := false
	var runs []string
	s, err := calling(t, func(_ context.Context, c engine.Call) (engine.Called, error) {
		if runs = append(runs, c.RunID); !answered {
			return engine.Called{Status: snapshot.RunWaitingHuman, Waits: "an answer (ask)", Hints: []string{"answer it"}}, nil
		}
		return engine.Called{Status: snapshot.RunFinished, Output: json.RawMessage(`{}`)}, nil
	})
	assert.Equal(t, "run r waits for run r.inner.1, which waits for an answer (ask)", fails(t, fault.RunWaiting, err))
	assert.Equal(t, snapshot.RunWaitingHuman, s.tipRow().Status)
	assert.Equal(t, snapshot.NodePending, s.states()["inner::0"])
	open, err := engine.OpenCalls(s.open(t))
	require.NoError(t, err)
	assert.Equal(t, []string{"r.inner.1"}, open)

	answered = true
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"r.inner.1", "r.inner.1"}, runs, "the second attempt goes on with the run of the first")
	open, err = engine.OpenCalls(s.open(t))
	require.NoError(t, err)
	assert.Empty(t, open)
}

func TestACallEndsAtItsTimeoutAndWithItsCaller(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "name: main\ntasks:\n  - {id: inner, workflow: i.yaml, timeout: 20ms}\n--- # workflow: i.yaml\nname: i\ntasks:\n  - {id: x, run: y}\n", "")
	s.opts.Call = func(ctx context.Context, _ engine.Call) (engine.Called, error) {
		<-ctx.Done()
		return engine.Called{Status: snapshot.RunCancelled}, nil
	}
	_, err := s.run()
	assert.Contains(t, fails(t, fault.RunFailed, err), "inner: no result within 20ms")

	s.wf = parse(t, "name: main\ntasks:\n  - {id: inner, workflow: i.yaml}\n--- # workflow: i.yaml\nname: i\ntasks:\n  - {id: x, run: y}\n")
	s.opts.AcceptWorkflowChange = true
	ctx, cancel := context.WithCancel(t.Context())
	s.opts.Call = func(ctx context.Context, _ engine.Call) (engine.Called, error) {
		cancel()
		<-ctx.Done()
		return engine.Called{Status: snapshot.RunCancelled}, nil
	}
	_, err = s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	assert.Equal(t, snapshot.AttemptCancelled, s.attempts()["inner::0::2"].State)
}

func TestTheResultOfAWorkflowIsTheLastOutputInTheFile(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "name: w\noutputs: {t: {}}\ntasks:\n  - {id: b, output: t, needs: [a], run: 'echo 2'}\n  - {id: a, output: t, run: 'echo 1'}\n  - {id: c, needs: [b], run: 'true'}\n", "")
	_, err := s.run()
	require.NoError(t, err)
	output, err := engine.Output(s.open(t), s.wf)
	require.NoError(t, err)
	assert.Equal(t, "1", string(output), "in the file, and not in time")
	none := parse(t, "name: w\ntasks:\n  - {id: c, run: 'true'}\n")
	output, err = engine.Output(s.open(t), none)
	require.NoError(t, err)
	assert.Nil(t, output)
}
