package prune_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAForgottenRunComesBackAsItWas(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	o.grow("a", 3)
	store := o.open(nil)
	_, err := store.Fork(t.Context(), timeline.ForkRequest{From: "a:1", RunID: "fork"})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	o.Git("pack-refs", "--all")
	before := o.ourRefs()

	pruned := o.prune("a", "fork")
	assert.Len(t, pruned.Runs, 2)
	after := o.ourRefs()
	assert.NotContains(t, after, "/_tip/")
	assert.NotContains(t, after, "smithers/a/")
	o.Git("gc", "--quiet", "--prune=now")
	require.NoError(t, o.recall("fork", "a"))
	assert.Equal(t, before, o.ourRefs())
}

func TestADryRunChangesNothingAndTellsTheSame(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	o.Write("untracked", noise(1, 50_000))
	o.grow("a", 3)
	before := o.ourRefs()
	var would *prune.Result
	require.NoError(t, o.with(func(k *prune.Keeper) (err error) {
		would, err = k.Forget(t.Context(), prune.Policy{}, true, "a")
		return err
	}))
	assert.Equal(t, before, o.ourRefs())
	assert.Equal(t, would, o.prune("a"))
	before = o.ourRefs()
	require.NoError(t, o.with(func(k *prune.Keeper) (err error) {
		would, err = k.Collect(t.Context(), true)
		return err
	}))
	assert.Equal(t, before, o.ourRefs())
	assert.Greater(t, would.Bytes, int64(20_000))
}

func TestARunThatALiveProcessExecutesIsNotPruned(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	o.grow("a", 2)
	store := o.open(nil)
	head, err := store.Head(t.Context(), "a")
	require.NoError(t, err)
	takeClaim, err := claim.Take(t.Context(), head, claim.Request{})
	require.NoError(t, err)
	before := o.ourRefs()
	_, err = prune.New(store, prune.Options{}).Forget(t.Context(), prune.Policy{}, false, "a")
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err))
	assert.Equal(t, before, o.ourRefs())
	require.NoError(t, takeClaim.Release(t.Context()))
	require.NoError(t, store.Close())
	o.prune("a")
}

// withAnother has pruned a run and, under the same id, made another with plain git. It
// returns the tips of both.
func withAnother(t *testing.T) (o *orchard, pruned, another string) {
	t.Helper()
	o = newOrchard(t)
	o.grow("a", 3)
	pruned = o.Git("rev-parse", "refs/smithers/_tip/a")
	o.prune("a")
	stone := o.Git("rev-parse", "refs/smithers/_gone/a")
	o.Git("update-ref", "-d", "refs/smithers/_gone/a")
	o.Git("update-ref", "-d", "refs/smithers/_held/a")
	o.Write("else", "another run\n")
	o.grow("a", 2)
	o.Git("update-ref", "refs/smithers/_gone/a", stone)
	o.Git("update-ref", "refs/smithers/_held/a", pruned)
	return o, pruned, o.Git("rev-parse", "refs/smithers/_tip/a")
}

func TestARunThatExistsAgainIsNotOverwritten(t *testing.T) {
	t.Parallel()
	o, pruned, another := withAnother(t)
	before := o.ourRefs()
	assert.Equal(t, fault.RunExists, fault.CodeOf(o.recall("a")))
	assert.Equal(t, before, o.ourRefs())

	// As soon as another run has all of it, nothing is lost.
	o.Git("update-ref", "refs/smithers/_tip/b", another)
	require.NoError(t, o.recall("a"))
	assert.Equal(t, pruned, o.Git("rev-parse", "refs/smithers/_tip/a"))
	assert.Equal(t, pruned, o.Git("rev-parse", "refs/smithers/a/2"))
	assert.NotContains(t, o.ourRefs(), "_held/")
	o.Git("update-ref", "-d", "refs/smithers/_tip/b")
}

func TestARunIsNotPrunedOverAnotherOneThatIsHeld(t *testing.T) {
	t.Parallel()
	o, pruned, another := withAnother(t)
	before := o.ourRefs()
	for _, dryRun := range []bool{true, false} {
		err := o.with(func(k *prune.Keeper) error {
			_, err := k.Forget(t.Context(), prune.Policy{}, dryRun, "a")
			return err
		})
		assert.Equal(t, fault.RunPruned, fault.CodeOf(err))
	}
	assert.NotEmpty(t, o.prune().Runs[0].Kept, "a rule leaves it")
	assert.Equal(t, before, o.ourRefs())
	assert.True(t, o.has(pruned))

	// Collecting frees what is held, and leaves the run that is there.
	assert.Len(t, o.collect().Runs, 1)
	assert.False(t, o.has(pruned))
	assert.Equal(t, another, o.Git("rev-parse", "refs/smithers/_tip/a"))
	o.prune("a")
	require.NoError(t, o.recall("a"))
	assert.Equal(t, another, o.Git("rev-parse", "refs/smithers/_tip/a"))
}

func TestARunThatIsThereAgainAtAnotherOfItsEntriesLosesNone(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct{ held, there string }{
		"it has gone on":       {"refs/smithers/a/1", "refs/smithers/a/3"},
		"it is as it was once": {"refs/smithers/a/3", "refs/smithers/a/1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrchard(t)
			o.grow("a", 4)
			newest := o.Git("rev-parse", "refs/smithers/_tip/a")
			held, there := o.Git("rev-parse", at.held), o.Git("rev-parse", at.there)
			again := func() {
				o.Git("update-ref", "refs/smithers/_held/a", held)
				o.Git("update-ref", "refs/smithers/_tip/a", there)
			}
			o.prune("a")
			again()
			o.prune("a")
			assert.Equal(t, newest, o.Git("rev-parse", "refs/smithers/_held/a"))
			again()
			require.NoError(t, o.recall("a"))
			assert.Equal(t, newest, o.Git("rev-parse", "refs/smithers/_tip/a"))
			assert.Equal(t, newest, o.Git("rev-parse", "refs/smithers/a/3"))
			assert.NotContains(t, o.ourRefs(), "_gone/")
		})
	}
}

func TestABroughtBackRunHasAsManyFrameRefsAsTheSettingAllows(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	o.grow("a", 6)
	o.grow("b", 2)
	before := o.ourRefs()
	o.prune("a")
	o.Git("config", "smithers.frameRefs", "5")
	require.NoError(t, o.recall("a"))
	assert.NotContains(t, o.ourRefs(), "smithers/a/2 ")
	assert.Contains(t, o.ourRefs(), "smithers/a/3 ")
	o.prune("a")
	o.Git("config", "smithers.frameRefs", "8")
	require.NoError(t, o.recall("a"))
	assert.Equal(t, before, o.ourRefs())
}

// Whoever prunes may die when the tombstone is there and some of the run's refs are, too:
// git makes and removes refs one after the other.
func TestARunThatIsHalfForgottenIsForgottenOrBroughtBack(t *testing.T) {
	t.Parallel()
	for name, finish := range map[string]func(*testing.T, *orchard, string){
		"forgotten once more": func(t *testing.T, o *orchard, _ string) {
			t.Helper()
			o.prune("a")
			o.collect()
			assert.NotContains(t, o.ourRefs(), "smithers/a/")
		},
		"brought back": func(t *testing.T, o *orchard, before string) {
			t.Helper()
			require.NoError(t, o.recall("a"))
			assert.Equal(t, before, o.ourRefs())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrchard(t)
			o.grow("a", 3)
			before, tip := o.ourRefs(), o.Git("rev-parse", "refs/smithers/_tip/a")
			o.prune("a")
			o.Git("update-ref", "refs/smithers/_tip/a", tip)
			o.Git("update-ref", "refs/smithers/a/2", tip)
			finish(t, o, before)
		})
	}
}

func TestFrameRefsThatOutliveTheirRunAreCollected(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	o.grow("a", 3)
	tip := o.Git("rev-parse", "refs/smithers/_tip/a")
	o.prune("a")
	o.Git("update-ref", "refs/smithers/a/2", tip)
	o.collect()
	assert.NotContains(t, o.ourRefs(), "smithers/a/")
	assert.False(t, o.has(tip))

	// Also where nothing else is left of it.
	o.grow("b", 3)
	o.grow("c", 1)
	tip = o.Git("rev-parse", "refs/smithers/_tip/b")
	o.prune("b")
	o.Git("update-ref", "refs/smithers/b/2", tip)
	o.Git("update-ref", "-d", "refs/smithers/_held/b")
	o.collect()
	assert.NotContains(t, o.ourRefs(), "smithers/b/")
	assert.False(t, o.has(tip))
}

func TestAPolicyKeepsWhatAnyRuleKeeps(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	for _, run := range []string{"a", "b", "c", "d"} {
		o.grow(run, 1)
	}
	var pruned *prune.Result
	require.NoError(t, o.with(func(k *prune.Keeper) (err error) {
		pruned, err = k.Forget(t.Context(), prune.Policy{Last: 4}, false)
		return err
	}))
	for _, run := range pruned.Runs {
		assert.Equal(t, "one of the last 4", run.Kept)
	}
	require.NoError(t, o.with(func(k *prune.Keeper) (err error) {
		pruned, err = k.Forget(t.Context(), prune.Policy{}, false)
		return err
	}))
	assert.Len(t, pruned.Runs, 4)
	assert.NotContains(t, o.ourRefs(), "/_tip/")
}

// Doctor removes a broken tombstone, and keeps the history that the tombstone belongs to.
func TestAPrunedRunWithoutATombstoneIsStillPruned(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	o.grow("a", 3)
	before := o.ourRefs()
	o.prune("a")
	o.Git("update-ref", "-d", "refs/smithers/_gone/a")
	store := o.open(nil)
	_, err := store.ResolveRun(t.Context(), "a")
	assert.Equal(t, fault.RunPruned, fault.CodeOf(err), "%v", err)
	require.NoError(t, store.Close())
	require.NoError(t, o.recall("a"))
	assert.Equal(t, before, o.ourRefs())
}
