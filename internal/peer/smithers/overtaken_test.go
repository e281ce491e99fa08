package smithers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestSmithersOvertakesWhatWasDoneHere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request travel.Request
		change  string
		from    int64
	}{
		"a travel":           {travel.Request{Node: "write"}, again(32, 30, 1795199300001), 31},
		"a node alone":       {travel.Request{Node: "final", NoDeps: true}, again(32, 30, 1795199300001), 31},
		"a rewind overtakes": {travel.Request{Node: "write"}, wentBackTo(20), 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			path := copyOf(t, gitFixture)
			h.take(path, "run-a")
			c.request.Run, c.request.NoFiles = "run-a", true
			done, err := travel.Travel(t.Context(), h.Store, c.request)
			require.NoError(t, err)
			require.NoError(t, sourcetest.Exec(t.Context(), path, c.change))
			run := h.take(path, "run-a")["run-a"]
			require.NoError(t, run.Err)
			assert.Equal(t, []smithers.OvertakenOp{{Op: done.Op, From: c.from}}, run.Overtaken)
			h.exactRun(path, "run-a")

			tip := h.repo.Git("rev-parse", "refs/smithers/_tip/run-a")
			_, err = travel.Undo(t.Context(), h.Store, travel.UndoRequest{Run: "run-a", NoFiles: true})
			assert.Contains(t, []fault.Code{fault.NothingToUndo, fault.UndoRefused}, fault.CodeOf(err))
			assert.Equal(t, tip, h.repo.Git("rev-parse", "refs/smithers/_tip/run-a"))
			run = h.take(path, "run-a")["run-a"]
			assert.Equal(t, smithers.OutcomeUnchanged, run.Outcome)
			assert.Empty(t, run.Overtaken)
		})
	}
}

// What an export has given to Smithers is not overtaken when Smithers goes on from it; nor is it taken back then.
func TestSmithersGoesOnFromATravelOfAnExportedFork(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path)
	_, err := h.Fork(t.Context(), timeline.ForkRequest{From: "run-a:7", RunID: "mine"})
	require.NoError(t, err)
	_, err = travel.Travel(t.Context(), h.Store, travel.Request{Run: "mine", Node: "write", NoDeps: true, NoFiles: true})
	require.NoError(t, err)
	_, err = smithers.Export(t.Context(), h.Store, smithers.ExportRequest{Runs: []string{"mine"}, To: path, Root: fixtureRoot})
	require.NoError(t, err)
	require.NoError(t, sourcetest.Exec(t.Context(), path, strings.ReplaceAll(again(2, 8, 1795300000001), "SELECT run_id,", "SELECT 'mine',")))
	require.NoError(t, sourcetest.Exec(t.Context(), path, `UPDATE _smithers_runs SET started_at_ms = 1795300000000 WHERE run_id = 'mine'`))
	run := h.take(path, "mine")["mine"]
	require.NoError(t, run.Err)
	assert.Empty(t, run.Overtaken)
	assert.Equal(t, []int64{0, 1, 2}, numbers(h.frames("mine")))
	_, err = travel.Undo(t.Context(), h.Store, travel.UndoRequest{Run: "mine", NoFiles: true})
	assert.Equal(t, fault.UndoRefused, fault.CodeOf(err), "%v", err)
}

func TestWhatAnUndoHidesOfTheDatabaseComesBackWithTheNextImport(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.takes(path)
	_, err := travel.Travel(t.Context(), h.Store, travel.Request{Run: replayRun, Node: "plan", NoFiles: true})
	require.NoError(t, err)
	require.NoError(t, sourcetest.Exec(t.Context(), path, signalRow(7, "later", decided)))
	h.takes(path)
	_, err = travel.Undo(t.Context(), h.Store, travel.UndoRequest{Run: replayRun, NoFiles: true})
	require.NoError(t, err)
	assert.Empty(t, h.signalsOf(replayRun), "the state is the one from before the travel")
	run := h.takes(path)
	assert.Equal(t, smithers.OutcomeContinued, run.Outcome)
	assert.Len(t, h.signalsOf(replayRun), 1)
	h.exactRun(path, replayRun)
	assert.Equal(t, smithers.OutcomeUnchanged, h.takes(path).Outcome)
}

// As undo of older versions did, which dropped what Smithers had added since.
func TestFramesThatAnUndoDroppedComeBackWithTheNextImport(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.take(path, "run-a")
	before := h.entry("run-a")
	require.NoError(t, sourcetest.Exec(t.Context(), path, again(32, 30, 1795199300001)))
	h.take(path, "run-a")
	head, err := h.Head(t.Context(), "run-a")
	require.NoError(t, err)
	base, err := h.entry("run-a:20").State()
	require.NoError(t, err)
	require.NoError(t, head.Update(t.Context(), func() (*snapshot.Draft, error) {
		draft := &snapshot.Draft{Frame: &snapshot.FrameDraft{Restore: base, Based: new(int64(20))}, AtMs: 1795199300002, Subject: "undone: travel"}
		for _, op := range []snapshot.Op{
			{Number: 1, Kind: snapshot.OpTravel, NodeID: "write", Attempt: 1, Before: before.ID, Frame: new(int64(33)), UndoneBy: 2},
			{Number: 2, Kind: snapshot.OpUndo, Before: head.Entry().ID, Frame: new(int64(33)), Undoes: 1},
		} {
			row := snapshot.EncodeOp(op)
			draft.Journal = append(draft.Journal, snapshot.Change{
				Op: snapshot.OpSet, Collection: snapshot.CollectionOps, Key: row.Key, Value: row.Value,
			})
		}
		return draft, nil
	}))
	run := h.take(path, "run-a")["run-a"]
	require.NoError(t, run.Err)
	assert.Equal(t, smithers.OutcomeContinued, run.Outcome)
	assert.Equal(t, "back to frame 32, as Smithers has it", h.entry("run-a:34").Subject)
	assert.Equal(t, []int64{31, 32, 34}, numbers(h.frames("run-a"))[31:])
	assert.Equal(t, h.entry("run-a:32").ID, h.entry("run-a:smithers/32").ID)
	h.exactRun(path, "run-a")
	assert.Equal(t, smithers.OutcomeUnchanged, h.take(path, "run-a")["run-a"].Outcome)
}
