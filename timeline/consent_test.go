package timeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

func trusts(t *testing.T, s *timeline.Store, hash string) bool {
	t.Helper()
	trusted, err := s.Trusts(hash)
	require.NoError(t, err)
	return trusted
}

func TestAWorkflowIsTrustedInTheCloneThatSaidSo(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	hash := (&snapshot.Workflow{Definition: []byte("name: flow\n")}).Hash()
	other := (&snapshot.Workflow{Definition: []byte("name: flow \n")}).Hash()
	assert.False(t, trusts(t, s, hash))
	require.NoError(t, s.Trust(hash))
	require.NoError(t, s.Trust(hash), "again")
	assert.True(t, trusts(t, s, hash))
	assert.True(t, trusts(t, open(t, repo), hash), "by another process, too")
	assert.False(t, trusts(t, s, other))
	assert.False(t, trusts(t, open(t, repotest.New(t)), hash))
}

func TestWhatIsNoHashIsNeverTrusted(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	require.NoError(t, s.Trust(strings.Repeat("0", 64)))
	folder := filepath.Join(repo.Dir, ".git", "smithers", "trusted")
	for _, hash := range []string{"", ".", "..", "../trusted", strings.Repeat("A", 64), strings.Repeat("/", 64), strings.Repeat("0", 63)} {
		require.NoError(t, s.Trust(hash))
		assert.False(t, trusts(t, s, hash), hash)
	}
	made, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, made, 1)

	folderOfThatName := strings.Repeat("1", 64)
	require.NoError(t, os.Mkdir(filepath.Join(folder, folderOfThatName), 0o777))
	assert.False(t, trusts(t, s, folderOfThatName))
	link := strings.Repeat("2", 64)
	require.NoError(t, os.Symlink(strings.Repeat("0", 64), filepath.Join(folder, link)))
	assert.False(t, trusts(t, s, link))
}

func TestNotesThatCannotBeReadAreNoConsent(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	repo.Write(".git/smithers/trusted", "in the way")
	trusted, err := s.Trusts(strings.Repeat("0", 64))
	assert.False(t, trusted)
	require.Error(t, err)
}
