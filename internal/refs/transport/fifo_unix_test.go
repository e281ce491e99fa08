//go:build unix

package transport_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// fifo is a file whose readers wait until the test ends.
func fifo(t *testing.T, repo *repotest.Repo) string {
	t.Helper()
	path := filepath.Join(repo.Home, "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o666))
	held, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, held.Close()) })
	return path
}
