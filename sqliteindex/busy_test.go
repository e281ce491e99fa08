package sqliteindex_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/sqliteindex"
)

func TestAWriteWaitsForAnotherProcessAndIsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tip := w.start(t, "a", 2)
	synced(t, w.index(t))
	blocker, err := sql.Open("sqlite", w.indexPath()+"?_txlock=immediate")
	require.NoError(t, err)
	defer func() { assert.NoError(t, blocker.Close()) }()
	tx, err := blocker.BeginTx(t.Context(), nil)
	require.NoError(t, err)

	var slept []time.Duration
	opts := w.options()
	opts.BusyTimeout = time.Millisecond
	opts.Random = func() float64 { return 0.5 }
	opts.Sleep = func(_ context.Context, d time.Duration) error {
		if slept = append(slept, d); len(slept) == 3 {
			return tx.Rollback()
		}
		return nil
	}
	x, err := sqliteindex.Open(t.Context(), opts)
	require.NoError(t, err)
	defer func() { assert.NoError(t, x.Close()) }()
	w.setTip(t, "a", w.write(t, tip, frameDraft()).ID)

	assert.Equal(t, w.truth(t), synced(t, x))
	assert.Equal(t, []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond}, slept)
	assert.Equal(t, int64(3), x.Retries())
	assert.NoError(t, x.Degraded())
}

func TestAWriteGivesUpAndTheNextSyncMakesUpForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(t, "a", 2)
	opts := w.options()
	opts.BusyTimeout = time.Millisecond
	opts.Sleep = func(context.Context, time.Duration) error { return nil }
	x, err := sqliteindex.Open(t.Context(), opts)
	require.NoError(t, err)
	defer func() { assert.NoError(t, x.Close()) }()
	blocker, err := sql.Open("sqlite", w.indexPath()+"?_txlock=immediate")
	require.NoError(t, err)
	defer func() { assert.NoError(t, blocker.Close()) }()
	tx, err := blocker.BeginTx(t.Context(), nil)
	require.NoError(t, err)

	require.ErrorIs(t, x.Sync(t.Context()), sqliteindex.ErrBusy)
	assert.Equal(t, int64(6), x.Retries())

	require.NoError(t, tx.Rollback())
	assert.Equal(t, w.truth(t), synced(t, x))
	assert.NoError(t, x.Degraded(), "a busy database is not a useless one")
}
