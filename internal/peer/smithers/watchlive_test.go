package smithers_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/objstore"
)

func TestWhatAWatchThatWasKilledHasLeftIsImportedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, manyRuns)
	live := filepath.Join(t.TempDir(), "smithers.db")
	engine, err := sourcetest.Begin(t.Context(), w.source, live)
	require.NoError(t, err)
	var watch *smithers.Looking
	for frame := int64(1); frame <= 20; frame++ {
		if frame%8 == 1 { // killed, and started again
			watch = smithers.StartLooking(w.store, live)
		}
		require.NoError(t, engine.Frame(t.Context(), "run-a", frame))
		require.NoError(t, watch.Look(t.Context()))
		head, err := w.store.Head(t.Context(), "run-a")
		require.NoError(t, err)
		assert.Equal(t, frame, head.Row().Frame)
	}
	_, runs := w.export("run-a")
	assert.False(t, runs[0].Exact, "its frames came first")
	tip := w.tip("run-a")
	for looks := 0; looks < 100 && w.tip("run-a") == tip; looks++ {
		require.NoError(t, watch.Look(t.Context()))
	}
	_, runs = w.export("run-a")
	assert.True(t, runs[0].Exact, "the rest comes when there are no more")
	require.NoError(t, engine.Frame(t.Context(), "run-a", 21))
	require.NoError(t, watch.Look(t.Context()))
	require.NoError(t, engine.Close())
	w.importAll()
	w.assertComesBack()
	again, err := smithers.Import(t.Context(), w.store, w.source, smithers.ImportRequest{})
	require.NoError(t, err)
	for _, run := range again.Runs {
		assert.Equal(t, smithers.OutcomeUnchanged, run.Outcome)
	}
}

// tip is the newest entry of a run.
func (w *world) tip(run string) objstore.ID {
	w.t.Helper()
	head, err := w.store.Head(w.t.Context(), run)
	require.NoError(w.t, err)
	return head.Entry().ID
}

func TestARunThatIsNotAsItWasIsLookedAtThoughItHasEnded(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	engine := at.engine()
	require.NoError(t, engine.End(t.Context(), "run-a"))
	stop := at.watch()
	require.NoError(t, engine.Exec(t.Context(), "UPDATE _smithers_nodes SET label = 'another' WHERE run_id = 'run-a'"))
	stop()
	imported, err := smithers.Import(t.Context(), at.store, at.database, smithers.ImportRequest{})
	require.NoError(t, err)
	assert.Equal(t, smithers.OutcomeUnchanged, imported.Runs[0].Outcome, "the watch has imported it at its end")
}

func TestAnAttemptThatEndsAfterTheNewestFrameHasTheFilesOfThePass(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	engine := at.engine()
	watch := smithers.StartLooking(at.store, at.database)
	require.NoError(t, watch.Look(t.Context())) // from now on files are those of the moment
	at.step(engine, "run-a", 1, "begun")
	at.step(engine, "run-a", 2, "left")
	require.NoError(t, engine.Exec(t.Context(), "UPDATE _smithers_attempts SET finished_at_ms = finished_at_ms + 100000 WHERE node_id = 'plan'"))
	require.NoError(t, watch.Look(t.Context()))
	plan := at.attempt("run-a", "plan")
	require.NotNil(t, plan.FinishedAtMs)
	assert.Equal(t, "left", at.Git("show", plan.Tree.String()+":draft.md"))
	assert.EqualValues(t, 2, *plan.Frame)
}

func TestWhatTheEngineLogsIsNoPartOfTheWorkingCopy(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	engine := at.engine()
	watch := smithers.StartLooking(at.store, at.database)
	require.NoError(t, watch.Look(t.Context()))
	at.Write(".smithers/executions/run-a/logs/stream.ndjson", "{}\n")
	at.Write(".smithers/workflow.tsx", "export default 1\n")
	for frame := int64(1); frame <= 2; frame++ { // of a run that is new, and of one that is known
		at.step(engine, "run-a", frame, "files")
		require.NoError(t, watch.Look(t.Context()))
	}
	for _, frame := range []string{"1", "2"} {
		assert.Equal(t, ".smithers/workflow.tsx",
			at.Git("ls-tree", "-r", "--name-only", "refs/smithers/run-a/"+frame+":worktree", ".smithers/"))
	}
}

func TestFramesThatAreFoundTogetherHaveTheFilesOfThatMomentUnlessTheyAreOlder(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	engine := at.engine()
	watch := smithers.StartLooking(at.store, at.database)
	require.NoError(t, watch.Look(t.Context())) // from now on files are those of the moment
	for frame := int64(1); frame <= 3; frame++ {
		at.step(engine, "run-a", frame, "frame "+strconv.FormatInt(frame, 10))
	}
	require.NoError(t, watch.Look(t.Context()))
	for frame := int64(4); frame <= 6; frame++ { // within a tenth of a second
		at.step(engine, "run-a", frame, "frame "+strconv.FormatInt(frame, 10))
	}
	require.NoError(t, watch.Look(t.Context()))
	assert.Equal(t, []string{"frame 3", "frame 6", "frame 6", "frame 6"}, []string{at.draft(3), at.draft(4), at.draft(5), at.draft(6)})

	for frame := int64(7); frame <= 15; frame++ { // the last of them half a minute after the one before
		at.step(engine, "run-a", frame, "frame "+strconv.FormatInt(frame, 10))
	}
	require.NoError(t, watch.Look(t.Context()))
	assert.Equal(t, []string{"frame 6", "frame 6", "frame 15"}, []string{at.draft(7), at.draft(14), at.draft(15)})
}

func TestAnEarlierCopyThatGoesOnIsNamedOnceAsThatAndOnceAsWhatWentOnOtherwise(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	content, err := os.ReadFile(fixturePath(manyRuns))
	require.NoError(t, err)
	at.replace(content)
	watch := smithers.StartLooking(at.store, at.database, "run-a")
	require.NoError(t, watch.Look(t.Context()))
	require.Len(t, watch.Reported, 1)
	require.NoError(t, sourcetest.Exec(t.Context(), at.database,
		`DELETE FROM _smithers_events WHERE run_id = 'run-a' AND seq > (SELECT max(seq) - 10 FROM _smithers_events WHERE run_id = 'run-a')`))
	for range 5 {
		require.NoError(t, watch.Import(t.Context()))
		require.NoError(t, sourcetest.Exec(t.Context(), at.database, `INSERT INTO _smithers_events
			SELECT run_id, max(seq) + 1, 1795300000000 + max(seq), 'NodeStarted', '{}' FROM _smithers_events WHERE run_id = 'run-a'`))
	}
	var reasons []string
	for _, run := range watch.Reported[1:] {
		reasons = append(reasons, run.Err.Error())
	}
	require.Len(t, reasons, 2)
	assert.Contains(t, reasons[0], "older state")
	assert.Contains(t, reasons[1], "continued in two databases")
}
