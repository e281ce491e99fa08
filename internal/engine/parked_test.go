package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// shipped is a task before an approval, and one after it.
const shipped = `
name: w
tasks:
  - {id: a, run: 'echo ran >> a'}
  - {id: gate, needs: [a], approval: "Ship it?"}
  - {id: b, needs: [gate], run: 'echo ran >> b'}
`

// own gives the run an owner, as a claim does.
func (s *scratch) own(token string) {
	s.t.Helper()
	require.NoError(s.t, s.open(s.t).Append(s.t.Context(), snapshot.Draft{
		Run: func(row *snapshot.Run) { row.Epoch, row.Owner = row.Epoch+1, token }, Subject: "claimed", AtMs: 1,
	}))
}

// approve says yes to the only approval that is open.
func (s *scratch) approve() {
	s.t.Helper()
	_, err := handIn(s.t.Context(), s.open(s.t), mailbox.Letter{}, s.opts.Now())
	require.NoError(s.t, err)
}

// deny says no to it.
func (s *scratch) deny() {
	s.t.Helper()
	_, err := handIn(s.t.Context(), s.open(s.t), mailbox.Letter{Verb: mailbox.Deny}, s.opts.Now())
	require.NoError(s.t, err)
}

func TestARunOfWhichOnlyWaitsAreLeftIsGivenBackAndSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipped, "")
	s.own("0123456789abcdef")
	result, err := s.run()
	assert.Equal(t, "run r waits for approval (gate)", fails(t, fault.RunWaiting, err))
	assert.Equal(t, []string{
		"`git smithers approve r gate` approves gate::0, `git smithers deny r gate` denies it",
		"then `git smithers resume r` continues the run",
	}, hints(err))
	assert.Equal(t, snapshot.RunWaitingApproval, result.Run.Status)
	assert.Empty(t, result.Run.Owner)
	assert.Nil(t, result.Run.FinishedAtMs)
	assert.Equal(t, "run waits for approval (gate)", s.tip().Subject)
	assert.Equal(t, map[string]snapshot.NodeState{
		"a::0": snapshot.NodeFinished, "gate::0": snapshot.NodeWaitingApproval, "b::0": snapshot.NodePending,
	}, s.states())
	waits, err := mailbox.WaitsOf(s.open(t), s.opts.Now())
	require.NoError(t, err)
	require.Len(t, waits, 1)
	assert.Equal(t, "Ship it?", waits[0].What)

	s.approve()
	result, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	assert.Equal(t, "ran\n", s.read("a"), "no finished task runs twice")
	assert.Equal(t, "ran\n", s.read("b"))
}

func hints(err error) []string {
	known, ok := err.(*fault.Error) //nolint:errorlint // the engine's errors are these
	if !ok {
		return nil
	}
	return known.Hints
}

func TestARunThatStillWaitsIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipped, "")
	_, err := s.run()
	fails(t, fault.RunWaiting, err)
	entries := len(s.entries)

	_, err = s.run()
	assert.Equal(t, "run r waits for approval (gate)", fails(t, fault.RunWaiting, err))
	assert.Len(t, s.entries, entries, "there is nothing to say")
}

func TestARunStaysWhileItWaitsWhereItIsToldTo(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipped, "")
	s.opts.Wait, s.opts.Watch = true, time.Millisecond
	s.opts.Progress = func(p engine.Progress) {
		if p.Waiting == 1 {
			s.approve()
		}
	}
	result, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	assert.NotContains(t, s.subjects(), "run waits for approval (gate)")
}

func TestAWaitThatEndsWhileTheRunIsGivenBackIsSeen(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipped, "")
	once := false
	s.refuse = func(d snapshot.Draft) error {
		if d.Subject != "run waits for approval (gate)" || once {
			return nil
		}
		once = true
		s.mu.Unlock() // somebody approves at the last moment
		defer s.mu.Lock()
		s.approve()
		return fault.New(fault.Conflict, "the tip has moved")
	}
	result, err := s.run()
	require.NoError(t, err)
	assert.True(t, once)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
}

func TestAWaitingNodeTakesNoSlotAndKeepsTheRunRunningBesideCommands(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: gate, approval: "Ship it?"}
  - {id: slow, run: 'read x < fifo'}
  - {id: last, needs: [gate], run: 'echo go > fifo'}
`, "")
	s.fifo("fifo")
	s.opts.MaxParallel, s.opts.Watch = 2, time.Millisecond
	s.opts.Progress = func(p engine.Progress) {
		if p.Frame == 1 {
			assert.Equal(t, 1, p.Waiting)
			assert.Equal(t, 1, p.Running)
			assert.Equal(t, snapshot.RunRunning, s.tipRow().Status)
			s.approve()
		}
	}
	_, err := s.run()
	require.NoError(t, err, "slow ends only when the gate has opened")
}

func TestARunThatFailsOrIsCancelledLeavesWhatWaits(t *testing.T) {
	t.Parallel()
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		s := newScratch(t, `{name: w, tasks: [{id: gate, approval: ok}, {id: a, run: 'test -e go'}]}`, "")
		_, err := s.run()
		fails(t, fault.RunFailed, err)
		assert.Equal(t, snapshot.NodeWaitingApproval, s.states()["gate::0"])
		s.approve()
		s.file("go", "")
		_, err = s.run()
		require.NoError(t, err)
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		s := newScratch(t, shipped, "")
		_, err := s.run()
		fails(t, fault.RunWaiting, err)
		require.NoError(t, engine.Cancel(t.Context(), s.open(t), "", s.opts.Now()))
		assert.Equal(t, snapshot.RunCancelled, s.tipRow().Status)
		assert.Equal(t, snapshot.NodeWaitingApproval, s.states()["gate::0"])
		_, err = s.run()
		fails(t, fault.RunWaiting, err)
		assert.Equal(t, snapshot.RunWaitingApproval, s.tipRow().Status)
	})
	t.Run("cancelled while it stays", func(t *testing.T) {
		t.Parallel()
		s := newScratch(t, shipped, "")
		s.opts.Wait, s.opts.Watch = true, time.Millisecond
		s.opts.Progress = func(p engine.Progress) {
			if p.Waiting == 1 {
				assert.NoError(t, engine.Cancel(t.Context(), s.open(t), "", s.opts.Now()))
			}
		}
		_, err := s.run()
		fails(t, fault.RunCancelled, err)
		assert.Equal(t, snapshot.NodeWaitingApproval, s.states()["gate::0"])
	})
}

func TestOneSignalThatComesInTimeIsEnoughOfSeveralWaits(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: t1, timer: 1000h}
  - {id: s1, wait_for: ping}
  - {id: after, needs: [s1], run: 'touch after'}
`, "")
	result, err := s.run()
	assert.Equal(t, "run r waits for a signal (s1), a timer (t1)", fails(t, fault.RunWaiting, err))
	assert.Equal(t, snapshot.RunWaitingEvent, result.Run.Status)
	_, _, err = sendTo(t.Context(), s.open(t), snapshot.Signal{Name: "ping", Payload: json.RawMessage("null"), ReceivedAtMs: 1})
	require.NoError(t, err)
	result, err = s.run()
	assert.Equal(t, "run r waits for a timer (t1)", fails(t, fault.RunWaiting, err))
	assert.Equal(t, snapshot.RunWaitingTimer, result.Run.Status)
	assert.Equal(t, snapshot.NodeFinished, s.states()["after::0"])
}

func TestWhatARunWaitsForIsSaidWithWhatToDo(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: ask, human: "How many?"}
  - {id: built, wait_for: {signal: build, correlation: "for {run}"}}
  - {id: pause, timer: 2033-01-02T03:04:05Z}
`, "")
	_, err := s.run()
	assert.Equal(t, "run r waits for an answer (ask), a signal (built), a timer (pause)", fails(t, fault.RunWaiting, err))
	assert.Equal(t, []string{
		"`git smithers answer r ask` answers the question of ask::0",
		"`git smithers signal r build --correlation 'for r'` sends the signal that built::0 waits for",
		"the timer of pause::0 fires at 2033-01-02T03:04:05.000Z",
		"then `git smithers resume r` continues the run",
	}, hints(err))
}

func TestATaskThatWaitsNoMoreInANewDefinitionIsPending(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipped, "")
	_, err := s.run()
	fails(t, fault.RunWaiting, err)
	s.wf = parse(t, `
name: w
tasks:
  - {id: a, run: 'echo ran >> a'}
  - {id: gate, needs: [a], run: 'touch gate'}
  - {id: b, needs: [gate], run: 'echo ran >> b'}
`)
	s.opts.AcceptWorkflowChange = true
	_, err = s.run()
	require.NoError(t, err)
	attempts := s.attempts()
	assert.Equal(t, "cancelled: the workflow changed", attempts["gate::0::1"].Error)
	assert.Equal(t, snapshot.AttemptFinished, attempts["gate::0::2"].State)
	state, err := s.tip().State()
	require.NoError(t, err)
	assert.Zero(t, state.Approvals().Len())
}

func TestTriesOfAWaitAreCountedOverProcesses(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: gate, approval: ok, retries: 1}]}`, "")
	_, err := s.run()
	fails(t, fault.RunWaiting, err)
	s.deny()
	_, err = s.run()
	fails(t, fault.RunWaiting, err)
	s.deny()
	_, err = s.run()
	fails(t, fault.RunFailed, err)
	assert.Len(t, s.attempts(), 2)
}

func TestAStoppedProcessLeavesARunThatOnlyWaits(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipped, "")
	s.opts.Wait = true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.opts.Progress = func(p engine.Progress) {
		if p.Waiting == 1 {
			cancel()
		}
	}
	_, err := s.runWithin(ctx)
	fails(t, fault.RunWaiting, err)
	row := s.open(t).Row()
	assert.Equal(t, snapshot.RunWaitingApproval, row.Status)
	assert.Empty(t, row.Owner)
}
