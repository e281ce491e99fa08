package share_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/share"
)

// pushFrames pushes with frame refs.
func (c *clone) pushFrames(runs ...string) *share.PushResult {
	c.t.Helper()
	pushed, err := c.sharer.Push(c.t.Context(), share.PushRequest{Runs: runs, Frames: true})
	require.NoError(c.t, err)
	return pushed
}

func TestOnlyTheFramesOfARunsChainAreSent(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	c.play("run", 2)
	c.fork("run:1", "fork")
	want := refsOf(c.Repo, "refs/smithers/")
	c.Write("secret.txt", "hush\n")
	c.Git("add", "secret.txt")
	c.Git("update-ref", "refs/smithers/run/7", c.Git("commit-tree", "-m", "mine alone", c.Git("write-tree")))
	c.Git("update-ref", "refs/smithers/nobody/0", "HEAD")

	c.pushFrames()

	assert.Equal(t, want, refsOf(origin, "refs/smithers/"))
	c.Git("update-ref", "-d", "refs/smithers/run/7")
	c.Git("update-ref", "-d", "refs/smithers/nobody/0")
}

func TestTheFramesOfASealedRunAreSent(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	c.play("run", 2)
	want := refsOf(c.Repo, "refs/smithers/")
	for name := range refsOf(c.Repo, "refs/smithers/run/") {
		c.Git("update-ref", "-d", name)
	}

	pushed := c.pushFrames()

	assert.Equal(t, 3, pushed.Runs[0].Frames)
	assert.Equal(t, want, refsOf(origin, "refs/smithers/"))
}

func TestFramesOfWhatWasPushedGoBeforeThoseOfNewerRuns(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	older := c.play("older", 1)
	c.push()
	c.play("newer", 1)
	c.push()
	c.goOn(older, 1)
	c.play("newest", 1)
	c.push("newest")
	c.reopen("GIT_SMITHERS_REMOTE_FRAME_REFS=4")

	pushed := c.pushFrames()

	require.Len(t, pushed.Runs, 2)
	assert.Len(t, refsOf(origin, "refs/smithers/older/"), 3, "it was pushed")
	assert.Len(t, refsOf(origin, "refs/smithers/newest/"), 1, "it is the newest of the others")
	assert.Empty(t, refsOf(origin, "refs/smithers/newer/"))
}
