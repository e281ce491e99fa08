package fsx_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

func TestReadSmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"empty": "", "short": "abc", "exact": "abcd", "longer": "abcdefgh"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
		buf := make([]byte, 4)
		n, err := fsx.ReadSmall(path, buf)
		require.NoError(t, err)
		assert.Equal(t, content[:min(4, len(content))], string(buf[:n]), name)
	}
	_, err := fsx.ReadSmall(filepath.Join(dir, "missing"), nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = fsx.ReadSmall(dir, make([]byte, 4))
	assert.Error(t, err, "a directory has no content")
}

func TestSyncDir(t *testing.T) {
	t.Parallel()
	require.NoError(t, fsx.SyncDir(t.TempDir()))
	assert.ErrorIs(t, fsx.SyncDir(filepath.Join(t.TempDir(), "missing")), os.ErrNotExist)
}

func TestOnlyKnownFileSystemsOfOneMachineAreLocal(t *testing.T) {
	t.Parallel()
	assert.False(t, fsx.IsLocal(filepath.Join(t.TempDir(), "missing")))
	if runtime.GOOS == "linux" {
		assert.False(t, fsx.IsLocal("/proc"), "an unknown file system is none")
		assert.True(t, fsx.IsLocal(t.TempDir()), "the tests need a local one")
	}
}
