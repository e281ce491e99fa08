package smithers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// breakReplay takes the shape from a snapshot of replayRun.
const breakReplay = `UPDATE _smithers_snapshot_contents SET nodes_json = '{' WHERE content_hash IN
	(SELECT content_hash FROM _smithers_snapshots WHERE run_id = '` + replayRun + `' AND frame_no = 9)`

// nestedParent is what nestedRun was forked from; nil for nothing.
func (h *home) nestedParent() *snapshot.Parent {
	h.t.Helper()
	row, err := h.entry(nestedRun).RunRow()
	require.NoError(h.t, err)
	return row.Parent
}

func (h *home) prune(run string) {
	h.t.Helper()
	_, err := prune.New(h.Store, prune.Options{}).Forget(h.t.Context(), prune.Policy{}, false, run)
	require.NoError(h.t, err)
}

func TestAForkWhoseParentIsRefusedIsRefusedUntilItsParentIsImported(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	runs := h.take(copyOf(t, gitFixture, breakReplay))
	assert.Equal(t, fault.ImportRefused, fault.CodeOf(runs[replayRun].Err))
	assert.Equal(t, smithers.OutcomeRefused, runs[nestedRun].Outcome)
	assert.Equal(t, fault.ImportRefused, fault.CodeOf(runs[nestedRun].Err))
	assert.ErrorContains(t, runs[nestedRun].Err, `without its parent, run "`+replayRun+`"`)
	assert.Equal(t, smithers.OutcomeCreated, runs[plainFork].Outcome, "it was forked from another run")
	runs = h.take(copyOf(t, gitFixture))
	assert.Equal(t, smithers.OutcomeCreated, runs[replayRun].Outcome)
	assert.Equal(t, smithers.OutcomeCreated, runs[nestedRun].Outcome)
	require.NotNil(t, h.nestedParent())
	assert.Equal(t, replayRun, h.nestedParent().RunID)
}

func TestAForkThatIsHereIsImportedThoughItsParentIsRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, gitFixture))
	runs := h.take(copyOf(t, gitFixture, `UPDATE _smithers_runs SET workflow_name = 'other'`,
		`DELETE FROM _smithers_events WHERE run_id = '`+replayRun+`' AND seq > 3`))
	assert.Error(t, runs[replayRun].Err)
	assert.NoError(t, runs[nestedRun].Err)
	assert.Equal(t, smithers.OutcomeContinued, runs[nestedRun].Outcome)
}

func TestAForkWhoseParentIsOvertakenHasIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, gitFixture, `
		DELETE FROM _smithers_snapshot_payload_refs WHERE run_id = '`+replayRun+`' AND frame_no > 1;
		DELETE FROM _smithers_snapshots WHERE run_id = '`+replayRun+`' AND frame_no > 1;
		DELETE FROM _smithers_frames WHERE run_id = '`+replayRun+`' AND frame_no > 1`), replayRun)
	sent := false
	imported, err := smithers.Import(t.Context(), h.Store, copyOf(t, gitFixture), smithers.ImportRequest{Progress: func(run string, _, _ int) {
		if run == replayRun && !sent {
			sent = true
			h.sends("here", 1795199900000)
		}
	}})
	require.NoError(t, err)
	require.True(t, sent)
	for _, run := range imported.Runs {
		assert.NoError(t, run.Err)
	}
	require.NotNil(t, h.nestedParent())
	assert.Equal(t, replayRun, h.nestedParent().RunID)
}

func TestAForkOfARunThatWasPrunedHereStandsAlone(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path, replayRun)
	h.prune(replayRun)
	runs := h.take(path)
	assert.Equal(t, fault.RunPruned, fault.CodeOf(runs[replayRun].Err))
	assert.NoError(t, runs[nestedRun].Err)
	assert.Nil(t, h.nestedParent())
}

func TestAForkThatWasPrunedIsThatAlsoWhereItsParentIsRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, gitFixture))
	h.prune(nestedRun)
	runs := h.take(copyOf(t, gitFixture, `UPDATE _smithers_runs SET workflow_name = 'other'`,
		`DELETE FROM _smithers_events WHERE run_id = '`+replayRun+`' AND seq > 3`))
	assert.Equal(t, fault.ImportRefused, fault.CodeOf(runs[replayRun].Err))
	assert.Equal(t, fault.RunPruned, fault.CodeOf(runs[nestedRun].Err))
}

func TestAForkOfARunThatIsNotWatchedHasItsParent(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	engine := at.engine()
	watch := smithers.StartLooking(at.store, at.database, replayRun, plainFork)
	at.steps(engine, 1, 2)
	require.NoError(t, watch.Look(t.Context()))
	require.NoError(t, engine.Frame(t.Context(), replayRun, 0))
	for range 60 { // new frames, and then all else, so that the watch knows run-a
		require.NoError(t, watch.Look(t.Context()))
	}
	require.NoError(t, engine.Exec(t.Context(), `UPDATE _smithers_runs SET workflow_name = 'other'`))
	for range 60 {
		require.NoError(t, watch.Look(t.Context()))
	}
	at.steps(engine, 3, 8)
	require.NoError(t, engine.Frame(t.Context(), plainFork, 0))
	require.NoError(t, watch.Look(t.Context()))
	assert.Equal(t, "run-a", at.parentOf(plainFork).RunID)
	assert.EqualValues(t, 7, at.parentOf(plainFork).Frame)
}

// steps commits frames of run-a.
func (at *site) steps(engine *sourcetest.Engine, from, to int64) {
	at.t.Helper()
	for frame := from; frame <= to; frame++ {
		require.NoError(at.t, engine.Frame(at.t.Context(), "run-a", frame))
	}
}

func TestARunThatComesAlongWithANewForkKeepsTheRowsThatBelongToNoRun(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	engine := at.engine()
	require.NoError(t, engine.Exec(t.Context(), `CREATE TABLE notes2 (a INTEGER PRIMARY KEY, b TEXT); INSERT INTO notes2 VALUES (1, 'kept')`))
	at.steps(engine, 1, 8)
	require.NoError(t, engine.Exec(t.Context(), `UPDATE _smithers_runs SET status = 'waiting-approval'`))
	watch := smithers.StartLooking(at.store, at.database)
	require.NoError(t, watch.Look(t.Context()))
	tip := at.Git("rev-parse", "refs/smithers/_tip/run-a")
	at.Git("cat-file", "-e", tip+":ext/smithers/tables/notes2")
	require.NoError(t, engine.Frame(t.Context(), plainFork, 0))
	require.NoError(t, watch.Look(t.Context()))
	assert.EqualValues(t, 7, at.parentOf(plainFork).Frame)
	assert.Equal(t, tip, at.Git("rev-parse", "refs/smithers/_tip/run-a"), "nothing of it is new")
}

// parentOf is what a run was forked from.
func (at *site) parentOf(run string) *snapshot.Parent {
	at.t.Helper()
	head, err := at.store.Head(at.t.Context(), run)
	require.NoError(at.t, err)
	require.NotNil(at.t, head.Row().Parent)
	return head.Row().Parent
}
