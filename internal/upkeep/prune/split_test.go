package prune_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/internal/upkeep/doctor"
	"github.com/git-smithers/git-smithers/snapshot"
)

// goOn adds frames to a run.
func (o *orchard) goOn(run, who string, frames int) {
	o.t.Helper()
	store := o.open(nil)
	head, err := store.Head(o.t.Context(), run)
	require.NoError(o.t, err)
	for i := range frames {
		input, err := json.Marshal(map[string]any{"who": who, "n": i})
		require.NoError(o.t, err)
		require.NoError(o.t, head.Append(o.t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{
			{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: input},
		}}}))
	}
	require.NoError(o.t, store.Close())
}

// What was added here became a fork, and is longer than what the run has by now. Nothing
// but the commits tells where the run's tip was.
func TestATipThatIsEmptiedAfterASplitIsMadeAnewWhereTheRunIs(t *testing.T) {
	t.Parallel()
	o, origin := withOrigin(t)
	o.grow("a", 2)
	o.Git("push", "--quiet", "origin", "refs/smithers/_tip/a")
	common := o.Git("rev-parse", "refs/smithers/_tip/a")
	colleague := &orchard{Repo: repotest.New(t, repotest.Commit), t: t, clock: ticking()}
	colleague.Git("fetch", "--quiet", origin.Dir, "refs/smithers/_tip/a:refs/smithers/_tip/a")
	colleague.goOn("a", "colleague", 1)
	theirs := colleague.Git("rev-parse", "refs/smithers/_tip/a")
	colleague.Git("push", "--quiet", origin.Dir, "refs/smithers/_tip/a")
	o.goOn("a", "here", 4)
	ours := o.Git("rev-parse", "refs/smithers/_tip/a")

	store := o.open(nil)
	_, err := share.New(store, share.Options{}).Fetch(t.Context(), share.FetchRequest{Remote: "origin"})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.Equal(t, theirs, o.Git("rev-parse", "refs/smithers/_tip/a"))

	empty := func() {
		for _, name := range []string{"refs/smithers/a/0", "refs/smithers/a/1", "refs/smithers/a/2"} {
			o.Git("update-ref", "-d", name)
		}
		o.WriteRef("refs/smithers/_tip/a", "")
	}
	repaired := func() string {
		store := o.open(nil)
		d := doctor.New(store, nil)
		found, err := d.Examine(t.Context())
		require.NoError(t, err)
		for i := range found {
			if found[i].Kind == doctor.BrokenRef {
				require.NoError(t, d.Repair(t.Context(), &found[i]))
			}
		}
		require.NoError(t, store.Close())
		return o.Git("rev-parse", "refs/smithers/_tip/a")
	}
	empty()
	assert.Equal(t, theirs, repaired())
	o.Git("update-ref", "-d", "refs/smithers-remote/origin/a")
	empty()
	assert.Equal(t, theirs, repaired(), "the fork tells which commits are its own")

	// Without the fork a remote tells.
	for _, fork := range []string{"refs/smithers/_tip/a-" + ours[:8]} {
		o.Git("update-ref", "-d", fork)
	}
	o.Git("update-ref", "refs/smithers-remote/origin/a", theirs)
	empty()
	assert.Equal(t, theirs, repaired())
	assert.NotEqual(t, common, theirs)
}
