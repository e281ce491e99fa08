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
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// threeInARow is a run of a, b and c that has ended: frames 0 to 6.
func threeInARow(t testing.TB, s *timeline.Store, files *files.WorkingCopy) *play {
	t.Helper()
	p := newPlay(t, s, "run", files, "a", "b<a", "c<b")
	p.run("a::0::1", "b::0::1", "c::0::1")
	p.become(snapshot.RunFinished)
	return p
}

func TestATravelGoesBackToTheLastFrameBeforeAnAttempt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	done := travelTo(t, s, "run", "b::0::1")

	assert.EqualValues(t, 7, done.Frame)
	assert.EqualValues(t, 6, done.From)
	assert.Equal(t, timeline.Address{Run: "run", Frame: 2}, done.To)
	assert.Equal(t, []string{"b::0", "c::0"}, done.Reset)
	assert.Equal(t, []string{"b::0::1", "c::0::1"}, done.Cancelled)
	assert.Equal(t, []int64{3, 4, 5, 6}, done.Dropped)
	assert.Nil(t, done.Files)
	assert.Empty(t, done.NoFiles)

	then, now := entryAt(t, s, "run:2"), entryAt(t, s, "run:7")
	assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "run:7").ID())
	assert.Equal(t, then.ContentHash, now.ContentHash)
	require.NotNil(t, now.Based)
	assert.EqualValues(t, 2, *now.Based)
	rendered, err := s.Rendered(now)
	require.NoError(t, err)
	assert.Equal(t, tree(3), string(rendered))
	row := rowAt(t, s, "run")
	assert.Equal(t, snapshot.RunPending, row.Status)
	assert.Nil(t, row.FinishedAtMs)
	assert.Empty(t, row.Owner)
	assert.NotNil(t, row.StartedAtMs)
	assert.Equal(t, "back to frame 2, before b::0::1", now.Subject)
}

func TestTheFramesThatATravelStepsOverAreStillThere(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	refs := repo.Git("for-each-ref", "refs/smithers/run")
	travelTo(t, s, "run", "a::0::1")
	for _, frame := range []string{"1", "4", "6"} {
		assert.Equal(t, repo.Git("rev-parse", "refs/smithers/run/"+frame), entryAt(t, s, "run:"+frame).ID.String())
	}
	assert.Contains(t, repo.Git("for-each-ref", "refs/smithers/run"), refs)
	assert.Equal(t, repo.Git("rev-parse", "refs/smithers/_tip/run"), repo.Git("rev-parse", "refs/smithers/run/7"), "the frame gives the run back as well")
}

func TestATravelTellsWhatItDoesInEvents(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	travelTo(t, s, "run", "b::0::1")
	kinds, payloads := eventsOf(t, repo, "run")
	assert.Equal(t, []string{"TimeTravelStarted", "NodePending", "NodePending", "TimeTravelFinished", "RunStatusChanged"}, kinds)
	started := map[string]any{
		"runId": "run", "op": "travel", "fromFrameNo": 6.0, "toFrameNo": 2.0, "nodeId": "b", "iteration": 0.0, "attempt": 1.0,
	}
	assert.Equal(t, started, payloads[0])
	assert.Equal(t, map[string]any{"runId": "run", "nodeId": "b", "iteration": 0.0}, payloads[1])
	started["success"] = true
	assert.Equal(t, started, payloads[3])
	assert.Equal(t, map[string]any{"runId": "run", "status": "pending"}, payloads[4])
}

func TestWithoutANumberATravelIsToBeforeTheNewestAttempt(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "a", "b<a")
	p.run("a::0::1")
	p.step("b started", p.starts("b::0::1"))
	p.step("b failed", p.fails("b::0::1", "exit_status: 1", snapshot.NodePending))
	p.run("b::0::2")

	done := travelTo(t, s, "run", "b::0::1")
	assert.EqualValues(t, 2, done.To.Frame)
	again, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b", NoFiles: true})
	require.NoError(t, err)
	assert.EqualValues(t, 4, again.To.Frame)
	assert.Equal(t, 2, again.Op.Attempt)
	assert.Equal(t, stateAt(t, s, "run:4").ID(), stateAt(t, s, "run").ID(), "the error of the first try is still known to the second")
}

func TestATravelToAnAttemptThatIsNotThereChangesNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	p := threeInARow(t, s, files.WorkingCopyOf(s))
	first := newPlay(t, s, "first", nil)
	require.NoError(t, first.head.Append(t.Context(), snapshot.Draft{}))
	repo.Write("README.md", "# Mine\n")
	refs, files := repo.Git("for-each-ref"), filesIn(t, repo.Dir)
	for _, c := range []struct {
		name string
		req  travel.Request
		code fault.Code
	}{
		{"another number", travel.Request{Run: "run", Node: "b", Attempt: 2}, fault.AttemptNotFound},
		{"another iteration", travel.Request{Run: "run", Node: "b", Iteration: 1}, fault.AttemptNotFound},
		{"another node", travel.Request{Run: "run", Node: "z"}, fault.AttemptNotFound},
		{"another node, alone", travel.Request{Run: "run", Node: "z", NoDeps: true}, fault.AttemptNotFound},
		{"another run", travel.Request{Run: "gone", Node: "b"}, fault.RunNotFound},
		{
			"a workflow that does not fit",
			travel.Request{Run: "run", Node: "b", Redefinition: travel.Redefinition{
				Prepare: func(*snapshot.State, snapshot.Reveal) ([]snapshot.Change, error) {
					return nil, fault.New(fault.SchemaConflict, "no")
				},
			}},
			fault.SchemaConflict,
		},
	} {
		_, err := travel.Travel(t.Context(), s, c.req)
		assert.Equal(t, c.code, fault.CodeOf(err), c.name)
	}
	assert.Equal(t, refs, repo.Git("for-each-ref"))
	assert.Equal(t, files, filesIn(t, repo.Dir))
	requireUnclaimed(t, repo)
	p.in("run").step("the run goes on")
}

func TestBeforeARunsFirstFrameThereIsNothingToGoBackTo(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	p := &play{t: t, store: s}
	_, err := s.Create(t.Context(), snapshot.Run{ID: "run", Status: snapshot.RunFailed}, p.draft("all at once", p.starts("a::0::1")))
	require.NoError(t, err)
	refs := repo.Git("for-each-ref")
	_, err = travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "a"})
	assert.Equal(t, fault.FrameNotFound, fault.CodeOf(err))
	assert.Equal(t, refs, repo.Git("for-each-ref"))
}

// D5: of fifteen attempts none is lost, whatever became of it.
func TestAttemptsThatAreSteppedOverStayInHistoryMarkedCancelled(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "a", "b<a", "c<b")
	p.run("a::0::1")
	p.step("b started", p.starts("b::0::1"))
	p.step("b failed", p.fails("b::0::1", "exit_status: 1", snapshot.NodePending))
	p.run("b::0::2")
	p.step("c started", p.starts("c::0::1"))
	p.step("c failed", p.fails("c::0::1", "timeout: after 1s", snapshot.NodePending))
	p.run("c::0::2")
	before := attemptsAt(t, s, "run")
	done := travelTo(t, s, "run", "b::0::2")

	assert.Equal(t, map[string]string{
		"a::0::1": "finished",
		"b::0::1": "failed exit_status",
		"b::0::2": "cancelled stepped_over",
		"c::0::1": "cancelled timeout",
		"c::0::2": "cancelled stepped_over",
	}, attemptsAt(t, s, "run"))
	assert.Len(t, before, 5)
	assert.Equal(t, []string{"b::0::2", "c::0::1", "c::0::2"}, done.Cancelled)
	kept := p.in("run").attempt("b::0::2")
	assert.Equal(t, "stepped_over: the run went back to before b::0::2", kept.Error)
	assert.NotNil(t, kept.ExitStatus, "how it ended is still known")
}

func TestWhatWasInProgressThenIsPendingAndItsAttemptCancelled(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "a", "b", "c", "d<a", "e<b")
	p.step("a, b, c started", p.starts("a::0::1"), p.starts("b::0::1"), p.starts("c::0::1"))
	p.step("a finished", p.finishes("a::0::1", `1`))
	p.step("d started", p.starts("d::0::1"))
	p.step("b finished", p.finishes("b::0::1", `2`))
	done := travelTo(t, s, "run", "d::0::1")

	assert.Equal(t, map[string]string{
		"node a::0": "finished", "output results/a::0": "1", "node b::0": "pending", "node c::0": "pending",
		"node d::0": "pending", "node e::0": "pending", "input": `{"ticket":"T-1"}`,
	}, stateOf(t, stateAt(t, s, "run")))
	assert.Equal(t, map[string]string{
		"a::0::1": "finished", "b::0::1": "cancelled stepped_over", "c::0::1": "cancelled stepped_over", "d::0::1": "cancelled stepped_over",
	}, attemptsAt(t, s, "run"))
	assert.Equal(t, []string{"b::0", "c::0", "d::0"}, done.Reset)
	assert.NotNil(t, p.in("run").attempt("c::0::1").FinishedAtMs, "nobody goes on with it")
}

// Two attempts that start in one frame start at once: neither was there before.
func TestAnAttemptThatStartedBesideTheTargetIsSteppedOverToo(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "a", "b<a", "c<a")
	p.run("a::0::1")
	p.step("b, c started", p.starts("b::0::1"), p.starts("c::0::1"))
	p.step("b, c finished", p.finishes("b::0::1", `1`), p.finishes("c::0::1", `2`))
	done := travelTo(t, s, "run", "c::0::1")
	assert.Equal(t, []string{"b::0", "c::0"}, done.Reset)
	assert.Equal(t, []string{"b::0::1", "c::0::1"}, done.Cancelled)
}

// A node that was done again later, alone, has an attempt after the target's.
func TestANodeWithALaterAttemptIsPendingThoughItWasFinishedThen(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := threeInARow(t, s, nil)
	_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "a", NoDeps: true})
	require.NoError(t, err)
	p.in("run").run("a::0::2")
	done := travelTo(t, s, "run", "c::0::1")
	assert.EqualValues(t, 4, done.To.Frame)
	assert.Equal(t, map[string]string{
		"node a::0": "pending", "node b::0": "finished", "node c::0": "pending",
		"output results/b::0": `{"of":"b::0::1"}`, "input": `{"ticket":"T-1"}`,
	}, stateOf(t, stateAt(t, s, "run")))
}

func TestWithNoDepsTheNodeAloneIsPendingInTheStateAsItIs(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, files.WorkingCopyOf(s))
	repo.Write("README.md", "# Mine\n")
	files := filesIn(t, repo.Dir)
	done, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "a", NoDeps: true})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"node a::0": "pending", "node b::0": "finished", "node c::0": "finished",
		"output results/b::0": `{"of":"b::0::1"}`, "output results/c::0": `{"of":"c::0::1"}`, "input": `{"ticket":"T-1"}`,
	}, stateOf(t, stateAt(t, s, "run")))
	assert.Equal(t, []string{"a::0"}, done.Reset)
	assert.Equal(t, []string{"a::0::1"}, done.Cancelled)
	assert.Empty(t, done.Dropped)
	assert.Nil(t, done.Files)
	assert.Equal(t, timeline.Address{Run: "run", Frame: 6}, done.To)
	assert.Equal(t, files, filesIn(t, repo.Dir))
	assert.Equal(t, vcsAt(t, s, "run:6").Tree, vcsAt(t, s, "run:7").Tree)
	assert.Nil(t, entryAt(t, s, "run:7").Based)
	assert.Equal(t, snapshot.RunPending, rowAt(t, s, "run").Status)
}

func TestARunIsTraveledTwice(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := threeInARow(t, s, nil)
	travelTo(t, s, "run", "c::0::1") // frame 7, based on 4
	p.in("run").run("c::0::2")       // 8, 9
	done := travelTo(t, s, "run", "b::0::1")
	assert.EqualValues(t, 10, done.Frame)
	assert.Equal(t, []int64{3, 4, 7, 8, 9}, done.Dropped, "5 and 6 were dropped before")
	assert.Equal(t, []string{"b::0::1", "c::0::2"}, done.Cancelled)

	same := travelTo(t, s, "run", "b::0::1")
	assert.Equal(t, stateAt(t, s, "run:10").ID(), stateAt(t, s, "run:11").ID())
	assert.Empty(t, same.Reset)
	assert.Empty(t, same.Cancelled)
	assert.Equal(t, []int64{10}, same.Dropped)
}

// The frames before a dropped one are what happened there: they are live again.
func TestATravelIntoDroppedFramesMakesThemLiveAgain(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := threeInARow(t, s, nil)
	travelTo(t, s, "run", "b::0::1") // frame 7, based on 2
	p.in("run").run("b::0::2")       // 8, 9
	done := travelTo(t, s, "run", "c::0::1")
	assert.EqualValues(t, 4, done.To.Frame)
	assert.Equal(t, []int64{7, 8, 9}, done.Dropped)
	assert.Equal(t, map[string]string{
		"a::0::1": "finished", "b::0::1": "finished", "b::0::2": "cancelled stepped_over", "c::0::1": "cancelled stepped_over",
	}, attemptsAt(t, s, "run"), "what had finished by then is as it was then")
	travelTo(t, s, "run", "b::0::2")
	assert.Equal(t, stateAt(t, s, "run:7").ID(), stateAt(t, s, "run").ID())
}

func TestATravelMayGoOnWithAnotherWorkflow(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := threeInARow(t, s, nil)
	wf := &snapshot.Workflow{Definition: []byte("another: one\n")}
	_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b", NoFiles: true, Redefinition: travel.Redefinition{
		Workflow: wf, WorkflowPath: "other.yaml",
		Prepare: func(state *snapshot.State, _ snapshot.Reveal) ([]snapshot.Change, error) {
			assert.Equal(t, stateAt(t, s, "run:2").ID(), state.ID())
			return []snapshot.Change{p.node("d", 0, snapshot.NodePending)}, nil
		},
	}})
	require.NoError(t, err)
	row := rowAt(t, s, "run")
	assert.Equal(t, "other.yaml", row.WorkflowPath)
	assert.Equal(t, wf.Hash(), row.WorkflowHash)
	assert.Equal(t, "pending", stateOf(t, stateAt(t, s, "run"))["node d::0"])

	travelTo(t, s, "run", "c::0::1")
	assert.Equal(t, "triage.yaml", rowAt(t, s, "run").WorkflowPath, "without one it is that of the frame")
	assert.Equal(t, rowAt(t, s, "run:4").WorkflowHash, rowAt(t, s, "run").WorkflowHash)
}
