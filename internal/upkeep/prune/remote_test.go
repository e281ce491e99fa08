package prune_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// withOrigin is an orchard with a remote that has what was pushed to it.
func withOrigin(t *testing.T) (*orchard, *repotest.Repo) {
	t.Helper()
	o, origin := newOrchard(t), repotest.New(t, repotest.Bare)
	o.Git("remote", "add", "origin", origin.Dir)
	return o, origin
}

func (o *orchard) pruneThere(runs ...string) ([]prune.PrunedThere, error) {
	o.t.Helper()
	at, err := o.pruneAt("origin", runs...)
	require.NotNil(o.t, at)
	return at.Runs, err
}

func (o *orchard) pruneAt(remote string, runs ...string) (at *prune.PrunedAt, err error) {
	o.t.Helper()
	err = o.with(func(k *prune.Keeper) (err error) {
		at, err = k.PruneRemote(o.t.Context(), remote, false, runs...)
		return err
	})
	return at, err
}

func TestAnEarlierStateOfWhatWasPrunedIsDeletedThere(t *testing.T) {
	t.Parallel()
	o, origin := withOrigin(t)
	o.grow("a", 3)
	o.Git("push", "--quiet", "origin", "refs/smithers/a/1:refs/smithers/_tip/a", "refs/smithers/a/0")
	o.Git("update-ref", "refs/smithers-remote/origin/a", "refs/smithers/a/1")
	o.prune("a")
	stone := o.Git("rev-parse", "refs/smithers/_gone/a")

	there, err := o.pruneThere()
	require.NoError(t, err)
	assert.Equal(t, []prune.PrunedThere{{RunID: "a", State: prune.ThereDeleted}}, there)
	assert.Equal(t, "refs/smithers/_gone/a "+stone, origin.Git("for-each-ref", "--format=%(refname) %(objectname)"))
	assert.Contains(t, o.ourRefs(), "refs/smithers-remote/origin/_gone/a "+stone)
	assert.NotContains(t, o.ourRefs(), "refs/smithers-remote/origin/a ")
	o.collect()
}

func TestWhatSomebodyAddedThereIsNotDeleted(t *testing.T) {
	t.Parallel()
	o, origin := withOrigin(t)
	o.grow("a", 2)
	o.grow("b", 2)
	o.Git("push", "--quiet", "origin", "refs/smithers/_tip/*:refs/smithers/_tip/*")
	// The colleague's entry is not known here.
	store := o.open(nil)
	head, err := store.Head(t.Context(), "a")
	require.NoError(t, err)
	before := head.Entry().ID.String()
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
	require.NoError(t, store.Close())
	o.Git("push", "--quiet", "origin", "refs/smithers/_tip/a")
	o.Git("update-ref", "refs/smithers/_tip/a", before)
	o.Git("update-ref", "-d", "refs/smithers/a/2")
	o.prune("a", "b")

	theirs := origin.Git("rev-parse", "refs/smithers/_tip/a")
	there, err := o.pruneThere("a", "b")
	assert.Equal(t, fault.PushRefused, fault.CodeOf(err))
	assert.Equal(t, []prune.PrunedThere{{RunID: "a", State: prune.ThereMoved}, {RunID: "b", State: prune.ThereDeleted}}, there)
	assert.Equal(t, theirs, origin.Git("rev-parse", "refs/smithers/_tip/a"))
	assert.NotContains(t, origin.Git("for-each-ref", "--format=%(refname)"), "_gone/a")
}

func TestWhatARemoteHadOfAPrunedRunIsCollectedToo(t *testing.T) {
	t.Parallel()
	o, _ := withOrigin(t)
	o.Write("own", noise(1, 1000))
	o.grow("a", 2)
	o.Git("update-ref", "refs/smithers-remote/origin/a", "refs/smithers/_tip/a")
	own := o.Git("rev-parse", "refs/smithers/_tip/a:worktree/own")
	assert.Greater(t, o.prune("a").Bytes, int64(500), "what is remembered of a remote is no reason to keep it")
	o.collect()
	assert.False(t, o.has(own))
}

func TestAnEarlierStateIsDeletedThereAlsoAfterCollecting(t *testing.T) {
	t.Parallel()
	o, origin := withOrigin(t)
	o.grow("a", 4)
	o.Git("push", "--quiet", "origin", "refs/smithers/a/1:refs/smithers/_tip/a", "refs/smithers/a/0", "refs/smithers/a/1")
	o.prune("a")
	o.collect()
	there, err := o.pruneThere()
	require.NoError(t, err)
	assert.Equal(t, []prune.PrunedThere{{RunID: "a", State: prune.ThereDeleted}}, there)
	assert.Equal(t, "refs/smithers/_gone/a", origin.Git("for-each-ref", "--format=%(refname)"))
}

func TestWhatCannotBeComparedAnyMoreIsNotDeletedThere(t *testing.T) {
	t.Parallel()
	o, origin := withOrigin(t)
	o.grow("a", 4)
	o.Git("push", "--quiet", "origin", "refs/smithers/a/1:refs/smithers/_tip/a", "refs/smithers/a/0")
	o.prune("a")
	o.collect()
	require.NoError(t, os.RemoveAll(filepath.Join(o.GitDir, "smithers", "collected")))
	before := origin.Git("for-each-ref")
	there, err := o.pruneThere()
	assert.Equal(t, fault.PushRefused, fault.CodeOf(err))
	assert.Equal(t, []prune.PrunedThere{{RunID: "a", State: prune.ThereUnknown}}, there)
	assert.Equal(t, before, origin.Git("for-each-ref"))
}

func TestFrameRefsThereThatAreNotOfThePrunedRunStay(t *testing.T) {
	t.Parallel()
	o, origin := withOrigin(t)
	o.grow("a", 2)
	o.grow("b", 2)
	// Somebody's run a, of which the remote has no tip.
	o.Git("push", "--quiet", "origin", "refs/smithers/b/1:refs/smithers/a/1", "refs/smithers/a/0")
	o.prune("a")
	there, err := o.pruneThere("a")
	require.NoError(t, err)
	require.Len(t, there, 1)
	assert.Equal(t, prune.ThereAbsent, there[0].State)
	assert.Contains(t, there[0].Reason, "1 frame ref not known to belong to the pruned run")
	assert.Equal(t, "refs/smithers/_gone/a\nrefs/smithers/a/1", origin.Git("for-each-ref", "--format=%(refname)"))
}

func TestRemotesArePrunedByTheNamesThatPushTakes(t *testing.T) {
	t.Parallel()
	o, origin := newOrchard(t), repotest.New(t, repotest.Bare)
	o.Git("remote", "add", "a.b", origin.Dir)
	o.grow("a", 1)
	o.Git("push", "--quiet", "a.b", "refs/smithers/_tip/a")
	o.prune("a")
	_, err := o.pruneAt("a")
	assert.Equal(t, fault.RemoteNotFound, fault.CodeOf(err), "the remote is a.b")
	at, err := o.pruneAt("")
	require.NoError(t, err)
	assert.Equal(t, &prune.PrunedAt{Remote: "a.b", Runs: []prune.PrunedThere{{RunID: "a", State: prune.ThereDeleted}}}, at)
}

func TestAPasswordIsNotShownWhereARemoteIsPruned(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	at, err := o.pruneAt("https://me:secret@127.0.0.1:1/x.git")
	require.NoError(t, err)
	assert.Equal(t, "https://127.0.0.1:1/x.git", at.Remote)
	o.grow("a", 1)
	o.prune("a")
	_, err = o.pruneAt("https://me:secret@127.0.0.1:1/x.git")
	failed, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok)
	assert.Equal(t, fault.RemoteFailed, failed.Code)
	assert.NotContains(t, fmt.Sprint(failed.Msg, failed.Hints, failed.Details), "secret")
}
