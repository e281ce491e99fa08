package smithers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// withoutSignal takes a signal away from Smithers.
const withoutSignal = `DELETE FROM _smithers_signals WHERE signal_name = `

// touched changes a row of each run without an event, as a process does that shows life.
const touched = `UPDATE _smithers_nodes SET updated_at_ms = updated_at_ms + 1`

func TestADatabaseThatLacksASignalIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ change, message string }{
		"an older copy": {touched, `the database has an older state of run "` + replayRun + `": 1 of 2 imported signals are missing`},
		"another signal": {
			signalRow(42, "another", decided+2),
			`run "` + replayRun + `" continued in two databases: this database lacks 1 of 2 imported signals`,
		},
		"an event": {
			`INSERT INTO _smithers_events SELECT run_id, max(seq) + 1, 1795199900002, 'RunStarted', '{}' FROM _smithers_events WHERE run_id = '` + replayRun + `'`,
			`run "` + replayRun + `" continued in two databases: this database lacks 1 of 2 imported signals`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			path := copyOf(t, gitFixture, signalRow(40, "first", decided))
			h.takes(path)
			require.NoError(t, sourcetest.Exec(t.Context(), path, signalRow(41, "second", decided+1)))
			h.takes(path)
			tip := h.entry(replayRun).ID

			err := h.take(copyOf(t, gitFixture, signalRow(40, "first", decided), c.change), replayRun)[replayRun].Err
			assert.Equal(t, fault.ImportRefused, fault.CodeOf(err))
			require.EqualError(t, err, c.message)
			assert.Equal(t, tip, h.entry(replayRun).ID)
			require.NoError(t, sourcetest.Exec(t.Context(), path, touched))
			h.takes(path)
			assert.Equal(t, map[int64]string{0: "first", 1: "second"}, h.signals())
		})
	}
}

func TestASignalThatSmithersWasNotToldIsNoneThatItLacks(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture, signalRow(40, "first", decided))
	h.takes(path)
	h.sends("here", decided+1)
	for range 3 {
		require.NoError(t, sourcetest.Exec(t.Context(), path, touched))
		h.takes(path)
		assert.Equal(t, map[int64]string{0: "first", 1: "here"}, h.signals())
	}
}

func TestARewindTakesSignalsAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path, "run-a")
	sent := query(t, path, `SELECT signal_name FROM _smithers_signals WHERE run_id = 'run-a'`)
	require.Len(t, sent, 1)
	require.NoError(t, sourcetest.Exec(t.Context(), path, withoutSignal+`'`+sent[0][0]+`' AND run_id = 'run-a';`+wentBackTo(7)))
	run := h.take(path, "run-a")["run-a"]
	require.NoError(t, run.Err)
	assert.True(t, run.Rewound)
	assert.Zero(t, stateOf(t, h.entry("run-a")).Signals().Len())
	h.exactRun(path, "run-a")

	require.NoError(t, sourcetest.Exec(t.Context(), path, `INSERT INTO _smithers_signals
		(run_id, seq, signal_name, payload_json, received_at_ms) VALUES ('run-a', 12, 'again', '1', 1795199300001)`))
	require.NoError(t, h.take(path, "run-a")["run-a"].Err)
	require.NoError(t, sourcetest.Exec(t.Context(), path, withoutSignal+`'again'`))
	h.refusesAsItIs(path, fault.ImportRefused)
}

func TestAWatchRefusesANewFrameOfADatabaseThatLacksASignal(t *testing.T) {
	t.Parallel()
	at, engine, watch := following(t)
	require.NoError(t, engine.Exec(t.Context(), `INSERT INTO _smithers_signals
		(run_id, seq, signal_name, payload_json, received_at_ms) VALUES ('run-a', 1, 'sent', '1', 1)`))
	require.NoError(t, watch.Import(t.Context()))
	loaded, err := at.store.Load(t.Context(), "run-a")
	require.NoError(t, err)
	require.NotZero(t, stateOf(t, loaded.Entry).Signals().Len())
	require.NoError(t, engine.Exec(t.Context(), withoutSignal+`'sent'`))
	tip := at.tip()
	at.step(engine, "run-a", 7, "files")
	require.NoError(t, watch.Look(t.Context()))
	assert.Equal(t, tip, at.tip())
	last := watch.Reported[len(watch.Reported)-1]
	assert.Equal(t, smithers.OutcomeRefused, last.Outcome)
	assert.Equal(t, fault.ImportRefused, fault.CodeOf(last.Err))
}

// TestEventsOfOneTypeAndTimeAreTwo has another clone export two signals of a time at which one was sent here.
func TestEventsOfOneTypeAndTimeAreTwo(t *testing.T) {
	t.Parallel()
	a, b := newHome(t), newHome(t)
	path := copyOf(t, gitFixture)
	a.takes(path)
	b.takes(path)
	a.sends("a", decided)
	a.sends("b", decided)
	b.sends("c", decided)
	goesOn(t, path, decided+1)
	goesOn(t, path, decided+2)
	a.takes(path)
	b.takes(path)
	exported := a.gives()
	goesOn(t, exported, decided+3)
	b.takes(exported)
	assert.ElementsMatch(t, []string{
		"1795199900000 SignalReceived", "1795199900000 SignalReceived",
		"1795199900001 RunStarted", "1795199900002 RunStarted", "1795199900003 RunStarted",
	}, b.eventsSince(decided))
	assert.Len(t, b.signals(), 3)
}
