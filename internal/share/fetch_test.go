package share_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// fetch brings runs from another clone.
func (c *clone) fetch(from *clone, runs ...string) map[string]share.FetchedRun {
	c.t.Helper()
	fetched, err := c.sharer.Fetch(c.t.Context(), share.FetchRequest{Remote: from.Dir, Runs: runs})
	require.NoError(c.t, err)
	return byRun(fetched)
}

func byRun(fetched *share.FetchResult) map[string]share.FetchedRun {
	runs := make(map[string]share.FetchedRun)
	for _, run := range fetched.Runs {
		runs[run.RunID] = run
	}
	return runs
}

// twoClones share nothing but the code.
func twoClones(t *testing.T) (ours, theirs *clone) {
	t.Helper()
	origin := newOrigin(t)
	return newClone(t, origin), newClone(t, origin)
}

func TestAFetchedRunIsTheSameCommitsAndRefs(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	head := theirs.play("one", 3)
	theirs.fork("one:2", "child")
	theirs.play("Case and/slash: ü", 1)
	theirs.play("case and/slash: ü", 1)
	theirs.play(strings.TrimSpace(strings.Repeat("long ", 60)), 1)
	fetched := ours.fetch(theirs)
	assert.Len(t, fetched, 5)
	assert.Equal(t, 4, fetched["one"].Frames)
	assert.Equal(t, 1, fetched["child"].Frames)
	assert.Equal(t, refsOf(theirs.Repo, "refs/smithers/"), refsOf(ours.Repo, "refs/smithers/"))

	theirs.goOn(head, 2)
	fetched = ours.fetch(theirs)
	assert.Len(t, fetched, 1)
	assert.Equal(t, share.StateForwarded, fetched["one"].State)
	assert.Equal(t, 2, fetched["one"].Frames)
	assert.Equal(t, refsOf(theirs.Repo, "refs/smithers/"), refsOf(ours.Repo, "refs/smithers/"))
	assert.Empty(t, ours.fetch(theirs))
}

func TestAForkIsWholeWithoutTheRunItWasMadeFrom(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirs.play("one", 3)
	theirs.goOn(theirs.fork("one:2", "child"), 1)
	assert.Equal(t, 2, ours.fetch(theirs, "child")["child"].Frames)
	assert.Empty(t, refsOf(ours.Repo, "refs/smithers/_tip/one"))
	tree, err := list.Timeline(t.Context(), ours.store, "child", list.TreeOptions{})
	require.NoError(t, err)
	assert.Len(t, tree.Timeline.Frames, 2)
	loaded, err := ours.store.Load(t.Context(), "child:0")
	require.NoError(t, err)
	assert.Equal(t, theirs.Git("rev-parse", "refs/smithers/one/2"), loaded.Entry.ID.String())
	ours.fork("child:0", "grandchild")
}

func TestARunThatWasContinuedInBothPlacesIsTheirsAndAForkOfOurs(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirHead := theirs.play("one", 2)
	ours.fetch(theirs)
	ourHead, err := ours.store.Head(t.Context(), "one")
	require.NoError(t, err)
	ours.goOn(ourHead, 2)
	theirs.goOn(theirHead, 3)
	added := refsOf(ours.Repo, "refs/smithers/one/")

	one := ours.fetch(theirs)["one"]
	assert.Equal(t, share.StateSplit, one.State)
	assert.Equal(t, 3, one.Frames)
	assert.Equal(t, theirHead.Entry().ID, one.Tip)
	assert.Equal(t, refsOf(theirs.Repo, "refs/smithers/one/"), refsOf(ours.Repo, "refs/smithers/one/"))
	fork := "refs/smithers/" + one.Fork + "/"
	assert.Equal(t, map[string]string{
		fork + "0": added["refs/smithers/one/2"], fork + "1": added["refs/smithers/one/3"], fork + "2": added["refs/smithers/one/4"],
	}, refsOf(ours.Repo, fork))
	assert.Empty(t, ours.fetch(theirs), "and that is that")
	assert.Equal(t, share.StateCreated, theirs.fetch(ours)[one.Fork].State, "the other side can have the fork, too")
	assert.Equal(t, refsOf(ours.Repo, fork), refsOf(theirs.Repo, fork))
}

func TestARunThatAProcessHereRunsIsNotSplit(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirHead := theirs.play("one", 2)
	ours.fetch(theirs)
	ourHead, err := ours.store.Head(t.Context(), "one")
	require.NoError(t, err)
	takeClaim, err := claim.Take(t.Context(), ourHead, claim.Request{})
	require.NoError(t, err)
	ours.goOn(ourHead, 1)
	theirs.goOn(theirHead, 1)
	before := refsOf(ours.Repo, "refs/smithers/")

	fetched, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir})
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err), "%v", err)
	assert.Equal(t, share.StateBusy, byRun(fetched)["one"].State)
	assert.Equal(t, before, refsOf(ours.Repo, "refs/smithers/"))

	require.NoError(t, takeClaim.Release(t.Context()))
	assert.Equal(t, share.StateSplit, ours.fetch(theirs)["one"].State)
}

func TestARunOfAnotherBeginningIsTakenUnderAnotherId(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	ours.play("one", 1)
	theirs.play("one", 3)
	before := refsOf(ours.Repo, "refs/smithers/")
	assert.Equal(t, share.StateUnrelated, ours.fetch(theirs)["one"].State)

	fetched, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir, Runs: []string{"one"}})
	assert.Equal(t, fault.RunExists, fault.CodeOf(err), "%v", err)
	assert.Equal(t, share.StateUnrelated, byRun(fetched)["one"].State)
	assert.Equal(t, before, refsOf(ours.Repo, "refs/smithers/"))

	fetched, err = ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir, Runs: []string{"one"}, As: "theirs"})
	require.NoError(t, err)
	assert.Equal(t, "theirs", byRun(fetched)["one"].Fork)
	for frame, commit := range refsOf(theirs.Repo, "refs/smithers/one/") {
		assert.Equal(t, commit, ours.Git("rev-parse", strings.Replace(frame, "/one/", "/theirs/", 1)))
	}
	for name, id := range before {
		assert.Equal(t, id, ours.Git("rev-parse", name))
	}
	_, err = ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir, Runs: []string{"one"}, As: "theirs"})
	assert.Equal(t, fault.RunExists, fault.CodeOf(err), "%v", err)
}

// playAs makes a run as play does, with an id that new runs do not get any more.
func (c *clone) playAs(run string, frames int) *timeline.Head {
	c.t.Helper()
	series, err := timeline.SeriesAgain(c.t.Context(), c.store, snapshot.Run{ID: run, Workflow: "flow", Status: snapshot.RunRunning})
	require.NoError(c.t, err)
	defer series.Close()
	_, err = series.Append(c.t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	require.NoError(c.t, err)
	head, err := series.Commit(c.t.Context())
	require.NoError(c.t, err)
	c.goOn(head, frames)
	return head
}

func TestAFetchedRunThatCouldBeMistakenGetsAnotherID(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	ours.play("a", 3)
	ids := map[string]string{
		"a:2": "a.2", "a@id": "a.id", "@": "", "-x": "x", ":1": "1", "a:smithers/7": "a.smithers/7",
		"fix:2\u200b": "fix.2", "fix:2 ": "fix.2", "fix\u0301": "fix", "f\u00adix": "fix", "\tfix": "fix",
		"tri\u0430ge": "triage", "\u0440\u0430\u0443": "pay", "\u0391-1": "A-1",
	}
	heads := make(map[string]*timeline.Head)
	for id := range ids {
		heads[id] = theirs.playAs(id, 2)
	}
	fetched := ours.fetch(theirs)
	assert.Len(t, fetched, len(ids))
	for id, plain := range ids {
		tip := heads[id].Entry().ID
		run := fetched[id]
		assert.Equal(t, share.StateCreated, run.State, id)
		assert.Equal(t, strings.TrimPrefix(plain+"-"+tip.String()[:8], "-"), run.Fork)
		assert.Contains(t, run.Reason, id, "the fetch says so")
		_, err := ours.store.Head(t.Context(), id)
		assert.Equal(t, fault.RunNotFound, fault.CodeOf(err), id)
		last, err := ours.store.Load(t.Context(), run.Fork+":2")
		require.NoError(t, err)
		assert.Equal(t, tip, last.Entry.ID, "its frames are the same commits")
	}
	own, err := ours.store.Load(t.Context(), "a:2")
	require.NoError(t, err)
	assert.Equal(t, timeline.Address{Run: "a", Frame: 2}, own.Address)
	assert.Empty(t, ours.fetch(theirs), "and that is that")

	theirs.goOn(heads["a:2"], 1)
	again := ours.fetch(theirs)
	assert.Len(t, again, 1)
	assert.NotEqual(t, fetched["a:2"].Fork, again["a:2"].Fork)
	assert.Equal(t, 4, again["a:2"].Frames)
}

func TestARunOfOnesOwnThatCouldBeMistakenGoesBetweenClones(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	head := theirs.playAs("a:2", 1)
	bundle := theirs.Git("rev-parse", "refs/smithers/_tip/a%3a2")
	ours.Git("fetch", "--quiet", theirs.Dir, "refs/smithers/*:refs/smithers/*") // as an earlier version took it
	require.Equal(t, bundle, ours.Git("rev-parse", "refs/smithers/_tip/a%3a2"))
	theirs.goOn(head, 1)
	assert.Equal(t, share.StateForwarded, ours.fetch(theirs)["a:2"].State)
}

func TestARunThatAnotherProgramFindsByItsIDKeepsIt(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	head := theirs.playAs("user:42", 1)
	ours.sharer = share.New(ours.store, share.Options{KeepsID: func(tip *snapshot.Entry) bool { return tip.Run == "user:42" }})
	fetched := ours.fetch(theirs)["user:42"]
	assert.Equal(t, head.Entry().ID, fetched.Tip)
	assert.Empty(t, fetched.Fork)
}

func TestWhatAClonePrunedStaysAway(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirs.play("one", 1)
	theirs.play("two", 1)
	stone := ours.Git("commit-tree", "-m", "run pruned", ours.GitInput("", "mktree"))
	ours.Git("update-ref", "refs/smithers/_gone/one", stone)
	fetched := ours.fetch(theirs)
	assert.Equal(t, share.StatePruned, fetched["one"].State)
	assert.Equal(t, share.StateCreated, fetched["two"].State)
	assert.Empty(t, refsOf(ours.Repo, "refs/smithers/_tip/one"))
	assert.Empty(t, ours.fetch(theirs), "it is said once")

	named, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir, Runs: []string{"one"}})
	assert.Equal(t, share.StatePruned, byRun(named)["one"].State)
	require.Equal(t, fault.RunPruned, fault.CodeOf(err), "%v", err)
	var known *fault.Error
	require.ErrorAs(t, err, &known)
	assert.Equal(t, []string{
		"`git smithers prune --undo one` brings the run back, unless git has already collected its objects",
		"`git smithers fetch " + theirs.Dir + " one --as one-2` fetches the run under another id",
	}, known.Hints)
}

func TestARunIsNotTakenUnderAnIdThatWasPruned(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirs.play("one", 1)
	stone := ours.Git("commit-tree", "-m", "run pruned", ours.GitInput("", "mktree"))
	ours.Git("update-ref", "refs/smithers/_gone/v", stone)

	_, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir, Runs: []string{"one"}, As: "v"})

	assert.Equal(t, fault.RunPruned, fault.CodeOf(err), "%v", err)
	assert.Empty(t, refsOf(ours.Repo, "refs/smithers/_tip/"))
}

func TestWhatIsFetchedIsNotCollectedMeanwhile(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirs.play("one", 1)
	locked := 0
	sharer := share.New(ours.store, share.Options{Progress: func(string, int, int) {
		require.NoError(t, filepath.WalkDir(ours.GitDir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() != "drop.lock" {
				return err
			}
			lock := flock.New(path)
			got, err := lock.TryLock()
			assert.False(t, got, "a prune --collect could go on")
			locked++
			return errors.Join(err, lock.Close())
		}))
	}})

	_, err := sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir})

	require.NoError(t, err)
	assert.Positive(t, locked)
}

func TestWhatARemotePrunedStaysHereAndIsNotTakenAnew(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirs.play("one", 1)
	ours.fetch(theirs)
	stone := theirs.Git("commit-tree", "-m", "run pruned", theirs.GitInput("", "mktree"))
	theirs.Git("update-ref", "refs/smithers/_gone/one", stone)
	theirs.Git("update-ref", "-d", "refs/smithers/_tip/one")
	theirs.Git("update-ref", "refs/smithers/_gone/two", stone)
	before := refsOf(ours.Repo, "refs/smithers/")
	fetched := ours.fetch(theirs)
	assert.Equal(t, share.StatePruned, fetched["one"].State)
	assert.Len(t, fetched, 1, "what was never here is no news")
	assert.Equal(t, before, refsOf(ours.Repo, "refs/smithers/"))
	assert.Empty(t, ours.fetch(theirs), "it is said once")
	named, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir, Runs: []string{"two"}})
	assert.Equal(t, share.StatePruned, byRun(named)["two"].State)
	assert.Equal(t, fault.RunPruned, fault.CodeOf(err), "%v", err)
}

func TestTheRunThatARemoteLacksIsNamedWhenAnotherIsNamedTwice(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirs.play("one", 1)
	_, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir, Runs: []string{"one", "one", "none"}})
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, `has no run "none"`)
}

func TestAFetchThatDiedGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirs.play("one", 3)
	whole := refsOf(theirs.Repo, "refs/smithers/")
	ours.Git("fetch", "--quiet", theirs.Dir, "refs/smithers/_tip/one:refs/smithers-remote/"+
		filepath.Base(component(t, ours, theirs))+"/one")
	assert.Equal(t, share.StateCreated, ours.fetch(theirs)["one"].State, "it is there, and was not taken")
	assert.Equal(t, whole, refsOf(ours.Repo, "refs/smithers/"))

	ours.Git("update-ref", "-d", "refs/smithers/one/1")
	ours.Git("update-ref", "-d", "refs/smithers/one/3")
	loaded, err := ours.store.Load(t.Context(), "one:1")
	require.NoError(t, err, "the tip was moved, and not all frame refs were made")
	assert.EqualValues(t, 1, loaded.Entry.Frame)
}

// component stands for theirs in the names of refs in ours.
func component(t *testing.T, ours, theirs *clone) string {
	t.Helper()
	probe := theirs.play("probe", 0)
	ours.fetch(theirs, probe.Row().ID)
	for name := range refsOf(ours.Repo, "refs/smithers-remote/") {
		theirs.Git("update-ref", "-d", "refs/smithers/_tip/probe")
		theirs.Git("update-ref", "-d", "refs/smithers/probe/0")
		for _, ref := range []string{name, "refs/smithers/_tip/probe", "refs/smithers/probe/0"} {
			ours.Git("update-ref", "-d", ref)
		}
		return filepath.Dir(name)
	}
	t.Fatal("nothing is remembered")
	return ""
}

func TestABundleStandsForItself(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirs.play("one", 2)
	theirs.play("two", 1)
	path := filepath.Join(t.TempDir(), "runs.bundle")
	file, err := os.Create(path)
	require.NoError(t, err)
	ids, err := theirs.sharer.Bundle(t.Context(), file, share.BundleRequest{Runs: []string{"one", "tw", "one"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two"}, ids)
	require.NoError(t, file.Close())

	fetched, err := ours.sharer.Unbundle(t.Context(), path, "")
	require.NoError(t, err)
	assert.Len(t, fetched.Runs, 2)
	assert.Equal(t, refsOf(theirs.Repo, "refs/smithers/"), refsOf(ours.Repo, "refs/smithers/"))
	assert.Empty(t, refsOf(ours.Repo, "refs/smithers-remote/"))
	_, err = theirs.sharer.Bundle(t.Context(), file, share.BundleRequest{Runs: []string{"nothing"}})
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
}

func TestAFetchTakesARunFromAMachineThatDied(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	head := theirs.play("one", 1)
	_, err := claim.Take(t.Context(), head, claim.Request{})
	require.NoError(t, err)
	ours.fetch(theirs)
	ourHead, err := ours.store.Head(t.Context(), "one")
	require.NoError(t, err)
	takeClaim, err := claim.Take(t.Context(), ourHead, claim.Request{})
	require.NoError(t, err)
	ours.append(ourHead, snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	require.NoError(t, takeClaim.Release(t.Context()))
	assert.Equal(t, share.StateForwarded, theirs.fetch(ours)["one"].State)
}
