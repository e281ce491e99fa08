package prune_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// An orchard is a repository with runs to prune, whose frames have the files of the
// working copy.
type orchard struct {
	*repotest.Repo

	t     testing.TB
	clock func() time.Time // of all stores, so that none has entries from the future
}

func newOrchard(t testing.TB) *orchard {
	t.Helper()
	o := &orchard{Repo: repotest.New(t, repotest.Commit), t: t, clock: ticking()}
	o.OnCleanup(func(t testing.TB) {
		t.Helper()
		store := o.open(nil)
		report, err := verify.Runs(context.Background(), store)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.NoError(t, store.Close())
	})
	return o
}

// open opens the history, with a failpoint or nil.
func (o *orchard) open(failpoint func(string) error) *timeline.Store {
	o.t.Helper()
	store, err := timeline.Open(context.Background(), timeline.Options{
		Dir: o.Dir, Env: append(o.Env, "GIT_SMITHERS_FSYNC=0"), Now: o.clock, Failpoint: failpoint,
		Warn: func(err error) { o.t.Logf("warning: %v", err) },
	})
	require.NoError(o.t, err)
	return store
}

// ticking starts at a fixed moment and goes on by one second a reading.
func ticking() func() time.Time {
	var mu sync.Mutex
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}
}

// with runs f on a keeper of the history.
func (o *orchard) with(f func(*prune.Keeper) error) error {
	o.t.Helper()
	store := o.open(nil)
	err := f(prune.New(store, prune.Options{}))
	require.NoError(o.t, store.Close())
	return err
}

// grow makes a run of so many frames, each with a state of its own and the files as they are.
func (o *orchard) grow(run string, frames int) {
	o.t.Helper()
	store := o.open(nil)
	require.NoError(o.t, growIn(o.t.Context(), store, run, frames))
	require.NoError(o.t, store.Close())
}

func growIn(ctx context.Context, store *timeline.Store, run string, frames int) error {
	var head *timeline.Head
	for i := range frames {
		captured, err := files.WorkingCopyOf(store).Capture(ctx)
		if err != nil {
			return err
		}
		input, err := json.Marshal(map[string]any{"run": run, "frame": i})
		if err != nil {
			return err
		}
		draft := snapshot.Draft{
			Frame: &snapshot.FrameDraft{State: []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: input}}},
			VCS:   &captured.VCS, Objects: captured.Objects,
		}
		if head == nil {
			head, err = store.Create(ctx, snapshot.Run{ID: run, Workflow: "w", Status: snapshot.RunFinished}, draft)
		} else {
			err = head.Append(ctx, draft)
		}
		if closeErr := captured.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prune forgets runs.
func (o *orchard) prune(runs ...string) *prune.Result {
	o.t.Helper()
	var pruned *prune.Result
	require.NoError(o.t, o.with(func(k *prune.Keeper) (err error) {
		pruned, err = k.Forget(o.t.Context(), prune.Policy{}, false, runs...)
		return err
	}))
	return pruned
}

func (o *orchard) collect() *prune.Result {
	o.t.Helper()
	var pruned *prune.Result
	require.NoError(o.t, o.with(func(k *prune.Keeper) (err error) {
		pruned, err = k.Collect(o.t.Context(), false)
		return err
	}))
	return pruned
}

func (o *orchard) recall(runs ...string) error {
	o.t.Helper()
	return o.with(func(k *prune.Keeper) error {
		_, err := k.Recall(o.t.Context(), runs...)
		return err
	})
}

// ourRefs is the refs of ours and what they point at.
func (o *orchard) ourRefs() string {
	return o.Git("for-each-ref", "--format=%(refname) %(objectname)", "refs/smithers", "refs/smithers-remote")
}

// has reports whether the repository has an object.
func (o *orchard) has(id string) bool {
	_, err := o.GitErr("cat-file", "-e", id)
	return err == nil
}

// isLoose reports whether an object is in a file of its own.
func (o *orchard) isLoose(id string) bool {
	found, err := filepath.Glob(filepath.Join(o.GitDir, "objects", id[:2], id[2:]))
	require.NoError(o.t, err)
	return len(found) > 0
}

// noise is text that cannot be packed small, other for every seed.
func noise(seed uint64, size int) string {
	var b bytes.Buffer
	random := rand.New(rand.NewPCG(seed, 1))
	for b.Len() < size {
		b.WriteString(strings.ToLower(string(rune('a' + random.IntN(26)))))
	}
	return b.String() + "\n"
}
