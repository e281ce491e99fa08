package share_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// lose takes the state tree of a run's newest frame away.
func (c *clone) lose(head *timeline.Head) {
	c.t.Helper()
	require.NoError(c.t, c.store.Close())
	c.store = nil
	packs, err := filepath.Glob(filepath.Join(c.GitDir, "objects", "pack", "*.pack"))
	require.NoError(c.t, err)
	for _, pack := range packs {
		content, err := os.ReadFile(pack)
		require.NoError(c.t, err)
		require.NoError(c.t, os.Remove(pack))
		c.GitInput(string(content), "unpack-objects", "-q")
	}
	c.Git("prune-packed")
	tree := c.Git("rev-parse", head.Entry().ID.String()+"^{tree}")
	require.NoError(c.t, os.Remove(filepath.Join(c.GitDir, "objects", tree[:2], tree[2:])))
	c.Damaged()
	c.reopen()
}

func TestADamagedRunHoldsUpNoneThatIsWhole(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	for _, run := range []string{"b1", "b2", "b3"} {
		c.play(run, 1)
	}
	c.push("b1")
	damaged := c.play("a1", 1)
	c.append(damaged, snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	c.lose(damaged)

	pushed, err := c.sharer.Push(t.Context(), share.PushRequest{})

	assert.Equal(t, fault.MissingObject, fault.CodeOf(err), "%v", err)
	assert.Equal(t, map[string]string{"a1": share.StateDamaged, "b2": share.StatePushed, "b3": share.StatePushed}, states(pushed))
	assert.Len(t, refsOf(origin, "refs/smithers/_tip/"), 3)
}

func TestABrokenTipHereKeepsNoOtherRunFromBeingFetched(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirs.play("one", 1)
	theirs.play("two", 1)
	ours.Git("symbolic-ref", "refs/smithers/_tip/one", "refs/heads/main")

	fetched, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir})

	assert.Equal(t, fault.BrokenRef, fault.CodeOf(err), "%v", err)
	runs := byRun(fetched)
	assert.Equal(t, share.StateBroken, runs["one"].State)
	assert.Equal(t, share.StateCreated, runs["two"].State)
	ours.Git("symbolic-ref", "--delete", "refs/smithers/_tip/one")
	assert.Equal(t, share.StateCreated, ours.fetch(theirs)["one"].State)
}

func TestAnEmptyRefHereIsNotTheRemotesFault(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	ours, theirs := twoClones(t)
	theirs.play("one", 1)
	path := filepath.Join(ours.GitDir, "refs", "smithers", "_tip", "q")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, nil, 0o666))

	_, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir})

	assert.Equal(t, fault.BrokenRef, fault.CodeOf(err), "%v", err)
	assert.Contains(t, err.Error(), "refs/smithers/_tip/q")
	require.NoError(t, os.Remove(path))
}

func TestNothingShowsThePasswordOfAURL(t *testing.T) {
	t.Parallel()
	c := newClone(t, newOrigin(t))
	c.play("run", 1)
	const url = "git://user:secret@127.0.0.1:1/x"
	c.Git("remote", "set-url", "origin", url)
	c.reopen()
	for _, remote := range []string{"origin", url} {
		pushed, pushErr := c.sharer.Push(t.Context(), share.PushRequest{Remote: remote})
		fetched, fetchErr := c.sharer.Fetch(t.Context(), share.FetchRequest{Remote: remote})
		states, err := c.sharer.Remotes(t.Context(), remote)
		require.NoError(t, err)
		for _, shown := range []any{pushed, fetched, states, timeline.Explain(pushErr), timeline.Explain(fetchErr)} {
			document, err := json.Marshal(shown)
			require.NoError(t, err)
			assert.NotContains(t, string(document), "secret")
		}
		for _, err := range []error{pushErr, fetchErr} {
			assert.Equal(t, fault.RemoteFailed, fault.CodeOf(err))
			assert.NotContains(t, err.Error(), "secret")
		}
	}
}
