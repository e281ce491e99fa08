package transport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

func TestPushMovesTipsForwardAndOnlyForward(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	to := open(t, w.Repo, nil)
	for _, step := range []struct {
		why  string
		to   objstore.ID
		want transport.Status
	}{
		{"a tip that is new there", w.commits[0], transport.Moved},
		{"a descendant", w.commits[2], transport.Moved},
		{"where it is already", w.commits[2], transport.UpToDate},
		{"an ancestor", w.commits[1], transport.Stale},
	} {
		outcomes, err := to.Push(t.Context(), "origin", []transport.Move{tip(t, "run", step.to)})
		require.NoError(t, err, step.why)
		assert.Equal(t, []transport.Status{step.want}, statuses(outcomes), step.why)
		assert.Equal(t, step.want == transport.Stale, outcomes[0].Reason != "", step.why)
	}
	assert.Equal(t, map[refs.Name]objstore.ID{refstest.Tip(t, "run"): w.commits[2]}, has(t, w.origin))
}

func TestPushCreatesAFrameOnceAndMovesItNever(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	to := open(t, w.Repo, nil)
	moves := frames(t, w.commits)
	_, err := to.Push(t.Context(), "origin", moves[:1])
	require.NoError(t, err)

	again, err := to.Push(t.Context(), "origin", moves)
	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.UpToDate, transport.Moved}, statuses(again))

	// It would be a fast-forward.
	moves[0].New = w.commits[1]
	other, err := to.Push(t.Context(), "origin", moves)
	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.Stale, transport.UpToDate}, statuses(other))
	assert.Equal(t, w.commits[0], has(t, w.origin)[moves[0].Name])
}

func TestPushDeletesWhatIsAtTheExpectedValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	to := open(t, w.Repo, nil)
	_, err := to.Push(t.Context(), "origin", []transport.Move{tip(t, "a", w.commits[0]), tip(t, "b", w.commits[1])})
	require.NoError(t, err)
	remove := []transport.Move{
		{Name: refstest.Tip(t, "a"), How: transport.Delete, Old: w.commits[0]},
		{Name: refstest.Tip(t, "b"), How: transport.Delete, Old: w.commits[0]},
		{Name: refstest.Tip(t, "never"), How: transport.Delete, Old: w.commits[0]},
	}
	outcomes, err := to.Push(t.Context(), "origin", remove)
	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.Moved, transport.Stale, transport.UpToDate}, statuses(outcomes))
	assert.Equal(t, map[refs.Name]objstore.ID{refstest.Tip(t, "b"): w.commits[1]}, has(t, w.origin))
}

func TestWhatIsStaleHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	to := open(t, w.Repo, nil)
	_, err := to.Push(t.Context(), "origin", []transport.Move{tip(t, "b", w.commits[2])})
	require.NoError(t, err)

	outcomes, err := to.Push(t.Context(), "origin", []transport.Move{
		tip(t, "a", w.commits[0]), tip(t, "b", w.commits[1]), tip(t, "c", w.commits[0]),
	})

	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.Moved, transport.Stale, transport.Moved}, statuses(outcomes))
	assert.Equal(t, map[refs.Name]objstore.ID{
		refstest.Tip(t, "a"): w.commits[0], refstest.Tip(t, "b"): w.commits[2], refstest.Tip(t, "c"): w.commits[0],
	}, has(t, w.origin))
}
