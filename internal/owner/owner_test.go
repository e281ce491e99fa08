package owner_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/owner"
	"github.com/git-smithers/git-smithers/internal/procgroup"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Two machines can share a file system that shows neither the locks of the other.
func TestAClaimOfAnotherMachineIsAliveByItsHeartbeat(t *testing.T) {
	t.Parallel()
	if procgroup.Boot() == "" {
		t.Skip("this system does not tell one machine from another")
	}
	now, stale := time.Now(), 30*time.Second
	runs := owner.In(t.TempDir())
	folder, err := runs.Folder("r")
	require.NoError(t, err)
	file, err := folder.Claim(1, now, false)
	require.NoError(t, err)
	row := snapshot.Run{ID: "r", Owner: file.Token(), Epoch: 1}
	assert.False(t, runs.Of(row, now, stale).Vague)

	path := filepath.Join(folder.Path(), file.Token())
	claim, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(claim, []byte(procgroup.Boot()), []byte("elsewhere")), 0o666))
	require.NoError(t, file.Touch(now))
	require.NoError(t, file.Leave()) // its lock is not seen here

	alive := runs.Of(row, now.Add(time.Second), stale)
	assert.True(t, alive.Live)
	assert.ErrorContains(t, alive.Refusal(row), "is being executed by process")
	assert.True(t, folder.Live(now.Add(time.Second), stale))
	require.NoError(t, folder.Clear(""))
	assert.FileExists(t, path, "who clears away the files of dead processes leaves it")
	assert.False(t, runs.Of(row, now.Add(time.Minute), stale).Live)
	assert.False(t, folder.Live(now.Add(time.Minute), stale))
}
