package fsx_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

func TestAFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(folder, "file")
	for _, text := range []string{"one", "another", ""} {
		require.NoError(t, fsx.Replace(path, []byte(text), 0o640))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, text, string(got))
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o640), info.Mode())
	}
	require.Error(t, fsx.Replace(folder, []byte("x"), 0o600), "a folder is not a file")
	require.Error(t, fsx.Replace(filepath.Join(path, "below"), []byte("x"), 0o600))
	left, err := os.ReadDir(filepath.Dir(folder))
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing unfinished is left")
}
