package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestATimerFiresWhenItsTimeHasCome(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, outputs: {o: {}}, tasks: [{id: cool, output: o, timer: 10m}, {id: after, needs: [cool], run: 'touch after'}]}`, "")
	clock := s.withClock()
	s.waits(snapshot.RunWaitingTimer)
	assert.Equal(t, []string{"cool waits for its timer", "run waits for a timer (cool)"}, s.subjects())
	w := s.wait("cool::0")
	assert.Equal(t, w.StartedAtMs+600_000, *w.DueAtMs)
	clock.advance(9 * time.Minute)
	s.waits(snapshot.RunWaitingTimer)
	clock.advance(time.Minute)
	s.finishes()
	assert.Contains(t, s.subjects(), "cool is over")
	w = s.wait("cool::0")
	assert.Equal(t, snapshot.WaitFired, w.Status)
	at := time.UnixMilli(*w.EndedAtMs).UTC().Format("2006-01-02T15:04:05.000Z")
	assert.Equal(t, map[string]string{"cool::0": `{"firedAt":"` + at + `"}`}, s.outputs("o"))
	assert.Len(t, s.payloads("NodeWaitingTimer"), 1)
	assert.Len(t, s.payloads("TimerCreated"), 1)
	require.Len(t, s.payloads("TimerFired"), 1)
	assert.Contains(t, s.payloads("TimerFired")[0], `"timerId":"cool","firesAtMs":`)
}

func TestATimerMayNameItsTime(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: cool, timer: 2026-12-01T10:00:00+01:00}]}`, "")
	clock := s.withClock()
	s.waits(snapshot.RunWaitingTimer)
	due := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	assert.Equal(t, due.UnixMilli(), *s.wait("cool::0").DueAtMs)
	clock.advance(due.Sub(s.opts.Now()))
	s.finishes()
}

func TestATimerWhoseTimeIsPastFiresAtOnce(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: cool, timer: 2001-01-01T00:00:00Z}]}`, "")
	s.finishes()
	assert.Equal(t, []string{"cool waits for its timer", "cool is over", "run finished"}, s.subjects())
}

func TestAnEngineThatStaysWaitsForTimersItself(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: cool, timer: 10m}]}`, "")
	clock := s.withClock()
	result, err := s.beside("cool waits", func() { clock.advance(10 * time.Minute) })
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	due := *s.wait("cool::0").DueAtMs
	for _, e := range s.entries[2:] {
		assert.GreaterOrEqual(t, e.AtMs, due, e.Subject)
		events, err := e.Events()
		require.NoError(t, err)
		for _, event := range events {
			assert.GreaterOrEqual(t, event.AtMs, due, event.Type)
		}
	}
}

func TestWaitsOfTellsWhatARunWaitsForAndWhatIsThere(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: gate, approval: Ship it?}
  - {id: ask, human: {prompt: How?, timeout: 2h}}
  - {id: ping, wait_for: {signal: pinged, timeout: 3h}}
  - {id: cool, timer: 1h}
`, "")
	clock := s.withClock()
	s.waits(snapshot.RunWaitingApproval)
	started := s.wait("cool::0").StartedAtMs
	in := func(hours int64) *int64 { return new(started + hours*3_600_000) }
	want := []mailbox.Waiting{
		{NodeID: "ask", For: "human", What: "How?", DueAtMs: in(2), RequestID: new("human:r:ask:0")},
		{NodeID: "cool", For: "timer", What: time.UnixMilli(*in(1)).UTC().Format("2006-01-02T15:04:05.000Z"), DueAtMs: in(1)},
		{NodeID: "gate", For: "approval", What: "Ship it?"},
		{NodeID: "ping", For: "signal", What: "pinged", DueAtMs: in(3)},
	}
	waits := func() []mailbox.Waiting {
		got, err := mailbox.WaitsOf(s.open(t), s.opts.Now())
		require.NoError(t, err)
		return got
	}
	assert.Equal(t, want, waits())
	s.send("pinged", "", `1`)
	want[3].Ready = true
	assert.Equal(t, want, waits())
	clock.advance(time.Hour)
	want[1].Ready = true
	assert.Equal(t, want, waits())
	clock.advance(time.Hour)
	want[0].Ready = true
	assert.Equal(t, want, waits())
	s.decide("gate", false, "", "")
	want[2].Ready = true
	assert.Equal(t, want, waits())
}
