package prune_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/doctor"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestCollectingFreesWhatItSaidAndNothingElse(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	o.Write("shared", noise(1, 100_000))
	o.grow("stays", 2)
	o.Write("own", noise(2, 300_000))
	o.grow("goes", 3)
	own := o.Git("rev-parse", "refs/smithers/_tip/goes:worktree/own")
	shared := o.Git("rev-parse", "refs/smithers/_tip/goes:worktree/shared")

	said := o.prune("goes").Bytes
	assert.True(t, o.has(own), "until it is collected it is there")
	before := o.packBytes()
	freed := o.collect()
	assert.InDelta(t, said, freed.Bytes, 2000)
	assert.InDelta(t, before-o.packBytes(), freed.Bytes, 8000, "and the indexes of the packs")
	assert.Zero(t, freed.Left)
	assert.False(t, o.has(own))
	assert.True(t, o.has(shared))
	assert.NoFileExists(t, filepath.Join(o.GitDir, "smithers", "collecting"))
	assert.Equal(t, fault.NothingPruned, fault.CodeOf(o.recall("goes")))
	assert.Equal(t, &prune.Result{Runs: []prune.PrunedRun{}}, o.collect(), "there is nothing more")
}

// packBytes is the size of all packs.
func (o *orchard) packBytes() int64 {
	o.t.Helper()
	found, err := filepath.Glob(filepath.Join(o.GitDir, "objects", "pack", "*.pack"))
	require.NoError(o.t, err)
	var size int64
	for _, path := range found {
		info, err := os.Stat(path)
		require.NoError(o.t, err)
		size += info.Size()
	}
	return size
}

// A file that a capture has stored is in a pack of ours, and git stores it nowhere else when
// the user adds it.
func TestNothingOfTheUsersIsCollected(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	linked := filepath.Join(filepath.Dir(o.Dir), "linked")
	o.Git("worktree", "add", "--quiet", "--detach", linked)
	names := []string{"staged", "stashed", "reflog", "head", "index", "dangling", "merging", "lone"}
	blobs := make(map[string]string)
	for i, name := range names {
		o.Write(name, noise(uint64(i), 500))
	}
	o.grow("goes", 2)
	for _, name := range names {
		blobs[name] = o.Git("rev-parse", "refs/smithers/_tip/goes:worktree/"+name)
		require.False(t, o.isLoose(blobs[name]))
		if name == "head" || name == "index" {
			require.NoError(t, os.Rename(filepath.Join(o.Dir, name), filepath.Join(linked, name)))
		}
	}
	in := func(dir string, args ...string) string {
		out, err := o.GitIn(dir, args...)
		require.NoError(t, err)
		return out
	}
	o.Git("add", "stashed")
	o.Git("stash", "push", "--quiet", "--staged")
	o.Git("add", "reflog")
	o.Git("commit", "--quiet", "--message=later lost")
	o.Git("reset", "--quiet", "--hard", "HEAD^")
	o.Git("update-ref", "-d", "ORIG_HEAD")
	in(linked, "add", "head")
	in(linked, "commit", "--quiet", "--message=on no branch")
	in(linked, "add", "index")
	// As plumbing does it: no index, no ref.
	commit := func(name string) string {
		tree := o.GitInput(fmt.Sprintf("100644 blob %s\t%s\n", blobs[name], name), "mktree")
		return o.Git("commit-tree", "-m", name, tree)
	}
	require.NoError(t, os.WriteFile(filepath.Join(o.GitDir, "MERGE_HEAD"), []byte(commit("merging")+"\n"), 0o666))
	o.packLoose()
	commit("dangling")
	o.Git("add", "staged")
	o.prune("goes")
	o.collect()
	for _, name := range names {
		assert.Equal(t, name != "lone", o.has(blobs[name]), name)
	}
	require.NoError(t, os.Remove(filepath.Join(o.GitDir, "MERGE_HEAD")))
	assert.Equal(t, blobs["stashed"], o.Git("rev-parse", "stash@{0}:stashed"))
	assert.Equal(t, blobs["reflog"], o.Git("rev-parse", "main@{1}:reflog"))
}

// collectWithin is what comes of collecting for a short time. Who waits for somebody is
// still waiting then.
func (o *orchard) collectWithin(wait time.Duration) error {
	o.t.Helper()
	return o.with(func(k *prune.Keeper) error {
		ctx, cancel := context.WithTimeout(o.t.Context(), wait)
		defer cancel()
		return ignore(k.Collect(ctx, false))
	})
}

// A git that is changing an index may have found a blob here that it is about to refer to.
func TestAGitAtWorkIsWaitedFor(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	o.Write("file", noise(1, 100))
	o.grow("goes", 1)
	o.prune("goes")
	blob := o.Git("rev-parse", "refs/smithers/_held/goes:worktree/file")
	lock := filepath.Join(o.GitDir, "index.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o666))
	assert.Equal(t, fault.Interrupted, fault.CodeOf(o.collectWithin(time.Second)))
	// The other git writes its index, and moves it into its place.
	o.withIndex("other").GitInput(fmt.Sprintf("100644 %s\tfile\n", blob), "update-index", "--index-info")
	require.NoError(t, os.Rename(filepath.Join(o.GitDir, "other"), filepath.Join(o.GitDir, "index")))
	require.NoError(t, os.Remove(lock))
	o.collect()
	assert.True(t, o.has(blob))
}

// A capture takes what the repository has already for given until it is stored.
func TestACaptureThatIsNotStoredYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	o.Write("file", noise(1, 100))
	o.grow("goes", 1)
	o.prune("goes")
	store := o.open(nil)
	captured, err := files.WorkingCopyOf(store).Capture(t.Context())
	require.NoError(t, err)
	assert.Equal(t, fault.Interrupted, fault.CodeOf(o.collectWithin(time.Second)))
	_, err = store.Create(t.Context(), snapshot.Run{ID: "stays", Workflow: "w", Status: snapshot.RunFinished},
		snapshot.Draft{VCS: &captured.VCS, Objects: captured.Objects})
	require.NoError(t, err)
	require.NoError(t, captured.Close())
	require.NoError(t, store.Close())
	o.collect()
	assert.NotEmpty(t, o.Git("cat-file", "blob", "refs/smithers/_tip/stays:worktree/file"))
}

func TestWhatIsReferredToMeanwhileStays(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	o.Write("file", noise(1, 100))
	o.grow("goes", 1)
	commit := o.Git("commit-tree", "-m", "late", "refs/smithers/_tip/goes:worktree")
	o.Git("update-ref", "refs/heads/late", commit)
	o.packLoose()
	o.Git("update-ref", "-d", "refs/heads/late")
	o.prune("goes")
	store := o.open(func(name string) error {
		if name == "drop-staged" {
			o.Git("update-ref", "refs/heads/late", commit)
		}
		return nil
	})
	require.NoError(t, ignore(prune.New(store, prune.Options{}).Collect(t.Context(), false)))
	require.NoError(t, store.Close())
	assert.NotEmpty(t, o.Git("show", "late:file"))
}

// packLoose puts the loose objects into a pack of git's.
func (o *orchard) packLoose() {
	o.t.Helper()
	found, err := filepath.Glob(filepath.Join(o.GitDir, "objects", "[0-9a-f][0-9a-f]", "*"))
	require.NoError(o.t, err)
	var ids strings.Builder
	for _, path := range found {
		ids.WriteString(filepath.Base(filepath.Dir(path)) + filepath.Base(path) + "\n")
	}
	o.GitInput(ids.String(), "pack-objects", "--quiet", filepath.Join(o.GitDir, "objects", "pack", "pack"))
	o.Git("prune-packed", "--quiet")
}

// withIndex is the repository with another index file, in its git directory.
func (o *orchard) withIndex(name string) *repotest.Repo {
	other := *o.Repo
	other.Env = append(slices.Clone(o.Env), "GIT_INDEX_FILE="+filepath.Join(o.GitDir, name))
	return &other
}

// After git gc everything may be in one pack, and in a commit-graph.
func TestWhatGitHasPackedIsCollectedOrLeftToGit(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]bool{"in a pack that begins with an entry": false, "in a pack of the user's": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrchard(t)
			o.Write("own", noise(1, 50_000))
			o.grow("goes", 2)
			if last {
				o.Env = append(o.Env, "GIT_COMMITTER_DATE=2147483647 +0000")
				o.Git("commit", "--quiet", "--allow-empty", "--message=last")
			}
			o.Git("gc", "--quiet")
			o.Git("commit-graph", "write", "--reachable", "--split")
			own := o.Git("rev-parse", "refs/smithers/_tip/goes:worktree/own")
			o.prune("goes")
			got := o.collect()
			assert.Equal(t, last, o.has(own))
			assert.Equal(t, last, got.Left > 20_000)
			assert.Equal(t, last, got.Bytes == 0)
			o.Git("fsck", "--strict", "--no-dangling")
			o.Git("gc", "--quiet", "--prune=now")
			assert.False(t, o.has(own))
		})
	}
}

func TestForksOfCollectedRunsHaveEverything(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	o.Write("old", noise(1, 10_000))
	o.grow("parent", 2)
	require.NoError(t, os.Remove(filepath.Join(o.Dir, "old")))
	store := o.open(nil)
	_, err := store.Fork(t.Context(), timeline.ForkRequest{From: "parent:1", RunID: "child"})
	require.NoError(t, err)
	_, err = store.Fork(t.Context(), timeline.ForkRequest{From: "child:0", RunID: "grandchild", Input: []byte(`{"more":1}`)})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	before := o.tell("child:0", "grandchild:0")

	o.prune("parent", "child")
	o.collect()
	o.Git("gc", "--quiet", "--prune=now")
	o.Git("repack", "-adfq")
	require.NoError(t, o.recallErrOf("child"))
	assert.Equal(t, before["grandchild:0"], o.tell("grandchild:0")["grandchild:0"])
	store = o.open(nil)
	_, err = files.Restore(t.Context(), store, files.RestoreRequest{From: "grandchild:0"})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	assert.FileExists(t, filepath.Join(o.Dir, "old"))
}

// recallErrOf is nil where a run that was collected does not come back.
func (o *orchard) recallErrOf(run string) error {
	if err := o.recall(run); fault.CodeOf(err) != fault.NothingPruned {
		return fmt.Errorf("%s came back: %w", run, err)
	}
	return nil
}

// tell is the state and the files of frames.
func (o *orchard) tell(addresses ...string) map[string]string {
	o.t.Helper()
	store := o.open(nil)
	out := make(map[string]string)
	for _, address := range addresses {
		loaded, err := store.Load(o.t.Context(), address)
		require.NoError(o.t, err)
		state, err := loaded.Entry.State()
		require.NoError(o.t, err)
		input, err := state.Input()
		require.NoError(o.t, err)
		vcs, err := loaded.Entry.VCSRevision()
		require.NoError(o.t, err)
		out[address] = fmt.Sprintf("%s %s %s", loaded.Entry.ContentHash, input, o.Git("ls-tree", "-r", vcs.Tree.String()))
	}
	require.NoError(o.t, store.Close())
	return out
}

// At every point of a write somebody may die; what is left is sound, and doing the same
// again does the rest.
func TestPruningThatDiesIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background() // the subtests outlive this function
	steps := map[string]func(*prune.Keeper) error{
		"forget":  func(k *prune.Keeper) error { return ignore(k.Forget(ctx, prune.Policy{}, false, "goes")) },
		"recall":  func(k *prune.Keeper) error { return ignore(k.Recall(ctx, "goes")) },
		"collect": func(k *prune.Keeper) error { return ignore(k.Collect(ctx, false)) },
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrchard(t)
			o.grow("stays", 2)
			for n := 1; ; n++ {
				o.Write("own", noise(uint64(n), 3000))
				o.grow("goes", 2)
				tip := o.Git("rev-parse", "refs/smithers/_tip/goes")
				if name != "forget" {
					o.prune("goes")
				}
				died := o.dieAt(n, step)
				if died != "" {
					o.sound(died)
					require.NoError(t, o.with(func(k *prune.Keeper) error { return alreadyDone(step(k)) }), died)
				}
				o.requireDone(name, tip, died)
				if died == "" {
					require.Greater(t, n, 2, "it dies at several points")
					return
				}
				o.forgetAll("goes")
			}
		})
	}
}

func ignore(_ *prune.Result, err error) error { return err }

// alreadyDone is nil for the errors of what was done before somebody died.
func alreadyDone(err error) error {
	if code := fault.CodeOf(err); code == fault.RunPruned || code == fault.NothingPruned {
		return nil
	}
	return err
}

// dieAt does something and stops at the n-th point of a write; "" where there is none.
func (o *orchard) dieAt(n int, do func(*prune.Keeper) error) (point string) {
	o.t.Helper()
	errDies, at := errors.New("dies here"), 0
	store := o.open(func(name string) error {
		if at++; at >= n {
			point = fmt.Sprintf("%d %s", n, name)
			return errDies
		}
		return nil
	})
	err := do(prune.New(store, prune.Options{}))
	_ = store.Close()
	if point == "" {
		require.NoError(o.t, err)
	} else {
		require.Error(o.t, err, point)
	}
	return point
}

// sound requires that verify and git find nothing wrong.
func (o *orchard) sound(when string) {
	o.t.Helper()
	store := o.open(nil)
	report, err := verify.Runs(o.t.Context(), store)
	require.NoError(o.t, err, when)
	require.Empty(o.t, report.Problems, when)
	findings, err := doctor.New(store, nil).Examine(o.t.Context())
	require.NoError(o.t, err, when)
	for _, f := range findings {
		require.NotEqual(o.t, doctor.LostTip, f.Kind, "%s: %s: %s", when, f.Where, f.What)
	}
	require.NoError(o.t, store.Close())
	o.Git("fsck", "--strict", "--no-dangling")
}

// requireDone requires that a step has done what it is for.
func (o *orchard) requireDone(step, tip, when string) {
	o.t.Helper()
	now := o.ourRefs()
	switch step {
	case "recall":
		require.Contains(o.t, now, "_tip/goes "+tip, when)
		require.NotContains(o.t, now, "/_gone/goes", when)
		require.NotContains(o.t, now, "/_held/goes", when)
	case "forget":
		require.Contains(o.t, now, "_held/goes "+tip, when)
		require.NotContains(o.t, now, "smithers/goes/", when)
	case "collect":
		require.NotContains(o.t, now, tip, when)
		require.False(o.t, o.has(tip), when)
	}
}

// forgetAll makes a run as if it had never been.
func (o *orchard) forgetAll(run string) {
	o.t.Helper()
	for name := range strings.FieldsSeq(o.Git("for-each-ref", "--format=%(refname)", "refs/smithers")) {
		if strings.Contains(name, "/"+run) {
			o.Git("update-ref", "-d", name)
		}
	}
}

// Captures that run meanwhile find in the repository what only the run that goes has. They
// may build on it until they have stored what they took.
func TestCollectingBesideCapturesLosesNothing(t *testing.T) {
	t.Parallel()
	o := newOrchard(t)
	for i := range 30 {
		o.Write(fmt.Sprintf("many/%d", i), noise(uint64(i), 200))
	}
	const rounds, writers = 8, 3
	o.grow("goes-0", 1)
	finished := make(chan error)
	for w := range writers {
		store := o.open(nil)
		go func() {
			var err error
			for i := 0; i < rounds && err == nil; i++ {
				err = growIn(t.Context(), store, fmt.Sprintf("w%d-%d", w, i), 2)
			}
			finished <- errors.Join(err, store.Close())
		}()
	}
	left, n := writers, 0
	for left > 0 {
		select {
		case err := <-finished:
			require.NoError(t, err)
			left--
		default:
			o.prune(fmt.Sprintf("goes-%d", n))
			o.collect()
			n++
			o.grow(fmt.Sprintf("goes-%d", n), 1)
		}
	}
	store := o.open(nil)
	runs, err := list.Runs(t.Context(), store)
	require.NoError(t, err)
	assert.Len(t, runs, writers*rounds+1)
	for _, run := range runs {
		assert.Equal(t, string(snapshot.RunFinished), run.Status)
	}
	require.NoError(t, store.Close())
}

func TestRunsOfEveryKindOfWorkingCopyAreCollected(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		o := &orchard{Repo: repo, t: t, clock: ticking()}
		o.Write("own", noise(1, 1000))
		o.grow("stays", 1)
		o.grow("goes", 2)
		tip := o.Git("rev-parse", "refs/smithers/_tip/goes")
		o.prune("goes")
		o.collect()
		assert.False(t, o.has(tip))
		o.sound("at the end")
	})
}
