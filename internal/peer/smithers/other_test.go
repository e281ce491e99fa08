package smithers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// refusesAsItIs requires that an import refuses run-a and leaves it as it is.
func (h *home) refusesAsItIs(path string, code fault.Code) {
	h.t.Helper()
	before := h.entry("run-a").ID
	run := h.take(path, "run-a")["run-a"]
	assert.Equal(h.t, smithers.OutcomeRefused, run.Outcome)
	assert.Equal(h.t, code, fault.CodeOf(run.Err))
	assert.Equal(h.t, before, h.entry("run-a").ID)
}

func TestARunThatWasBegunAtAnotherTimeIsAnother(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, gitFixture), "run-a")
	h.refusesAsItIs(copyOf(t, gitFixture, `UPDATE _smithers_runs SET created_at_ms = created_at_ms + 1`), fault.RunExists)
}

func TestAnOlderCopyOfTheDatabaseTakesNothingBack(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, gitFixture), "run-a")
	h.refusesAsItIs(copyOf(t, gitFixture, wentBackTo(20), `DELETE FROM _smithers_events WHERE run_id = 'run-a' AND seq > 80`), fault.ImportRefused)
}

func TestARunThatWentOnInTwoDatabasesIsNotMixed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, gitFixture), "run-a")
	other := copyOf(t, gitFixture, wentBackTo(20), `UPDATE _smithers_events SET timestamp_ms = timestamp_ms + 1
		WHERE run_id = 'run-a' AND seq > 80 AND type <> 'TimeTravelJumped'`)
	h.refusesAsItIs(other, fault.ImportRefused)
}

func TestFramesThatWereAddedHereAreNotSmithers(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path, "run-a")
	_, err := travel.Travel(t.Context(), h.Store, travel.Request{Run: "run-a", Node: "final", NoFiles: true})
	require.NoError(t, err)
	_, err = travel.Undo(t.Context(), h.Store, travel.UndoRequest{Run: "run-a", NoFiles: true})
	require.NoError(t, err)
	row, err := h.entry("run-a").RunRow()
	require.NoError(t, err)
	require.Equal(t, int64(33), row.Frame)
	require.NoError(t, sourcetest.Exec(t.Context(), path, `UPDATE _smithers_runs SET error_json = '{"message":"late"}' WHERE run_id = 'run-a'`))
	run := h.take(path, "run-a")["run-a"]
	require.NoError(t, run.Err)
	assert.Zero(t, run.Frames)
	assert.False(t, run.Rewound)
	h.exactRun(path, "run-a")

	require.NoError(t, sourcetest.Exec(t.Context(), path, again(32, 30, 1795199300001)))
	run = h.take(path, "run-a")["run-a"]
	require.NoError(t, run.Err)
	assert.False(t, run.Rewound)
	assert.Equal(t, h.entry("run-a:34").ID, h.entry("run-a:smithers/32").ID)
	h.exactRun(path, "run-a")
}

func TestAFrameSaysWhySmithersMadeIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, gitFixture), "run-a")
	for address, subject := range map[string]string{
		"run-a:2": "plan finished", "run-a:3": "flaky finished", "run-a:9": "loop advanced",
	} {
		assert.Equal(t, subject, h.entry(address).Subject, address)
	}
}

func TestAColumnThatAnotherWorkflowAddsChangesNoRunThatHasNothingInIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path, "run-a")
	require.NoError(t, sourcetest.Exec(t.Context(), path, `
		ALTER TABLE input ADD COLUMN other TEXT;
		INSERT INTO _smithers_output_schema_columns (table_name, column_name, kind) VALUES ('input', 'other', 'json');`))
	assert.Equal(t, smithers.OutcomeUnchanged, h.take(path, "run-a")["run-a"].Outcome)
	require.NoError(t, sourcetest.Exec(t.Context(), path, `UPDATE input SET other = '"this"' WHERE run_id = 'run-a'`))
	assert.Equal(t, smithers.OutcomeContinued, h.take(path, "run-a")["run-a"].Outcome)
}

func TestWhatWasAddedHereIsOursHoweverTheRunIsCalled(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"run&a", "run<b>", "line\u2028x", `a b"c`, "all:child:pages:0", "-x"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			path := copyOf(t, gitFixture)
			for _, table := range query(t, path, `SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'run_id'`) {
				require.NoError(t, sourcetest.Exec(t.Context(), path, fmt.Sprintf(`UPDATE "%s" SET run_id = '%s' WHERE run_id = '%s'`, table[0], id, replayRun)))
			}
			require.NoError(t, h.take(path, id)[id].Err)
			_, err := travel.Travel(t.Context(), h.Store, travel.Request{Run: id, Node: "plan", NoFiles: true})
			require.NoError(t, err)
			require.NoError(t, sourcetest.Exec(t.Context(), path, touched))
			require.NoError(t, h.take(path, id)[id].Err)
		})
	}
}
