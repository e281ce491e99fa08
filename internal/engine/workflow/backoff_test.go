package workflow_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
)

func TestPausesDoubleUpToFiveMinutesAndSpread(t *testing.T) {
	t.Parallel()
	wf, err := workflow.Parse("wf.yaml", []byte(`{name: w, tasks: [{id: a, run: x, retries: {max: 9, backoff: 2s}}, {id: b, run: x, retries: {max: 1, backoff: 2s, jitter: 0}},
		{id: c, run: x, retries: {max: 2}}]}`))
	require.NoError(t, err)
	a, b, c := wf.Task("a"), wf.Task("b").Backoff, wf.Task("c")
	assert.Equal(t, 9, a.Retries)
	assert.Equal(t, workflow.Backoff{First: 2 * time.Second, Jitter: 0.25}, a.Backoff)
	assert.Equal(t, 2, c.Retries)
	for tries, want := range map[int]time.Duration{0: 0, 1: 2 * time.Second, 2: 4 * time.Second, 3: 8 * time.Second, 8: 256 * time.Second, 9: 5 * time.Minute, 99: 5 * time.Minute} {
		assert.Equal(t, want, b.Pause(tries, "x"), tries)
	}
	assert.Zero(t, c.Backoff.Pause(3, "x"))

	var sum time.Duration
	seen := make(map[time.Duration]bool)
	for i := range 1000 {
		pause := a.Backoff.Pause(2, strconv.Itoa(i))
		assert.GreaterOrEqual(t, pause, 3*time.Second)
		assert.LessOrEqual(t, pause, 5*time.Second)
		sum += pause
		seen[pause] = true
	}
	assert.Len(t, seen, 1000)
	assert.InDelta(t, 4*time.Second, sum/1000, float64(100*time.Millisecond))
	other := workflow.Backoff{First: 2 * time.Second, Jitter: 0.25}
	assert.Equal(t, other.Pause(2, "7"), a.Backoff.Pause(2, "7"), "whoever waits, waits for the same moment")
}
