package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// resting fails twice, and rests for a second and then for two.
const resting = `{name: w, tasks: [{id: a, run: 'test "$SMITHERS_ATTEMPT" = 3', retries: {max: 2, backoff: 1s, jitter: 0}}, {id: b, run: 'sleep 0.2'}]}`

// realTime makes the clock of the run the real one.
func (s *scratch) realTime() *scratch {
	s.opts.Now = time.Now
	return s
}

func TestATaskRestsBetweenItsTriesWhileOthersRun(t *testing.T) {
	t.Parallel()
	s := newScratch(t, resting, "").realTime()
	_, err := s.run()
	require.NoError(t, err)
	all := s.attempts()
	for number, pause := range map[string]int64{"a::0::2": 1000, "a::0::3": 2000} {
		before := map[string]string{"a::0::2": "a::0::1", "a::0::3": "a::0::2"}[number]
		assert.GreaterOrEqual(t, all[number].StartedAtMs, *all[before].FinishedAtMs+pause, number)
	}
	assert.Less(t, *all["b::0::1"].FinishedAtMs, all["a::0::2"].StartedAtMs)
	assert.Equal(t, "a finished", s.subjects()[len(s.subjects())-2])
	assert.Contains(t, s.subjects(), "a failed (attempt 2 of 3): exit status 1; again in 2s")
}

func TestAnotherProcessRestsUntilTheSameMoment(t *testing.T) {
	t.Parallel()
	s := newScratch(t, resting, "").realTime()
	s.dieAt("a started (attempt 2 of 3)")
	_, err := s.run()
	require.NoError(t, err)
	all := s.attempts()
	assert.GreaterOrEqual(t, all["a::0::2"].StartedAtMs, *all["a::0::1"].FinishedAtMs+1000)
	assert.Less(t, all["a::0::2"].StartedAtMs, *all["a::0::1"].FinishedAtMs+2000+1000, "the rest does not begin anew")
}

func TestARestEndsWhenTheRunIsCancelledOrFails(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'false', retries: {max: 1, backoff: 5m}}]}`, "").realTime()
	ctx, cancel := context.WithCancel(t.Context())
	s.opts.Progress = func(p engine.Progress) {
		if p.Running == 0 && p.Frame > 1 {
			cancel()
		}
	}
	_, err := s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)

	s = newScratch(t, `{name: w, tasks: [{id: a, run: 'false', retries: {max: 1, backoff: 5m}}, {id: b, run: 'sleep 0.3; false'}]}`, "").realTime()
	_, err = s.run() // does not wait for a
	fails(t, fault.RunFailed, err)
	assert.Equal(t, "run failed: b: exit status 1", s.subjects()[len(s.subjects())-1])
}
