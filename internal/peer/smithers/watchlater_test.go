package smithers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// following is a watch of run-a that has imported its first six frames.
func following(t *testing.T) (*site, *sourcetest.Engine, *smithers.Looking) {
	t.Helper()
	at := newSite(t)
	engine := at.engine()
	watch := smithers.StartLooking(at.store, at.database)
	for frame := int64(1); frame <= 6; frame++ {
		at.step(engine, "run-a", frame, "files")
		require.NoError(t, watch.Look(t.Context()))
		require.Equal(t, frame, at.frame())
	}
	return at, engine, watch
}

func TestWhatWasSentAfterAFrameThatComesInLaterStays(t *testing.T) {
	t.Parallel()
	at, engine, watch := following(t)
	at.step(engine, "run-a", 7, "files")
	head, err := at.store.Head(t.Context(), "run-a")
	require.NoError(t, err)
	sent := snapshot.EncodeSignal(snapshot.Signal{Name: "here", Payload: []byte("1"), ReceivedAtMs: decided})
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Subject: "signal here", Mailbox: []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionSignals, Key: sent.Key, Value: sent.Value},
	}}))
	for frame := int64(7); frame <= 8; frame++ {
		require.NoError(t, watch.Look(t.Context()))
		require.Equal(t, frame, at.frame())
		loaded, err := at.store.Load(t.Context(), "run-a")
		require.NoError(t, err)
		_, is, err := stateOf(t, loaded.Entry).Signals().Get(sent.Key)
		require.NoError(t, err)
		require.True(t, is, "at frame %d, though it is older", frame)
		at.step(engine, "run-a", frame+1, "files")
	}
}

func TestARowThatChangesThoughItWasSettledIsInTheNextFrame(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"changed": "UPDATE _smithers_attempts SET state = 'cancelled' WHERE run_id = 'run-a' AND node_id = 'plan'",
		"added": `INSERT INTO _smithers_attempts (run_id, node_id, iteration, attempt, state, started_at_ms, finished_at_ms)
			SELECT run_id, node_id, iteration, 2, 'cancelled', started_at_ms, finished_at_ms FROM _smithers_attempts WHERE run_id = 'run-a' AND node_id = 'plan'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, engine, watch := following(t)
			require.NotNil(t, at.attempt("run-a", "plan").FinishedAtMs)
			require.NoError(t, engine.Exec(t.Context(), change+`;
				INSERT OR IGNORE INTO main._smithers_snapshots SELECT * FROM source._smithers_snapshots WHERE run_id = 'run-a' AND frame_no = 7;
				INSERT OR IGNORE INTO main._smithers_snapshot_contents SELECT * FROM source._smithers_snapshot_contents;
				INSERT OR IGNORE INTO main._smithers_snapshot_payload_refs
					SELECT * FROM source._smithers_snapshot_payload_refs WHERE run_id = 'run-a' AND frame_no = 7`))
			require.NoError(t, watch.Look(t.Context()))
			require.EqualValues(t, 7, at.frame())
			assert.Contains(t, at.attempts(), snapshot.AttemptCancelled)
		})
	}
}

func TestARewindIsSeenByAWatchThatKnowsTheFrames(t *testing.T) {
	t.Parallel()
	at, engine, watch := following(t)
	require.NoError(t, engine.Exec(t.Context(), `
		DELETE FROM _smithers_snapshot_payload_refs WHERE run_id = 'run-a' AND frame_no > 4;
		DELETE FROM _smithers_snapshots WHERE run_id = 'run-a' AND frame_no > 4;
		DELETE FROM _smithers_frames WHERE run_id = 'run-a' AND frame_no > 4`))
	require.NoError(t, watch.Look(t.Context()))
	assert.EqualValues(t, 7, at.frame(), "the frame that says so")
	require.NoError(t, engine.Frame(t.Context(), "run-a", 5))
	require.NoError(t, watch.Look(t.Context()))
	assert.EqualValues(t, 8, at.frame())
	at.exact(engine, watch)
}

// exact ends the run, and wants it to be as it was imported, as a pass over all rows leaves it.
func (at *site) exact(engine *sourcetest.Engine, watch *smithers.Looking) {
	at.t.Helper()
	require.NoError(at.t, engine.End(at.t.Context(), "run-a"))
	require.NoError(at.t, watch.Look(at.t.Context()))
	for looks := 0; looks < 100 && at.status() != snapshot.RunFinished; looks++ {
		require.NoError(at.t, watch.Look(at.t.Context()))
	}
	assert.Equal(at.t, snapshot.RunFinished, at.status())
	tip := at.tip()
	imported, err := smithers.Import(at.t.Context(), at.store, at.database, smithers.ImportRequest{})
	require.NoError(at.t, err)
	assert.Equal(at.t, smithers.OutcomeUnchanged, imported.Runs[0].Outcome, "nothing is left for an import")
	assert.Equal(at.t, tip, at.tip())
	to := at.t.TempDir() + "/out.db"
	_, err = smithers.Export(at.t.Context(), at.store, smithers.ExportRequest{Runs: []string{"run-a"}, To: to, Root: at.Dir})
	require.NoError(at.t, err)
	rows := `SELECT frame_no, created_at_ms, xml_json, xml_hash, encoding, mounted_task_ids_json, task_index_json, note
		FROM _smithers_frames WHERE run_id = 'run-a' ORDER BY frame_no`
	assert.Equal(at.t, query(at.t, at.database, rows), query(at.t, to, rows))
	rows = "SELECT * FROM _smithers_events WHERE run_id = 'run-a' ORDER BY seq"
	assert.Equal(at.t, query(at.t, at.database, rows), query(at.t, to, rows))
}

// attempts are the states of run-a's attempts, as its newest entry has them.
func (at *site) attempts() (states []string) {
	at.t.Helper()
	head, err := at.store.Head(at.t.Context(), "run-a")
	require.NoError(at.t, err)
	rows, err := head.Entry().Attempts()
	require.NoError(at.t, err)
	for row, err := range rows.Rows() {
		require.NoError(at.t, err)
		a, err := snapshot.DecodeAttempt(row)
		require.NoError(at.t, err)
		states = append(states, a.State)
	}
	return states
}

// tip is the newest entry of run-a.
func (at *site) tip() string {
	at.t.Helper()
	head, err := at.store.Head(at.t.Context(), "run-a")
	require.NoError(at.t, err)
	return head.Entry().ID.String()
}
