package share_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// clone is a repository with a remote "origin", its history, and what shares it.
type clone struct {
	*repotest.Repo

	t      testing.TB
	store  *timeline.Store
	sharer *share.Sharer
}

// newOrigin makes a bare repository for clones to share.
func newOrigin(t testing.TB) *repotest.Repo {
	t.Helper()
	origin := repotest.New(t, repotest.Bare)
	origin.OnCleanup(func(tb testing.TB) { tb.Helper(); requireHealthy(tb, origin) })
	return origin
}

// newClone makes a repository with one commit, the same as every other clone's, which
// the origin has, too, and all that the origin has.
func newClone(t testing.TB, origin *repotest.Repo) *clone {
	t.Helper()
	c := &clone{Repo: repotest.New(t, repotest.Commit), t: t}
	c.Git("remote", "add", "origin", origin.Dir)
	if _, err := origin.GitErr("rev-parse", "--verify", "--quiet", "main"); err != nil {
		c.Git("push", "--quiet", "origin", "main")
	}
	c.Git("fetch", "--quiet", "origin")
	c.reopen()
	c.OnCleanup(func(tb testing.TB) { tb.Helper(); requireHealthy(tb, c.Repo) })
	return c
}

// reopen opens the history again, as another process would, under more of an environment.
func (c *clone) reopen(env ...string) {
	c.t.Helper()
	if c.store != nil {
		require.NoError(c.t, c.store.Close())
	}
	store, err := timeline.Open(context.Background(), timeline.Options{
		Dir: c.Dir, Env: append(c.Env, env...), Now: steppingClock(),
		Warn: func(err error) { c.t.Logf("warning: %v", err) },
	})
	require.NoError(c.t, err)
	if c.store == nil {
		c.t.Cleanup(func() { require.NoError(c.t, c.store.Close()) })
	}
	c.store, c.sharer = store, share.New(store, share.Options{})
}

// steppingClock starts at a fixed moment and goes on by one second a reading.
func steppingClock() func() time.Time {
	var mu sync.Mutex
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}
}

func requireHealthy(t testing.TB, repo *repotest.Repo) {
	t.Helper()
	s, err := timeline.Open(context.Background(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: steppingClock()})
	require.NoError(t, err)
	report, err := verify.Runs(context.Background(), s)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.NoError(t, s.Close())
}

// play makes a run of so many frames after frame 0.
func (c *clone) play(run string, frames int) *timeline.Head {
	c.t.Helper()
	head, err := c.store.Create(context.Background(), snapshot.Run{ID: run, Workflow: "flow", Status: snapshot.RunRunning}, snapshot.Draft{Subject: "started in " + c.name()})
	require.NoError(c.t, err)
	c.goOn(head, frames)
	return head
}

// goOn adds frames to a run.
func (c *clone) goOn(head *timeline.Head, frames int) {
	c.t.Helper()
	for range frames {
		c.append(head, snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	}
}

// fork makes a fork of a frame.
func (c *clone) fork(from, id string) *timeline.Head {
	c.t.Helper()
	head, err := c.store.Fork(context.Background(), timeline.ForkRequest{From: from, RunID: id})
	require.NoError(c.t, err)
	return head
}

// name tells one clone of a test from another.
func (c *clone) name() string { return filepath.Base(filepath.Dir(c.Dir)) }

func (c *clone) append(head *timeline.Head, draft snapshot.Draft) {
	c.t.Helper()
	number := head.Row().Frame + 1
	row := snapshot.EncodeNode(snapshot.Node{NodeID: fmt.Sprintf("n%d", number), State: snapshot.NodeFinished, OutputTable: "results"})
	draft.Subject = fmt.Sprintf("frame %d of %s", number, c.name())
	draft.Frame.State = []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: row.Key, Value: row.Value}}
	require.NoError(c.t, head.Append(context.Background(), draft))
}

// refsOf are the refs of a repository whose names begin so, by name.
func refsOf(repo *repotest.Repo, prefix string) map[string]string {
	out := make(map[string]string)
	for line := range strings.Lines(repo.Git("for-each-ref", "--format=%(refname) %(objectname)", prefix) + "\n") {
		if name, id, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out[name] = id
		}
	}
	return out
}
