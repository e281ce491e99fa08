package smithers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
)

// lockedEnv has this binary keep the database that it names locked until its input ends.
const lockedEnv = "SMITHERS_TEST_LOCKED"

func TestMain(m *testing.M) {
	if path := os.Getenv(lockedEnv); path != "" {
		err := sourcetest.Locked(context.Background(), path, func() error {
			fmt.Println("locked")
			_, err := io.Copy(io.Discard, os.Stdin)
			return err
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// lock has another process lock the database.
func (at *site) lock() (unlock func()) {
	at.t.Helper()
	other := exec.CommandContext(at.t.Context(), os.Args[0])
	other.Env, other.Stderr = append(os.Environ(), lockedEnv+"="+at.database), os.Stderr
	in, err := other.StdinPipe()
	require.NoError(at.t, err)
	out, err := other.StdoutPipe()
	require.NoError(at.t, err)
	require.NoError(at.t, other.Start())
	require.True(at.t, bufio.NewScanner(out).Scan(), "it has the lock")
	return func() { require.NoError(at.t, errors.Join(in.Close(), other.Wait())) }
}

func TestAWatchWaitsForADatabaseThatIsLockedAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	engine := at.engine()
	require.NoError(t, engine.Frame(t.Context(), "run-a", 1))
	require.NoError(t, engine.Close())
	require.NoError(t, sourcetest.Exec(t.Context(), at.database, "PRAGMA journal_mode = DELETE"))
	unlock := at.lock()
	watch := smithers.StartLooking(at.store, at.database)
	for looks := 0; looks < 100 && len(at.warnings) == 0; looks++ {
		require.NoError(t, watch.Look(t.Context()))
	}
	for range 3 {
		require.NoError(t, watch.Look(t.Context()))
	}
	require.Len(t, at.warnings, 1)
	assert.Contains(t, at.warnings[0], "smithers.db is locked by another process")
	unlock()
	require.NoError(t, watch.Look(t.Context()))
	assert.EqualValues(t, 1, at.frame())

	require.NoError(t, sourcetest.Exec(t.Context(), at.database, "UPDATE _smithers_runs SET status = 'failed' WHERE run_id = 'run-a'"))
	unlock = at.lock()
	for range 3 {
		require.NoError(t, watch.Look(t.Context()))
	}
	unlock()
	for looks := 0; looks < 100 && at.status() != "failed"; looks++ {
		require.NoError(t, watch.Look(t.Context()))
	}
	assert.EqualValues(t, "failed", at.status(), "it goes on")
	assert.Len(t, at.warnings, 1)
}

// frame is the newest frame of run-a.
func (at *site) frame() int64 {
	at.t.Helper()
	head, err := at.store.Head(at.t.Context(), "run-a")
	require.NoError(at.t, err)
	return head.Row().Frame
}
