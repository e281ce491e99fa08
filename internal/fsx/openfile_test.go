package fsx_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
)

func TestAFileThatIsReadCanBeRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o666))
	file, err := fsx.OpenShared(path, os.O_RDONLY)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	data := make([]byte, 4)
	_, err = file.ReadAt(data, 0)
	require.NoError(t, err)
	assert.Equal(t, "text", string(data))
	require.NoError(t, file.Close())
}

func TestAnOpenFileMovesToItsName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "new"))
	require.NoError(t, err)
	_, err = file.WriteString("one")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "name"), []byte("before"), 0o666))
	file, err = fsx.RenameOpen(file, filepath.Join(dir, "name"))
	require.NoError(t, err)
	_, err = file.WriteString(" two")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	data, err := os.ReadFile(filepath.Join(dir, "name"))
	require.NoError(t, err)
	assert.Equal(t, "one two", string(data))
	assert.NoFileExists(t, filepath.Join(dir, "new"))
}

func TestAFolderIsRemovedWithTheLockThatProtectsIt(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(dir, 0o777))
	lock := flock.New(filepath.Join(dir, "lock"))
	_, err := lock.TryLock()
	require.NoError(t, err)
	failed := errors.New("failed")
	require.ErrorIs(t, fsx.RemoveHeld(lock, func() error { return errors.Join(os.RemoveAll(dir), failed) }), failed)
	assert.NoDirExists(t, dir)
	require.NoError(t, fsx.SyncDir(filepath.Dir(dir)))
	require.ErrorIs(t, fsx.SyncDir(dir), os.ErrNotExist)
}
