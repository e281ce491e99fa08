package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

func fork(t testing.TB, s *timeline.Store, from, id string, nodes ...string) *timeline.Head {
	t.Helper()
	head, err := s.Fork(t.Context(), timeline.ForkRequest{From: from, RunID: id, Nodes: nodes})
	require.NoError(t, err)
	return head
}

func TestAForkTravelsToBeforeItWasForked(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	p := threeInARow(t, s, nil)
	fork(t, s, "run:4", "child")
	p.in("child").run("c::0::2")
	before := repo.Git("for-each-ref", "refs/smithers/run", "refs/smithers/_tip/run")
	done := travelTo(t, s, "child", "b::0::1")

	assert.Equal(t, timeline.Address{Run: "run", Frame: 2}, done.To)
	assert.EqualValues(t, 3, done.Frame)
	assert.Equal(t, []int64{0, 1, 2}, done.Dropped, "its own frames have nothing before the fork")
	assert.Nil(t, done.Op.To)
	require.NotNil(t, entryAt(t, s, "child:3").Based)
	assert.Equal(t, snapshot.NoFrame, *entryAt(t, s, "child:3").Based)
	assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "child").ID())
	assert.Equal(t, map[string]string{
		"a::0::1": "finished", "b::0::1": "cancelled stepped_over", "c::0::2": "cancelled stepped_over",
	}, attemptsAt(t, s, "child"))
	assert.Equal(t, before, repo.Git("for-each-ref", "refs/smithers/run", "refs/smithers/_tip/run"), "the parent is as it was")
	assert.Equal(t, "finished", attemptsAt(t, s, "run")["b::0::1"])

	undone := undo(t, s, "child")
	assert.EqualValues(t, 2, undone.To.Frame)
	assert.Equal(t, []int64{3}, undone.Dropped)
	assert.Equal(t, stateAt(t, s, "child:2").ID(), stateAt(t, s, "child").ID())
}

func TestAForkTravelsToItsFirstFrameWhichIsItsParents(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := threeInARow(t, s, nil)
	fork(t, s, "run:4", "child")
	p.in("child").run("c::0::2")
	done := travelTo(t, s, "child", "c::0::2")
	assert.Equal(t, timeline.Address{Run: "child", Frame: 0}, done.To)
	assert.Equal(t, []int64{1, 2}, done.Dropped)
	assert.Equal(t, stateAt(t, s, "run:4").ID(), stateAt(t, s, "child").ID())
}

func TestAForkThatResetsTravelsToItsOwnFirstFrame(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := threeInARow(t, s, nil)
	fork(t, s, "run", "child", "b")
	p.in("child").run("b::0::2", "c::0::2")
	done := travelTo(t, s, "child", "b::0::2")
	assert.Equal(t, timeline.Address{Run: "child", Frame: 0}, done.To)
	assert.Equal(t, stateAt(t, s, "child:0").ID(), stateAt(t, s, "child").ID())
	done = travelTo(t, s, "child", "c::0::1")
	assert.Equal(t, timeline.Address{Run: "run", Frame: 4}, done.To)
	assert.Equal(t, []int64{0, 5}, done.Dropped, "1 to 4 were dropped before")
}

// What is dropped in its run is still a frame like any other.
func TestADroppedFrameIsForkedLikeAnyOther(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	travelTo(t, s, "run", "a::0::1")
	child := fork(t, s, "run:4", "child")
	assert.Equal(t, repo.Git("rev-parse", "refs/smithers/run/4"), repo.Git("rev-parse", "refs/smithers/child/0"))
	assert.Equal(t, stateAt(t, s, "run:4").ID(), child.State().ID())
	undone := undo(t, s, "run")
	assert.Equal(t, snapshot.OpTravel, undone.Undone.Kind, "the fork is the child's")
}

func TestAForkKnowsItsForkAndNothingThatWasDoneToItsParent(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	travelTo(t, s, "run", "b::0::1")
	travelTo(t, s, "run", "a::0::1")
	fork(t, s, "run", "plain")
	fork(t, s, "run:4", "other", "a")
	for run, frame := range map[string]*int64{"plain": nil, "other": new(int64)} {
		ops, err := timeline.OpsOf(t.Context(), s, run)
		require.NoError(t, err)
		require.Len(t, ops, 1)
		assert.Equal(t, snapshot.Op{Number: 1, Kind: snapshot.OpFork, AtMs: ops[0].AtMs, Frame: frame}, ops[0])
	}
	kinds, _ := eventsOf(t, repo, "plain")
	assert.Equal(t, "RunForked", kinds[len(kinds)-1])
}

func TestAReplayIsToldAsOne(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "run:2", RunID: "again", Replay: true, RestoreVCS: true})
	require.NoError(t, err)
	kinds, payloads := eventsOf(t, repo, "again")
	assert.Equal(t, []string{"RunForked", "ReplayStarted"}, kinds)
	assert.Equal(t, map[string]any{"runId": "again", "parentRunId": "run", "parentFrameNo": 2.0}, payloads[0])
	assert.Equal(t, map[string]any{"runId": "again", "parentRunId": "run", "parentFrameNo": 2.0, "restoreVcs": true}, payloads[1])
}
