package flock_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/flock"
)

// What this program asks of a lock, on every system.
func TestALockedFileCanBeWrittenReadAndRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	first := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_EXCL|os.O_RDWR), flock.SetPermissions(0o666))
	got, err := first.TryLock()
	require.NoError(t, err)
	require.True(t, got)

	require.NoError(t, os.WriteFile(path, []byte("by another handle"), 0o666))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "by another handle", string(data))

	second := flock.New(path, flock.SetFlag(os.O_RDWR))
	for name, try := range map[string]func() (bool, error){"alone": second.TryLock, "shared": second.TryRLock} {
		got, err = try()
		require.NoError(t, err, name)
		assert.False(t, got, name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	got, err = second.TryLockContext(ctx, time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.False(t, got)

	require.NoError(t, second.Close())
	require.NoError(t, os.Remove(path))
	require.NoError(t, first.Close())
	_, err = os.Stat(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = flock.New(path, flock.SetFlag(os.O_RDWR)).TryLock()
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestReadersShareALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	one, two, alone := flock.New(path), flock.New(path), flock.New(path)
	for _, reader := range []*flock.Flock{one, two} {
		got, err := reader.TryRLock()
		require.NoError(t, err)
		require.True(t, got)
	}
	got, err := alone.TryLock()
	require.NoError(t, err)
	assert.False(t, got)
	require.NoError(t, one.Unlock())
	require.NoError(t, two.Unlock())
	got, err = alone.TryLock()
	require.NoError(t, err)
	assert.True(t, got)
	require.NoError(t, alone.Close())
}
