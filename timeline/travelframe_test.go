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

func TestATravelToAFrameTakesTheStateAndFilesOfIt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, files.WorkingCopyOf(s))
	repo.Write("README.md", "# Mine\n")
	done, err := travel.Travel(t.Context(), s, travel.Request{Run: "run:2"})
	require.NoError(t, err)

	assert.Equal(t, timeline.Address{Run: "run", Frame: 2}, done.To)
	assert.Equal(t, []string{"b::0", "c::0"}, done.Reset)
	assert.Equal(t, []string{"b::0::1", "c::0::1"}, done.Cancelled)
	assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "run").ID())
	require.NotNil(t, done.Files)
	assert.NotNil(t, done.Files.Saved, "what was in the working copy is in a frame")
	assert.Equal(t, "back to frame 2", entryAt(t, s, "run").Subject)
	assert.Equal(t, snapshot.RunPending, rowAt(t, s, "run").Status)
	assert.Equal(t, snapshot.OpReset, done.Op.Kind, "a travel without a node would be another engine's")

	undone, err := travel.Undo(t.Context(), s, travel.UndoRequest{Run: "run"})
	require.NoError(t, err)
	require.NotNil(t, undone.Files)
	assert.Equal(t, stateAt(t, s, "run:6").ID(), stateAt(t, s, "run").ID())
	assert.Equal(t, "undone: back to frame 2", entryAt(t, s, "run").Subject)
}

func TestWhatWasInProgressAtTheFrameIsPendingAfterATravelToIt(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	threeInARow(t, s, nil)
	done, err := travel.Travel(t.Context(), s, travel.Request{Run: "run:3"}) // b has just started
	require.NoError(t, err)
	assert.Equal(t, []string{"b::0", "c::0"}, done.Reset)
	assert.Equal(t, []string{"b::0::1", "c::0::1"}, done.Cancelled)
}

func TestAResetToAFrameLeavesTheFiles(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, files.WorkingCopyOf(s))
	repo.Write("README.md", "# Mine\n")
	before := filesIn(t, repo.Dir)
	done, err := travel.Reset(t.Context(), s, travel.ResetRequest{Run: "run:4"})
	require.NoError(t, err)
	assert.Equal(t, []string{"c::0"}, done.Reset)
	assert.Equal(t, stateAt(t, s, "run:4").ID(), stateAt(t, s, "run").ID())
	assert.Nil(t, done.Files)
	assert.Equal(t, before, filesIn(t, repo.Dir))
}

func TestAnAttemptIsTheNewestOneByTheFrameThatIsNamed(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "a", "b<a")
	p.run("a::0::1")
	p.step("b started", p.starts("b::0::1"))
	p.step("b failed", p.fails("b::0::1", "exit_status: 1", snapshot.NodePending))
	p.run("b::0::2")
	done, err := travel.Travel(t.Context(), s, travel.Request{Run: "run:4", Node: "b"})
	require.NoError(t, err)
	assert.Equal(t, 1, done.Op.Attempt)
	assert.EqualValues(t, 2, done.To.Frame)

	_, err = travel.Travel(t.Context(), s, travel.Request{Run: "run:1", Node: "b"})
	assert.Equal(t, fault.AttemptNotFound, fault.CodeOf(err))
}

func TestAFrameOfTheBeginningOfARunsIDIsNotThatRuns(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	threeInARow(t, s, nil)
	before := repo.Git("for-each-ref")
	_, traveled := travel.Travel(t.Context(), s, travel.Request{Run: "ru:2"})
	_, reset := travel.Reset(t.Context(), s, travel.ResetRequest{Run: "ru:2"})
	_, revert := files.Revert(t.Context(), s, files.RevertRequest{Run: "ru:2", Node: "a"})
	for _, err := range []error{traveled, reset, revert} {
		assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
	}
	_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run"})
	assert.Equal(t, fault.InvalidAddress, fault.CodeOf(err))
	_, err = travel.Travel(t.Context(), s, travel.Request{Run: "run:7"})
	assert.Equal(t, fault.FrameNotFound, fault.CodeOf(err))
	assert.Equal(t, before, repo.Git("for-each-ref"))
}

func TestTheFrameBeforeIsTheOneThatAFrameGoesOnFrom(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	threeInARow(t, s, nil)
	_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run:2", NoFiles: true})
	require.NoError(t, err)
	_, err = s.Fork(t.Context(), timeline.ForkRequest{From: "run:4", RunID: "child"})
	require.NoError(t, err)
	for address, want := range map[string]string{
		"run:6": "run:5", "run:7": "run:2", "run": "run:2", "run:0": "", "child:0": "run:4",
	} {
		at, err := s.Load(t.Context(), address)
		require.NoError(t, err)
		before, err := files.Before(t.Context(), s, at)
		require.NoError(t, err)
		if want == "" {
			assert.Nil(t, before, address)
			continue
		}
		require.NotNil(t, before, address)
		assert.Equal(t, want, before.Address.String(), address)
	}
}
