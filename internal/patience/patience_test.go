package patience_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/patience"
)

var (
	errBusy  = errors.New("busy")
	errOther = errors.New("no")
)

// temporary reports whether the error is errBusy, also if it is wrapped.
func temporary(err error) bool { return errors.Is(err, errBusy) }

func TestRetrier(t *testing.T) {
	t.Parallel()
	ms := func(all ...int) (d []time.Duration) {
		for _, n := range all {
			d = append(d, time.Duration(n)*time.Millisecond)
		}
		return d
	}
	const late = 1_000
	for _, tc := range []struct {
		name     string
		err      error
		failures int
		random   float64
		slept    []time.Duration
		fails    bool
	}{
		{"success at once waits for nothing", errBusy, 0, 0.5, nil, false},
		{"busy twice", errBusy, 2, 0.5, ms(50, 100), false},
		{"busy for ever is retried six times", errBusy, late, 0.5, ms(50, 100, 200, 400, 800, 1600), true},
		{"a delay is a quarter shorter at the least", errBusy, 2, 0, ms(37, 75), false},
		{"no delay is above two seconds", errBusy, late, 0.9999999999, ms(62, 125, 250, 500, 1000, 2000), true},
		{"a wrapped error", fmt.Errorf("commit: %w", errBusy), 1, 0.5, ms(50), false},
		{"an error that stays is not retried", errOther, late, 0.5, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var slept []time.Duration
			r := patience.Retrier{
				Temporary: temporary,
				Sleep: func(_ context.Context, d time.Duration) error {
					slept = append(slept, d.Truncate(time.Millisecond))
					return nil
				},
				Random: func() float64 { return tc.random },
			}
			failures := tc.failures
			err := r.Do(t.Context(), func() error {
				if failures > 0 {
					failures--
					return tc.err
				}
				return nil
			})
			if tc.fails {
				require.ErrorIs(t, err, tc.err)
			} else {
				require.NoError(t, err)
			}
			assert.InDeltaSlice(t, tc.slept, slept, float64(time.Millisecond))
			assert.Equal(t, int64(len(tc.slept)), r.Count())
		})
	}
}

func TestRetrierStopsWhenItsWaitIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := patience.Retrier{Temporary: temporary, Sleep: patience.Sleep, Random: func() float64 { return 0.5 }}
	calls := 0
	err := r.Do(ctx, func() error {
		calls++
		return errBusy
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errBusy)
	assert.Equal(t, 1, calls)
}
