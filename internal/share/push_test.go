package share_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// push pushes and requires that nothing was refused.
func (c *clone) push(runs ...string) *share.PushResult {
	c.t.Helper()
	pushed, err := c.sharer.Push(context.Background(), share.PushRequest{Runs: runs})
	require.NoError(c.t, err)
	return pushed
}

// states are what became of each run.
func states(pushed *share.PushResult) map[string]string {
	out := make(map[string]string)
	for _, run := range pushed.Runs {
		out[run.RunID] = run.State
	}
	return out
}

func tipOf(head *timeline.Head) string { return head.Entry().ID.String() }

func TestPushTakesTipsAndNoFrames(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	one, two := c.play("one", 2), c.play("Two", 0)

	pushed := c.push()

	assert.Equal(t, "origin", pushed.Remote)
	assert.Equal(t, map[string]string{"one": share.StatePushed, "Two": share.StatePushed}, states(pushed))
	assert.Equal(t, map[string]string{
		"refs/smithers/_tip/one": tipOf(one), "refs/smithers/_tip/%54wo": tipOf(two),
	}, refsOf(origin, "refs/smithers"))
	assert.Equal(t, map[string]string{
		"refs/smithers-remote/origin/one": tipOf(one), "refs/smithers-remote/origin/%54wo": tipOf(two),
	}, refsOf(c.Repo, "refs/smithers-remote"))
	assert.Empty(t, c.push().Runs, "there is nothing left to push")
}

func TestPushTakesWhatChangedAndWhatIsNamed(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	one := c.play("one", 1)
	c.play("two", 1)
	c.push()

	c.goOn(one, 1)

	assert.Equal(t, map[string]string{"one": share.StatePushed}, states(c.push()))
	assert.Equal(t, map[string]string{"two": share.StateCurrent}, states(c.push("tw")), "a unique prefix will do")
	assert.Equal(t, tipOf(one), origin.Git("rev-parse", "refs/smithers/_tip/one"))
}

func TestPushTellsWhatItWouldPush(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	c.play("one", 1)

	pushed, err := c.sharer.Push(t.Context(), share.PushRequest{DryRun: true, Frames: true})

	require.NoError(t, err)
	assert.Equal(t, map[string]string{"one": share.StatePushed}, states(pushed))
	assert.Empty(t, refsOf(origin, "refs/smithers"))
}

func TestPushOfARunThatWentOnElsewhere(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	mine, theirs := newClone(t, origin), newClone(t, origin)
	run := mine.play("run", 2)
	mine.push()
	theirs.take("run")
	there, err := theirs.store.Head(t.Context(), "run")
	require.NoError(t, err)
	theirs.goOn(there, 2)
	theirs.push()

	// What only the remote has is no reason to push, nor an error.
	assert.Empty(t, mine.push().Runs)
	pushed := mine.push("run")
	assert.Equal(t, map[string]string{"run": share.StateCurrent}, states(pushed))
	assert.Equal(t, "the remote has newer entries", pushed.Runs[0].Reason)

	mine.goOn(run, 1)
	pushed, err = mine.sharer.Push(t.Context(), share.PushRequest{})
	require.Error(t, err)
	assert.Equal(t, fault.PushRefused, fault.CodeOf(err))
	assert.Equal(t, map[string]string{"run": share.StateDiverged}, states(pushed))
	assert.Equal(t, "the run was also continued at the remote: 1 entries are only in this repository, 2 only at the remote", pushed.Runs[0].Reason)
	assert.Equal(t, tipOf(there), origin.Git("rev-parse", "refs/smithers/_tip/run"), "nothing was moved there")
	assert.Equal(t, tipOf(run), mine.Git("rev-parse", "refs/smithers/_tip/run"), "nor here")
}

func TestPushOfARunThatIsAnotherThere(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	mine, theirs := newClone(t, origin), newClone(t, origin)
	first := theirs.play("run", 1)
	theirs.push()
	mine.play("run", 3)
	mine.play("fine", 0)

	pushed, err := mine.sharer.Push(t.Context(), share.PushRequest{})

	require.Error(t, err)
	assert.Equal(t, fault.PushRefused, fault.CodeOf(err))
	assert.Equal(t, map[string]string{"run": share.StateUnrelated, "fine": share.StatePushed}, states(pushed))
	assert.Equal(t, tipOf(first), origin.Git("rev-parse", "refs/smithers/_tip/run"))
}

func TestIdsThatDifferInCaseAreDifferentRunsThere(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	mine, theirs := newClone(t, origin), newClone(t, origin)
	upper := mine.play("Triage", 1)
	lower := theirs.play("triage", 2)
	mine.push()
	theirs.push()

	assert.Equal(t, map[string]string{
		"refs/smithers/_tip/%54riage": tipOf(upper), "refs/smithers/_tip/triage": tipOf(lower),
	}, refsOf(origin, "refs/smithers"))
}

func TestAPushAfterAMirrorBringsTheRunsBack(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c, colleague := newClone(t, origin), newClone(t, origin)
	run := c.play("run", 1)
	c.push()
	colleague.Git("push", "--quiet", "--mirror", "origin")
	require.Empty(t, refsOf(origin, "refs/smithers"))

	assert.Equal(t, map[string]string{"run": share.StatePushed}, states(c.push()))

	assert.Equal(t, map[string]string{"refs/smithers/_tip/run": tipOf(run)}, refsOf(origin, "refs/smithers"))
	assert.Equal(t, tipOf(run), c.Git("rev-parse", "refs/smithers/_tip/run"))
}

func TestFramesArePushedWithinTheRemotesBudget(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	c.play("old", 3)
	c.play("new", 2)
	c.reopen("GIT_SMITHERS_REMOTE_FRAME_REFS=5")
	ask := share.PushRequest{Frames: true}

	pushed, err := c.sharer.Push(t.Context(), ask)

	require.NoError(t, err)
	frames := make(map[string]int)
	for _, run := range pushed.Runs {
		frames[run.RunID] = run.Frames
	}
	assert.Equal(t, map[string]int{"new": 3, "old": 2}, frames, "the newest run has all of them")
	there := refsOf(origin, "refs/smithers")
	assert.Len(t, there, 2+5)
	assert.Contains(t, there, "refs/smithers/old/3", "the newest frames of the other one")

	pushed, err = c.sharer.Push(t.Context(), ask)
	require.NoError(t, err)
	assert.Empty(t, pushed.Runs)
	assert.Equal(t, there, refsOf(origin, "refs/smithers"))
}

func TestNoTipIsPushedOverATombstone(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	run := c.play("run", 1)
	c.push()
	stone := c.Git("commit-tree", "-m", "run pruned", c.Git("mktree"))
	c.Git("push", "--quiet", "origin", stone+":refs/smithers/_gone/run", ":refs/smithers/_tip/run")

	assert.Equal(t, map[string]string{"run": share.StatePruned}, states(c.push()), "it is told, and no failure")
	pushed, err := c.sharer.Push(t.Context(), share.PushRequest{Runs: []string{"run"}})
	assert.Equal(t, fault.PushRefused, fault.CodeOf(err), "unless it was named")
	assert.Equal(t, map[string]string{"run": share.StatePruned}, states(pushed))
	assert.Equal(t, map[string]string{"refs/smithers/_gone/run": stone}, refsOf(origin, "refs/smithers"))
	assert.Equal(t, map[string]string{"refs/smithers-remote/origin/_gone/run": stone}, refsOf(c.Repo, "refs/smithers-remote"))

	pushed, err = c.sharer.Push(t.Context(), share.PushRequest{Runs: []string{"run"}, Revive: true})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"run": share.StatePushed}, states(pushed))
	assert.Equal(t, map[string]string{"refs/smithers/_tip/run": tipOf(run)}, refsOf(origin, "refs/smithers"))
	assert.Equal(t, map[string]string{"refs/smithers-remote/origin/run": tipOf(run)}, refsOf(c.Repo, "refs/smithers-remote"))
}

func TestTombstonesArePushed(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	stone := c.Git("commit-tree", "-m", "run pruned", c.Git("mktree"))
	c.Git("update-ref", "refs/smithers/_gone/old", stone)

	c.push()

	assert.Equal(t, map[string]string{"refs/smithers/_gone/old": stone}, refsOf(origin, "refs/smithers"))
	assert.Equal(t, map[string]string{"refs/smithers-remote/origin/_gone/old": stone}, refsOf(c.Repo, "refs/smithers-remote"))
	c.reopen()
	pushed, err := c.sharer.Push(t.Context(), share.PushRequest{Runs: []string{"old"}})
	assert.Equal(t, fault.PushRefused, fault.CodeOf(err))
	assert.Equal(t, map[string]string{"old": share.StatePruned}, states(pushed))
}

func TestWhichRemoteIsMeant(t *testing.T) {
	t.Parallel()
	origin, other := newOrigin(t), newOrigin(t)
	c := newClone(t, origin)
	c.play("run", 0)
	for _, step := range []struct {
		env, want string
		config    []string
	}{
		{want: "origin"},
		{want: "origin", config: []string{"remote.other.url", other.Dir}},
		{want: "other", config: []string{"branch.main.remote", "other"}},
		{want: "origin", env: "GIT_SMITHERS_REMOTE=origin"},
		{want: other.Dir, env: "GIT_SMITHERS_REMOTE=" + other.Dir},
	} {
		if step.config != nil {
			c.Git(append([]string{"config"}, step.config...)...)
		}
		c.reopen(step.env)
		assert.Equal(t, step.want, c.push().Remote)
	}
	assert.Equal(t, refsOf(origin, "refs/smithers"), refsOf(other, "refs/smithers"))
	for name := range refsOf(c.Repo, "refs/smithers-remote") {
		assert.NotContains(t, name, "repo", "no ref is called after a URL")
	}

	_, err := c.sharer.Push(t.Context(), share.PushRequest{Remote: "nobody"})
	assert.Equal(t, fault.RemoteNotFound, fault.CodeOf(err))
	_, err = c.sharer.Push(t.Context(), share.PushRequest{Remote: c.Home + "/nowhere"})
	assert.Equal(t, fault.RemoteFailed, fault.CodeOf(err))
	_, err = c.sharer.Push(t.Context(), share.PushRequest{Runs: []string{"nothing"}})
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
}

func TestRemotesTellWhatIsWhere(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	mine, theirs := newClone(t, origin), newClone(t, origin)
	for _, run := range []string{"same", "ahead", "behind", "both"} {
		mine.play(run, 1)
	}
	theirs.play("other", 1)
	theirs.push()
	mine.play("other", 0)
	_, err := mine.sharer.Push(t.Context(), share.PushRequest{})
	require.Equal(t, fault.PushRefused, fault.CodeOf(err), "other is unrelated")
	for _, run := range []string{"behind", "both"} {
		theirs.take(run)
		head, err := theirs.store.Head(t.Context(), run)
		require.NoError(t, err)
		theirs.goOn(head, 2)
	}
	theirs.play("theirs", 3)
	theirs.push()
	for _, run := range []string{"ahead", "both"} {
		head, err := mine.store.Head(t.Context(), run)
		require.NoError(t, err)
		mine.goOn(head, 1)
	}
	mine.play("mine", 1)
	mine.Git("fetch", "--quiet", "origin", "refs/smithers/_tip/*:refs/smithers-remote/origin/*")

	states, err := mine.sharer.Remotes(t.Context())

	require.NoError(t, err)
	assert.Equal(t, []share.RemoteState{{Remote: "origin", Configured: true, Current: 1, Runs: []share.RunAt{
		{RunID: "ahead", State: share.AtUnpushed, Ahead: 1},
		{RunID: "behind", State: share.AtUnfetched, Behind: 2},
		{RunID: "both", State: share.AtDiverged, Ahead: 1, Behind: 2},
		{RunID: "mine", State: share.AtUnpushed, Ahead: 2},
		{RunID: "other", State: share.AtUnrelated, Ahead: 1, Behind: 2},
		{RunID: "theirs", State: share.AtUnfetched, Behind: 4},
	}}}, states)
}

// take makes the remote's tip of a run the one here, without share.Fetch.
func (c *clone) take(run string) {
	c.t.Helper()
	c.Git("fetch", "--quiet", "origin", "refs/smithers/_tip/"+run+":refs/smithers/_tip/"+run)
}

// capture is a draft with the files of the working copy as a tree.
func (c *clone) capture() snapshot.Draft {
	c.t.Helper()
	c.Git("add", "--all")
	tree, err := objstore.ParseID(c.Git("write-tree"))
	require.NoError(c.t, err)
	c.Git("reset", "--quiet")
	return snapshot.Draft{Frame: &snapshot.FrameDraft{}, VCS: &snapshot.VCS{
		Type: snapshot.VCSGit, CommitID: c.Git("rev-parse", "HEAD"), Tree: tree, Scope: snapshot.ScopeAll,
	}}
}
