package smithers_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// otherFork is another fork of run-a.
const otherFork = "ba38fd8d-1122-41cc-9724-7a45a4438581"

// While a database is imported that nobody has open, an engine writes it: nothing is imported of two states.
func TestADatabaseThatAnEngineBeginsToWriteIsImportedAsItIsThen(t *testing.T) {
	t.Parallel()
	for _, during := range []string{"run-a", replayRun} {
		h := newHome(t)
		path := copyOf(t, gitFixture, "PRAGMA journal_mode = WAL")
		var once sync.Once
		frames := make(map[string]int64)
		imported, err := smithers.Import(t.Context(), h.Store, path, smithers.ImportRequest{Progress: func(run string, _, total int) {
			frames[run] = max(frames[run], int64(total))
			if run == during {
				once.Do(func() {
					assert.NoError(t, sourcetest.Exec(t.Context(), path, `
						UPDATE _smithers_runs SET workflow_name = 'other';
						UPDATE _smithers_attempts SET response_text = 'other';
						PRAGMA wal_checkpoint(TRUNCATE)`))
				})
			}
		}})
		require.NoError(t, err)
		require.Len(t, imported.Runs, 5)
		for _, run := range imported.Runs {
			assert.NoError(t, run.Err)
			assert.Equal(t, smithers.OutcomeCreated, run.Outcome, "also where it was continued then")
			assert.Equal(t, h.repo.Git("rev-parse", "refs/smithers/_tip/"+run.RunID), run.Tip)
			assert.Equal(t, max(frames[run.RunID], 1), run.Frames)
			row, err := h.entry(run.RunID).RunRow()
			require.NoError(t, err)
			assert.Equal(t, "other", row.Workflow)
		}
		for id, run := range h.take(path) {
			assert.Equal(t, smithers.OutcomeUnchanged, run.Outcome, id)
		}
		if during == "run-a" { // nothing is left of what was read first
			other := newHome(t)
			other.take(path)
			assert.Equal(t, other.tips(), h.tips())
		}
	}
}

func TestWhatAnImportDidBeforeItHadToStopIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		during string
		hint   string
		runs   []string // that are there
	}{
		{"run-a", "nothing was imported", nil},
		{replayRun, "the runs imported before the error are in the repository", []string{"run-a", plainFork, otherFork}},
	} {
		h := newHome(t)
		path := copyOf(t, gitFixture, "PRAGMA journal_mode = WAL")
		at := time.Unix(1, 0)
		imported, err := smithers.Import(t.Context(), h.Store, path, smithers.ImportRequest{Progress: func(run string, _, _ int) {
			if run == c.during { // somebody writes it again and again
				at = at.Add(time.Second)
				assert.NoError(t, os.Chtimes(path, at, at))
			}
		}})
		assert.Equal(t, fault.Locked, fault.CodeOf(err))
		assertHints(t, err, "try again", c.hint)
		assertThere(t, h, imported, c.runs)
	}
}

// assertHints requires hints of an error, and no others.
func assertHints(t *testing.T, err error, hints ...string) {
	t.Helper()
	coded, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, hints, coded.Hints)
}

// assertThere requires that an import says of no other runs that they are created, and that they are there.
func assertThere(t *testing.T, h *home, imported *smithers.ImportResult, runs []string) {
	t.Helper()
	assert.Equal(t, len(runs), strings.Count(h.tips(), "_tip"), h.tips())
	if len(runs) == 0 {
		assert.Nil(t, imported)
		return
	}
	require.NotNil(t, imported)
	var ids []string
	for _, run := range imported.Runs {
		ids = append(ids, run.RunID)
		assert.Equal(t, smithers.OutcomeCreated, run.Outcome)
		assert.Equal(t, h.repo.Git("rev-parse", "refs/smithers/_tip/"+run.RunID), run.Tip)
	}
	assert.ElementsMatch(t, runs, ids)
}

func TestWhatAnImportDidBeforeItWasInterruptedIsTold(t *testing.T) {
	t.Parallel()
	for during, runs := range map[string][]string{"run-a": nil, replayRun: {"run-a", plainFork, otherFork}} {
		h := newHome(t)
		ctx, cancel := context.WithCancel(t.Context())
		imported, err := smithers.Import(ctx, h.Store, copyOf(t, gitFixture), smithers.ImportRequest{Progress: func(run string, _, _ int) {
			if run == during {
				cancel()
			}
		}})
		cancel()
		assert.Equal(t, fault.Interrupted, fault.CodeOf(err))
		if runs != nil {
			assertHints(t, err, "the runs imported before the error are in the repository")
		}
		assertThere(t, h, imported, runs)
	}
}

func TestADatabaseWithAnInterruptedTransactionIsNotCalledDamaged(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	require.NoError(t, sourcetest.Interrupted(t.Context(), path, `UPDATE _smithers_attempts SET meta_json = '`+strings.Repeat("x", 1000)+`'`))
	imported, err := smithers.Import(t.Context(), h.Store, path, smithers.ImportRequest{})
	assert.Nil(t, imported)
	assert.Equal(t, fault.InvalidDatabase, fault.CodeOf(err))
	assert.ErrorContains(t, err, "a transaction of the database was interrupted")
	assert.NotContains(t, err.Error(), "damaged")
	assertHints(t, err, "start Smithers with this database once: it undoes the interrupted transaction")
	err = smithers.CheckExport(t.Context(), path)
	assert.Equal(t, fault.InvalidDatabase, fault.CodeOf(err))
	assertHints(t, err, "nothing was written; start Smithers with this database once: it undoes the interrupted transaction")
	require.NoError(t, sourcetest.Exec(t.Context(), path, "SELECT count(*) FROM _smithers_runs"))
	h.take(path)
	assert.Len(t, strings.Split(h.tips(), "\n"), 5, strconv.Quote(h.tips()))
}
