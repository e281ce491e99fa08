package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// twoSteps counts how often each of its tasks ran, and blocks in the second until
// the file go is there.
const twoSteps = `
name: w
outputs: {t: {}}
tasks:
  - {id: a, run: 'echo ran >> a; echo 1', output: t}
  - {id: b, needs: [a], run: 'echo ran >> b; test -e go || { touch waiting; read x < fifo; }'}
  - {id: c, needs: [b], run: 'echo ran >> c'}
`

func TestACancelledRunGoesOnFromItsLastFrame(t *testing.T) {
	t.Parallel()
	s := newScratch(t, twoSteps, "")
	s.fifo("fifo")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.opts.Progress = func(p engine.Progress) {
		if p.Subject == "b started" {
			cancel()
		}
	}
	result, err := s.runWithin(ctx)
	assert.Equal(t, "run r is cancelled at frame 4", fails(t, fault.RunCancelled, err))
	assert.Equal(t, snapshot.RunCancelled, result.Run.Status)
	assert.Equal(t, []string{"a started", "a finished", "b started", "b cancelled; run cancelled"}, s.subjects())
	assert.Equal(t, map[string]snapshot.NodeState{
		"a::0": snapshot.NodeFinished, "b::0": snapshot.NodePending, "c::0": snapshot.NodePending,
	}, s.states())
	assert.Equal(t, snapshot.AttemptCancelled, s.attempts()["b::0::1"].State)

	s.file("go", "")
	s.opts.Progress = nil
	result, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	assert.Equal(t, "ran\n", s.read("a"), "no finished task runs twice")
	assert.Equal(t, "ran\n", s.read("c"))
	assert.Equal(t, 2, *s.node("b::0").LastAttempt)
	assert.Zero(t, result.Run.Epoch, "a claim raises it, and nobody claimed the run")

	frames := len(s.entries)
	result, err = s.run()
	require.NoError(t, err)
	assert.True(t, result.Nothing)
	assert.Len(t, s.entries, frames, "a finished run has nothing to do")
}

func TestACancelThatFindsNothingRunningStartsNothing(t *testing.T) {
	t.Parallel()
	s := newScratch(t, twoSteps, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	assert.Empty(t, s.read("a"))
	assert.Equal(t, []string{"run cancelled"}, s.subjects())
}

func TestWhatADeadProcessLeftInProgressIsRunAgain(t *testing.T) {
	t.Parallel()
	s := newScratch(t, twoSteps, "")
	s.file("go", "")
	died := errors.New("the machine went down")
	s.refuse = func(d snapshot.Draft) error {
		if d.Subject == "b finished" {
			return died
		}
		return nil
	}
	_, err := s.run()
	require.ErrorIs(t, err, died)
	assert.Equal(t, snapshot.NodeInProgress, s.states()["b::0"])

	s.refuse = nil
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"b was interrupted", "b started"}, s.subjects()[3:5])
	attempts := s.attempts()
	assert.Equal(t, snapshot.AttemptFailed, attempts["b::0::1"].State)
	assert.Equal(t, "interrupted: the process that ran the command died", attempts["b::0::1"].Error)
	assert.Equal(t, snapshot.AttemptFinished, attempts["b::0::2"].State)
	assert.Equal(t, "ran\n", s.read("a"))
	assert.Equal(t, "ran\nran\n", s.read("b"), "nobody knows whether it had finished")
}

func TestAFailedRunTriesItsFailedTasksAnew(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'cat >> ctx; test -e go', retries: 1}]}`, "")
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	s.file("go", "")
	s.file("ctx", "")
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{
		"a started", "a failed (attempt 1 of 2): exit status 1", "a started (attempt 2 of 2)", "a failed (attempt 2 of 2): exit status 1",
		"run failed: a: exit status 1", "a started", "a finished", "run finished",
	}, s.subjects())
	assert.Contains(t, s.read("ctx"), `"attempt":3,"previousError":"exit_status: exit status 1"`)
	assert.Empty(t, s.tipRow().Error)
}

func TestAnotherDefinitionIsRefusedUnlessAccepted(t *testing.T) {
	t.Parallel()
	s := newScratch(t, twoSteps, "")
	s.file("go", "")
	s.wf = parse(t, twoSteps+"  - {id: d, needs: [c], run: 'touch d'}\n")
	_, err := s.run()
	fails(t, fault.WorkflowChanged, err)
	assert.Len(t, s.entries, 1)

	s.opts.AcceptWorkflowChange = true
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, snapshot.NodeFinished, s.states()["d::0"])
	kept, err := s.tip().Workflow()
	require.NoError(t, err)
	assert.Equal(t, s.wf.Snapshot(), kept)

	s.opts.AcceptWorkflowChange = false
	result, err := s.run()
	require.NoError(t, err)
	assert.True(t, result.Nothing, "the new definition is the run's now")
}

func TestAnotherProcessMayCancelARun(t *testing.T) {
	t.Parallel()
	s := newScratch(t, twoSteps, "")
	s.fifo("fifo")
	s.opts.Watch = time.Millisecond
	other := make(chan error, 1)
	s.opts.Progress = func(p engine.Progress) {
		if p.Subject == "b started" {
			rec := s.open(t)
			other <- engine.Cancel(t.Context(), rec, "", time.UnixMilli(1_800_000_000_000))
		}
	}
	_, err := s.run()
	fails(t, fault.RunCancelled, err)
	require.NoError(t, <-other)
	assert.Equal(t, []string{"a started", "a finished", "b started", "run cancelled", "b cancelled; run cancelled"}, s.subjects())

	require.NoError(t, engine.Cancel(t.Context(), s.open(t), "", time.UnixMilli(1_800_000_000_000)))
	assert.Len(t, s.entries, 6, "a cancelled run is left as it is")
}

func TestARunThatHasEndedCannotBeCancelled(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: 'true'}]}", "")
	_, err := s.run()
	require.NoError(t, err)
	err = engine.Cancel(t.Context(), s.open(t), "", time.UnixMilli(1))
	assert.Equal(t, "run r is finished; there is nothing to cancel", fails(t, fault.RunNotResumable, err))
}

func TestOthersMayAppendToARunThatIsUnderWay(t *testing.T) {
	t.Parallel()
	s := newScratch(t, twoSteps, "")
	s.file("go", "")
	s.opts.Progress = func(engine.Progress) {
		err := s.open(t).Append(t.Context(), snapshot.Draft{
			Events: []snapshot.Event{{Type: "Label", AtMs: 1}}, Subject: "label", AtMs: 1,
		})
		assert.NoError(t, err)
	}
	result, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, int64(7), result.Run.Frame)
	assert.Len(t, s.entries, 1+7+7)
}

func TestAProcessStopsWhenAnotherTakesItsRunOver(t *testing.T) {
	t.Parallel()
	s := newScratch(t, twoSteps, "")
	s.fifo("fifo")
	s.opts.Watch = time.Millisecond
	s.opts.Progress = func(p engine.Progress) {
		if p.Subject == "b started" {
			assert.NoError(t, s.open(t).Append(t.Context(), snapshot.Draft{
				Run: func(row *snapshot.Run) { row.Epoch++ }, Subject: "taken", AtMs: 1,
			}))
		}
	}
	_, err := s.run()
	fails(t, fault.Conflict, err)
	assert.Equal(t, []string{"a started", "a finished", "b started", "taken"}, s.subjects(), "nothing more is written")
}

func TestACancelThatComesBeforeTheFirstFrameCounts(t *testing.T) {
	t.Parallel()
	s := newScratch(t, twoSteps, "")
	s.fifo("fifo")
	rec := s.open(t)
	require.NoError(t, engine.Cancel(t.Context(), s.open(t), "", time.UnixMilli(1_800_000_000_000)))
	_, err := engine.RunParsed(t.Context(), rec, s.wf, s.opts)
	fails(t, fault.RunCancelled, err)
	assert.NotContains(t, s.subjects(), "b started")
}
