package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestTheLastFrameGivesTheRunBack(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]string{"finished": "true", "failed": "false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, `{name: w, tasks: [{id: a, run: '`+run+`'}]}`, "")
			s.own("0123456789abcdef")
			s.opts.Progress = func(p engine.Progress) {
				if p.Running == 1 {
					assert.Equal(t, "0123456789abcdef", s.tipRow().Owner)
				}
			}
			result, _ := s.run()
			assert.Equal(t, snapshot.RunStatus(name), result.Run.Status)
			assert.Empty(t, result.Run.Owner)
			assert.EqualValues(t, 1, result.Run.Epoch, "the epoch is the claim's")
		})
	}
}

func TestEveryFrameIsNamedByEpochAndNumber(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'true'}]}`, "")
	s.own("0123456789abcdef")
	_, err := s.run()
	require.NoError(t, err)
	var operations []string
	for _, e := range s.entries[2:] {
		operations = append(operations, e.Operation)
	}
	assert.Equal(t, []string{"1.1", "1.2", "1.3"}, operations)
}

// Each case makes the run another's while its second task is at work: the process ends
// that and writes nothing.
func TestAProcessThatLosesItsRunWritesNothingMore(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*scratch, chan struct{}){
		"the claim is lost": func(_ *scratch, lost chan struct{}) { close(lost) },
		"the epoch rises":   func(s *scratch, _ chan struct{}) { s.own("fedcba9876543210") },
		"the state is another": func(s *scratch, _ chan struct{}) {
			assert.NoError(s.t, s.open(s.t).Append(s.t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{
				{Op: snapshot.OpSet, Collection: "outputs/x", Key: "n::0", Value: json.RawMessage("1")},
			}}, Subject: "other", AtMs: 1}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, `{name: w, tasks: [{id: b, run: 'echo $$ > pid; echo > started; exec sleep 60'}]}`, "")
			s.fifo("started")
			s.own("0123456789abcdef")
			lost := make(chan struct{})
			s.opts.Lost, s.opts.Watch = lost, time.Millisecond
			left := make(chan int, 1)
			s.opts.Progress = func(engine.Progress) {
				go func() {
					_ = s.read("started") // it is at work
					lose(s, lost)
					left <- len(s.entries)
				}()
			}
			_, err := s.run()
			assert.Equal(t, "run r was taken over by another process; this process writes nothing more", fails(t, fault.Conflict, err))
			assert.Len(t, s.entries, <-left, "nothing more is written")
			s.gone("pid")
		})
	}
}

func TestAClaimThatWasLostBeforeAFrameIsSeenInTime(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'true'}]}`, "")
	lost := make(chan struct{})
	close(lost)
	s.opts.Lost = lost
	_, err := s.run()
	fails(t, fault.Conflict, err)
	assert.Len(t, s.entries, 1)
}

func TestMailForARunCommutesWithItsFrames(t *testing.T) {
	t.Parallel()
	s := newScratch(t, twoSteps, "")
	s.file("go", "")
	sent := 0
	s.opts.Progress = func(p engine.Progress) {
		if p.Finished == p.Nodes {
			return
		}
		sent++
		_, _, err := sendTo(t.Context(), s.open(t), snapshot.Signal{Name: "s", Payload: json.RawMessage("1"), ReceivedAtMs: int64(sent)})
		assert.NoError(t, err)
	}
	result, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	state, err := s.tip().State()
	require.NoError(t, err)
	assert.Equal(t, sent, state.Signals().Len())
}

func TestMailThatKeepsComingStopsNoRun(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'true'}]}`, "")
	sent := 0
	s.before = func(d snapshot.Draft) {
		if d.Frame == nil || sent == 100 {
			return
		}
		sent++
		_, _, err := sendTo(t.Context(), s.open(t), snapshot.Signal{Name: "s", Payload: json.RawMessage("1"), ReceivedAtMs: int64(sent)})
		assert.NoError(t, err)
	}
	result, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	assert.Equal(t, 100, sent)
}
