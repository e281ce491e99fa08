//go:build unix

package fsx_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

func TestOnlyARegularFileIsOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("file"), []byte("text"), 0o600))
	require.NoError(t, os.Symlink("file", at("link")))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))

	file, err := fsx.OpenRegular(at("file"))
	require.NoError(t, err)
	text, err := io.ReadAll(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	assert.Equal(t, "text", string(text))
	for _, other := range []string{"link", "pipe", ".", "none"} {
		_, err := fsx.OpenRegular(at(other)) // it does not wait for a writer of the pipe
		require.Error(t, err, other)
	}
}
