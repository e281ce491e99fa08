package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestUndoTakesATravelBack(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	before, attempts := entryAt(t, s, "run"), attemptsAt(t, s, "run")
	travelTo(t, s, "run", "b::0::1")
	done := undo(t, s, "run")

	assert.EqualValues(t, 8, done.Frame)
	assert.EqualValues(t, 7, done.From)
	assert.Equal(t, timeline.Address{Run: "run", Frame: 6}, done.To)
	assert.Equal(t, []int64{7}, done.Dropped)
	assert.Empty(t, done.Reset)
	assert.Equal(t, snapshot.OpTravel, done.Undone.Kind)
	assert.Equal(t, 2, done.Undone.UndoneBy)
	after := entryAt(t, s, "run")
	assert.Equal(t, stateAt(t, s, "run:6").ID(), stateAt(t, s, "run").ID())
	assert.Equal(t, attempts, attemptsAt(t, s, "run"))
	assert.Equal(t, before.ContentHash, after.ContentHash)
	was, err := s.Rendered(before)
	require.NoError(t, err)
	is, err := s.Rendered(after)
	require.NoError(t, err)
	assert.Equal(t, string(was), string(is))
	row := rowAt(t, s, "run")
	assert.Equal(t, snapshot.RunFinished, row.Status)
	assert.EqualValues(t, 99, *row.FinishedAtMs)
	kinds, payloads := eventsOf(t, repo, "run")
	assert.Equal(t, []string{"TimeTravelStarted", "TimeTravelFinished", "RunStatusChanged"}, kinds[5:])
	assert.Equal(t, map[string]any{"runId": "run", "op": "undo", "fromFrameNo": 7.0, "toFrameNo": 6.0, "success": true}, payloads[6])
}

func TestUndoStepsOverWhatHasHappenedSince(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := threeInARow(t, s, nil)
	travelTo(t, s, "run", "b::0::1")
	p.in("run").run("b::0::2")
	p.in("run").arrive("a signal", signal(t, s, "run", "since"))
	done := undo(t, s, "run")
	assert.Equal(t, []int64{7, 8, 9}, done.Dropped)
	assert.Equal(t, []string{"b::0::2"}, done.Cancelled)
	assert.Equal(t, map[string]string{
		"a::0::1": "finished", "b::0::1": "finished", "b::0::2": "cancelled stepped_over", "c::0::1": "finished",
	}, attemptsAt(t, s, "run"))
	assert.Empty(t, signals(t, s))
	travelTo(t, s, "run", "b::0::2")
	assert.Equal(t, "pending", stateOf(t, stateAt(t, s, "run"))["node b::0"], "it can be gone back to all the same")
}

func TestUndoOnceMoreTakesAnOlderOpBack(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := threeInARow(t, s, nil)
	first := attemptsAt(t, s, "run")
	travelTo(t, s, "run", "b::0::1") // 7
	p.in("run").run("b::0::2")       // 8, 9
	second := attemptsAt(t, s, "run")
	reset(t, s, "run")               // 10
	travelTo(t, s, "run", "c::0::1") // 11

	assert.Equal(t, 3, undo(t, s, "run").Op.Undoes)
	assert.Equal(t, stateAt(t, s, "run:10").ID(), stateAt(t, s, "run").ID())
	assert.Equal(t, 2, undo(t, s, "run").Op.Undoes)
	assert.Equal(t, stateAt(t, s, "run:9").ID(), stateAt(t, s, "run").ID())
	assert.Equal(t, second, attemptsAt(t, s, "run"))
	assert.Equal(t, 1, undo(t, s, "run").Op.Undoes)
	assert.Equal(t, stateAt(t, s, "run:6").ID(), stateAt(t, s, "run").ID())
	first["b::0::2"] = "cancelled stepped_over"
	assert.Equal(t, first, attemptsAt(t, s, "run"))

	_, err := travel.Undo(t.Context(), s, travel.UndoRequest{Run: "run"})
	assert.Equal(t, fault.NothingToUndo, fault.CodeOf(err))
	ops, err := timeline.OpsOf(t.Context(), s, "run")
	require.NoError(t, err)
	kinds, undone := []string{}, []int{}
	for i, op := range ops {
		assert.Equal(t, i+1, op.Number)
		kinds, undone = append(kinds, op.Kind), append(undone, op.UndoneBy)
	}
	assert.Equal(t, []string{"travel", "reset", "travel", "undo", "undo", "undo"}, kinds)
	assert.Equal(t, []int{6, 5, 4, 0, 0, 0}, undone)
}

func TestUndoOfANodeThatWasResetAlone(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	threeInARow(t, s, nil)
	_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "a", NoDeps: true})
	require.NoError(t, err)
	done := undo(t, s, "run")
	assert.Equal(t, []int64{7}, done.Dropped)
	assert.Equal(t, stateAt(t, s, "run:6").ID(), stateAt(t, s, "run").ID())
	assert.Equal(t, "finished", attemptsAt(t, s, "run")["a::0::1"])
}

// Nobody runs it, whatever its row said before: what was in progress is interrupted when
// the run is resumed.
func TestARunThatWasRunningIsPendingAfterAnUndo(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "a", "b")
	p.run("a::0::1")
	p.step("b started", p.starts("b::0::1"))
	reset(t, s, "run")
	undo(t, s, "run")
	assert.Equal(t, snapshot.RunPending, rowAt(t, s, "run").Status)
	assert.Equal(t, map[string]string{"a::0::1": "finished", "b::0::1": "in-progress"}, attemptsAt(t, s, "run"))
	assert.Equal(t, stateAt(t, s, "run:3").ID(), stateAt(t, s, "run").ID())
}

func TestARunThatHadFailedHasFailedAgainAfterAnUndo(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "a", "b<a", "c<b")
	p.run("a::0::1", "b::0::1")
	p.step("c started", p.starts("c::0::1"))
	p.step("c failed", p.fails("c::0::1", "exit_status: 1", snapshot.NodeFailed))
	p.become(snapshot.RunFailed)
	travelTo(t, s, "run", "b::0::1")
	assert.Empty(t, rowAt(t, s, "run").Error)
	undo(t, s, "run")
	row := rowAt(t, s, "run")
	assert.Equal(t, snapshot.RunFailed, row.Status)
	assert.Equal(t, "c: it broke", row.Error)
	assert.EqualValues(t, 99, *row.FinishedAtMs)
}

func TestAForkIsTakenBackAsLongAsItHasNotRun(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	fork(t, s, "run:4", "child")
	frames := repo.Git("for-each-ref", "refs/smithers/child")
	done := undo(t, s, "child")
	assert.Equal(t, snapshot.OpFork, done.Undone.Kind)
	assert.EqualValues(t, 0, done.Frame)
	assert.Nil(t, done.Op.Frame)
	assert.Equal(t, frames, repo.Git("for-each-ref", "refs/smithers/child"), "what has no code of its own needs no frame")
	row := rowAt(t, s, "child")
	assert.Equal(t, snapshot.RunCancelled, row.Status)
	assert.True(t, row.Parent.Undone)
	kinds, _ := eventsOf(t, repo, "child")
	assert.Equal(t, []string{"RunForked", "RunCancelled", "RunStatusChanged"}, kinds[len(kinds)-3:])
	_, err := travel.Undo(t.Context(), s, travel.UndoRequest{Run: "child"})
	assert.Equal(t, fault.NothingToUndo, fault.CodeOf(err))
}

func TestAForkThatHasRunIsNotTakenBack(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	head := fork(t, s, "run:4", "child")
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Run: func(row *snapshot.Run) {
		row.Status, row.StartedAtMs = snapshot.RunRunning, new(int64(5))
	}}))
	refs := repo.Git("for-each-ref")
	_, err := travel.Undo(t.Context(), s, travel.UndoRequest{Run: "child"})
	assert.Equal(t, fault.UndoRefused, fault.CodeOf(err))
	assert.Equal(t, refs, repo.Git("for-each-ref"))
}

func TestWhatWasDoneToAForkIsTakenBackBeforeTheFork(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	threeInARow(t, s, nil)
	fork(t, s, "run:4", "child")
	travelTo(t, s, "child", "b::0::1")
	assert.Equal(t, snapshot.OpTravel, undo(t, s, "child").Undone.Kind)
	assert.Equal(t, snapshot.OpFork, undo(t, s, "child").Undone.Kind)
}

func TestWithoutARunTheNewestOpOfAllIsTakenBack(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	_, err := travel.Undo(t.Context(), s, travel.UndoRequest{})
	assert.Equal(t, fault.NothingToUndo, fault.CodeOf(err))
	threeInARow(t, s, nil)
	for _, id := range []string{"a", "m", "z"} {
		p := newPlay(t, s, id, nil, "x")
		p.run("x::0::1")
	}
	_, err = travel.Undo(t.Context(), s, travel.UndoRequest{})
	assert.Equal(t, fault.NothingToUndo, fault.CodeOf(err))
	travelTo(t, s, "z", "x::0::1")
	travelTo(t, s, "a", "x::0::1")
	travelTo(t, s, "m", "x::0::1")
	for _, want := range []string{"m", "a", "z"} {
		assert.Equal(t, want, undo(t, s, "").Run)
	}
	_, err = travel.Undo(t.Context(), s, travel.UndoRequest{})
	assert.Equal(t, fault.NothingToUndo, fault.CodeOf(err))
}

func TestARunThatALiveProcessOwnsIsLeftAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := openWith(t, repo, newWatch().now)
	threeInARow(t, s, nil)
	travelTo(t, s, "run", "c::0::1")
	fork(t, s, "run:4", "child")
	for _, run := range []string{"run", "child"} {
		head, err := s.Head(t.Context(), run)
		require.NoError(t, err)
		takeClaim(t, head, claim.Request{})
	}
	refs := repo.Git("for-each-ref")
	_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err))
	_, err = travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b", NoDeps: true})
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err))
	_, err = travel.Reset(t.Context(), s, travel.ResetRequest{Run: "run"})
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err))
	_, err = travel.Undo(t.Context(), s, travel.UndoRequest{Run: "run"})
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err))
	_, err = travel.Undo(t.Context(), s, travel.UndoRequest{Run: "child"})
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err))
	assert.Equal(t, refs, repo.Git("for-each-ref"))
}

// A run whose process has died is nobody's; a travel fences that process out for good. This clone did not see the process, so the travel is forced.
func TestARunOfAProcessThatIsGoneIsTakenOver(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	threeInARow(t, s, nil)
	head, err := s.Head(t.Context(), "run")
	require.NoError(t, err)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Run: func(row *snapshot.Run) {
		row.Epoch, row.Owner, row.Status = 3, "0123456789abcdef", snapshot.RunRunning
	}}))
	_, err = travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "c", Attempt: 1, NoFiles: true, Force: true})
	require.NoError(t, err)
	row := rowAt(t, s, "run")
	assert.EqualValues(t, 4, row.Epoch)
	assert.Empty(t, row.Owner)
}

// Signals and approvals come in at any time, and are no reason not to travel.
func TestATravelGoesOnWhereTheTipMovesMeanwhile(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	armed := false
	s := moveTip(t, repo, &armed)
	threeInARow(t, s, nil)
	armed = true
	done := travelTo(t, s, "run", "b::0::1")
	assert.False(t, armed)
	assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "run").ID())
	assert.EqualValues(t, 7, done.Frame)
}
