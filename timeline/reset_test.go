package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

func reset(t testing.TB, s *timeline.Store, run string) *travel.Result {
	t.Helper()
	done, err := travel.Reset(t.Context(), s, travel.ResetRequest{Run: run})
	require.NoError(t, err)
	return done
}

func TestAResetBeginsAnew(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	looping(t, s)
	newest := rowAt(t, s, "run").Frame
	done := reset(t, s, "run")
	assert.Equal(t, map[string]string{
		"node work::0": "pending", "node check::0": "pending", "node after::0": "pending", "input": `{"ticket":"T-1"}`,
	}, stateOf(t, stateAt(t, s, "run")))
	assert.Equal(t, map[string]string{"mend": string(snapshot.EncodeLoop(snapshot.Loop{RalphID: "mend"}).Value)},
		rowsOf(t, stateAt(t, s, "run").Loops(), nil))
	assert.Equal(t, newest+1, done.Frame)
	assert.Equal(t, newest, done.From)
	assert.Equal(t, timeline.Address{Run: "run", Frame: 0}, done.To)
	assert.Len(t, done.Dropped, int(newest))
	assert.Equal(t, []string{"after::0", "check::0", "work::0"}, done.Reset)
	assert.Len(t, done.Cancelled, 7)
	for key, state := range attemptsAt(t, s, "run") {
		assert.Equal(t, "cancelled stepped_over", state, key)
	}
	rendered, err := s.Rendered(entryAt(t, s, "run"))
	require.NoError(t, err)
	assert.Equal(t, tree(1), string(rendered), "nothing is done yet")
	row := rowAt(t, s, "run")
	assert.Equal(t, snapshot.RunPending, row.Status)
	assert.Nil(t, row.FinishedAtMs)
	kinds, _ := eventsOf(t, repo, "run")
	assert.Equal(t, []string{
		"TimeTravelStarted", "NodePending", "NodePending", "NodePending", "TimeTravelFinished", "RunStatusChanged",
	}, kinds)
}

func TestAResetEmptiesTheMailboxAndLeavesFilesAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	p := gated(t, s)
	p.files = files.WorkingCopyOf(s)
	p.step("deploy finished", p.finishes("deploy::0::1", `1`))
	repo.Write("README.md", "# Mine\n")
	files := filesIn(t, repo.Dir)
	done := reset(t, s, "run")
	state := stateAt(t, s, "run")
	assert.Zero(t, state.Approvals().Len()+state.Signals().Len()+state.Waits().Len()+state.HumanRequests().Len())
	assert.Equal(t, files, filesIn(t, repo.Dir))
	assert.Nil(t, done.Files)
	assert.Equal(t, vcsAt(t, s, "run:8").Tree, vcsAt(t, s, "run:9").Tree)

	undo(t, s, "run")
	assert.Equal(t, stateAt(t, s, "run:8").ID(), stateAt(t, s, "run").ID())
	assert.Equal(t, files, filesIn(t, repo.Dir))
	assert.Equal(t, attemptsAt(t, s, "run:8"), attemptsAt(t, s, "run"))
}

func TestAResetMakesNoChild(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	reset(t, s, "run")
	assert.Equal(t, "refs/smithers/_tip/run", repo.Git("for-each-ref", "--format=%(refname)", "refs/smithers/_tip"))
}

func TestAResetMayGoOnWithAnotherWorkflow(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := threeInARow(t, s, nil)
	wf := &snapshot.Workflow{Definition: []byte("another: one\n")}
	_, err := travel.Reset(t.Context(), s, travel.ResetRequest{Run: "run", Redefinition: travel.Redefinition{
		Workflow: wf,
		Prepare: func(state *snapshot.State, _ snapshot.Reveal) ([]snapshot.Change, error) {
			assert.Empty(t, state.Tables(), "there is no output that would not fit it")
			return []snapshot.Change{p.node("d", 0, snapshot.NodePending)}, nil
		},
	}})
	require.NoError(t, err)
	assert.Equal(t, wf.Hash(), rowAt(t, s, "run").WorkflowHash)
	assert.Equal(t, "triage.yaml", rowAt(t, s, "run").WorkflowPath)
	assert.Equal(t, "pending", stateOf(t, stateAt(t, s, "run"))["node d::0"])

	undo(t, s, "run")
	assert.Equal(t, rowAt(t, s, "run:6").WorkflowHash, rowAt(t, s, "run").WorkflowHash)
	assert.Equal(t, stateAt(t, s, "run:6").ID(), stateAt(t, s, "run").ID())
}

func TestAForkIsResetToItsOwnBeginning(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := threeInARow(t, s, nil)
	fork(t, s, "run:4", "child")
	p.in("child").run("c::0::2")
	done := reset(t, s, "child")
	assert.Equal(t, []int64{1, 2}, done.Dropped)
	assert.Equal(t, []string{"a::0", "b::0", "c::0"}, done.Reset)
	assert.Equal(t, "finished", attemptsAt(t, s, "run")["a::0::1"], "the parent's history is its own")
}
