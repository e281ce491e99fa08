package smithers_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/internal/smithersnames"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAWatchWaitsForADatabaseThatIsBeingCopiedAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	content, err := os.ReadFile(at.source())
	require.NoError(t, err)
	at.Write("draft.md", "of now")
	require.NoError(t, os.WriteFile(at.database, nil, 0o600))
	watch := smithers.StartLooking(at.store, at.database)
	for _, size := range []int{0, 1, 16, 99, 100, 4096, 5000, len(content) / 2, len(content) - 1} {
		at.grow(content[:size])
		for range 20 {
			require.NoError(t, watch.Look(t.Context()), size)
			assert.False(t, watch.HasCaughtUp() && size > 0, size)
		}
	}
	require.Len(t, at.warnings, 1)
	assert.Contains(t, at.warnings[0], "smithers.db is incomplete")
	at.grow(content)
	require.NoError(t, watch.Look(t.Context()))
	assert.EqualValues(t, 31, at.frame())
	assert.True(t, watch.HasCaughtUp())
	head, err := at.store.Head(t.Context(), "run-a")
	require.NoError(t, err)
	vcs, err := head.Entry().VCSRevision()
	require.NoError(t, err)
	require.NotNil(t, vcs)
	assert.True(t, vcs.Tree.IsZero(), "the files of now are not those of a copy")

	for _, size := range []int{0, 5000, len(content) - 4096} {
		require.NoError(t, os.WriteFile(at.database, content[:size], 0o600))
		require.NoError(t, watch.Look(t.Context()), size)
	}
	at.grow(content)
	require.NoError(t, sourcetest.Exec(t.Context(), at.database, "UPDATE _smithers_runs SET status = 'failed' WHERE run_id = 'run-a'"))
	require.NoError(t, watch.Import(t.Context()))
	assert.EqualValues(t, "failed", at.status(), "it goes on with one that is copied over it")
	assert.Len(t, at.warnings, 1)

	require.NoError(t, os.WriteFile(at.database, content[:5000], 0o600))
	require.NoError(t, watch.Look(t.Context()))
	require.NoError(t, os.Remove(at.database))
	require.NoError(t, watch.Look(t.Context()))
	assert.True(t, watch.HasCaughtUp(), "nothing is there")
}

// grow gives the database more of its content, as copying does.
func (at *site) grow(content []byte) {
	at.t.Helper()
	info, err := os.Stat(at.database)
	require.NoError(at.t, err)
	file, err := os.OpenFile(at.database, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(at.t, err)
	_, err = file.Write(content[info.Size():])
	require.NoError(at.t, err)
	require.NoError(at.t, file.Close())
}

func TestAWatchDoesNotWaitForWhatCannotBecomeADatabaseOfSmithers(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(*site) error{
		"a short text": func(at *site) error { return os.WriteFile(at.database, []byte("SQLi, more or less"), 0o600) },
		"damage": func(at *site) error {
			content, err := os.ReadFile(fixturePath(oneRun))
			clear(content[4096:])
			require.NoError(t, err)
			return os.WriteFile(at.database, content, 0o600)
		},
		"an index": func(at *site) error {
			return sourcetest.Exec(t.Context(), at.database, fmt.Sprintf("CREATE TABLE _smithers_runs (run_id, created_at_ms); PRAGMA application_id = %d",
				smithersnames.IndexID))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			require.NoError(t, put(at))
			err := smithers.Watch(t.Context(), at.store, at.database, smithers.WatchRequest{})
			assert.Equal(t, fault.InvalidDatabase, fault.CodeOf(err), "%v", err)
		})
	}
}
