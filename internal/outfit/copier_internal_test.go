package outfit

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// A process that is killed while it copies a secret leaves a part of it behind. The next capture must not take this part.
func TestAHalfCopiedFileIsIgnoredAndRemovedByTheNextCopier(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	whole := filepath.Join(t.TempDir(), ".env")
	require.NoError(t, os.WriteFile(whole, []byte("A=secret"), 0o600))
	info, err := os.Stat(whole)
	require.NoError(t, err)
	killed, err := newCopier(filepath.Dir(whole), repo.Dir)
	require.NoError(t, err)
	in, out, err := os.Pipe()
	require.NoError(t, err)
	ended := make(chan error)
	go func() { ended <- killed.write(in, ".env", info) }()
	_, err = out.WriteString("A=s")
	require.NoError(t, err)
	half := filepath.Join(repo.Dir, killed.scratch, "file")
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(half)
		return string(text) == "A=s"
	}, 10*time.Second, time.Millisecond)

	assert.Empty(t, repo.Git("status", "--porcelain", "--untracked-files=all"))

	next, err := newCopier(filepath.Dir(whole), repo.Dir)
	require.NoError(t, err)
	assert.NoFileExists(t, half)
	_, err = next.copy(".env")
	require.NoError(t, err)
	next.close()
	assert.NoDirExists(t, filepath.Join(repo.Dir, next.scratch))
	text, err := os.ReadFile(filepath.Join(repo.Dir, ".env"))
	require.NoError(t, err)
	assert.Equal(t, "A=secret", string(text))

	require.NoError(t, out.Close())
	require.Error(t, <-ended, "its file is gone")
	killed.close()
}
