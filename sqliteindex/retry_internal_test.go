package sqliteindex

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteError is an error as SQLite's driver returns it.
type sqliteError int

func (e sqliteError) Error() string { return fmt.Sprintf("sqlite says %d", int(e)) }
func (e sqliteError) Code() int     { return int(e) }

func TestRetrier(t *testing.T) {
	t.Parallel()
	ms := func(all ...int) (d []time.Duration) {
		for _, n := range all {
			d = append(d, time.Duration(n)*time.Millisecond)
		}
		return d
	}
	const busy, late = sqliteError(sqlite3.SQLITE_BUSY), 1_000
	for _, tc := range []struct {
		name     string
		err      error
		failures int
		random   float64
		slept    []time.Duration
		fails    bool
	}{
		{"success at once waits for nothing", busy, 0, 0.5, nil, false},
		{"busy twice", busy, 2, 0.5, ms(50, 100), false},
		{"busy for ever is retried six times", busy, late, 0.5, ms(50, 100, 200, 400, 800, 1600), true},
		{"a delay is a quarter shorter at the least", busy, 2, 0, ms(37, 75), false},
		{"no delay is above two seconds", busy, late, 0.9999999999, ms(62, 125, 250, 500, 1000, 2000), true},
		{"locked", sqliteError(sqlite3.SQLITE_LOCKED), 1, 0.5, ms(50), false},
		{"an I/O error, with an extended code", sqliteError(sqlite3.SQLITE_IOERR | 3<<8), 1, 0.5, ms(50), false},
		{"a wrapped error", fmt.Errorf("commit: %w", busy), 1, 0.5, ms(50), false},
		{"a full disk is not waited for", sqliteError(sqlite3.SQLITE_FULL), late, 0.5, nil, true},
		{"an error that is not SQLite's is not retried", errors.New("no"), late, 0.5, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var slept []time.Duration
			r := retrier{
				sleep: func(_ context.Context, d time.Duration) error {
					slept = append(slept, d.Truncate(time.Millisecond))
					return nil
				},
				random: func() float64 { return tc.random },
			}
			failures := tc.failures
			err := r.do(t.Context(), func() error {
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
			assert.Equal(t, int64(len(tc.slept)), r.count.Load())
		})
	}
}

func TestRetrierStopsWhenItsWaitIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := retrier{sleep: sleepOnTimer, random: func() float64 { return 0.5 }}
	calls := 0
	err := r.do(ctx, func() error {
		calls++
		return sqliteError(sqlite3.SQLITE_BUSY)
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, sqliteError(sqlite3.SQLITE_BUSY))
	assert.Equal(t, 1, calls)
}

func TestRemedies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		want remedy
	}{
		{"a file that is no database is made anew", &databaseError{sqliteError(sqlite3.SQLITE_NOTADB)}, makeAnew},
		{"a malformed page too", &databaseError{sqliteError(sqlite3.SQLITE_CORRUPT | 1<<8)}, makeAnew},
		{"another version too", &databaseError{damaged("version")}, makeAnew},
		{"somebody else's file too", &databaseError{sqliteError(sqlite3.SQLITE_READONLY)}, makeAnew},
		{"a full disk is no reason to drop the file", &databaseError{sqliteError(sqlite3.SQLITE_FULL)}, useMemory},
		{"nor is a failing one", &databaseError{sqliteError(sqlite3.SQLITE_IOERR)}, useMemory},
		{"a busy database is left alone", &databaseError{sqliteError(sqlite3.SQLITE_BUSY)}, noRemedy},
		{"a cancelled query says nothing", &databaseError{context.Canceled}, noRemedy},
		{"an error of the refs or objects says nothing", sqliteError(sqlite3.SQLITE_CORRUPT), noRemedy},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, remedyFor(tc.err))
		})
	}
}
