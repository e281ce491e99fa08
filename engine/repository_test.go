package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func clock() func() time.Time {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

// A run in a real repository fails, is forked from the frame before the failure
// with another input, and the replay finishes without running again what was done.
func TestAFailedRunIsForkedAndReplayedInARepository(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: clock()})
	require.NoError(t, err)
	defer func() { assert.NoError(t, store.Close()) }()
	wf := parse(t, `
name: w
input: {properties: {ok: {type: boolean}}}
outputs: {seen: {}}
tasks:
  - {id: commit, run: 'echo ran >> log; git add log; git commit -qm "a task commits"; git rev-parse --abbrev-ref HEAD'}
  - {id: check, needs: [commit], run: 'grep -q "\"ok\":true" && echo true', output: seen}
`)
	here, err := gitexec.Discover(t.Context(), repo.Dir, repo.Env)
	require.NoError(t, err)
	opts := engine.Options{
		Now: clock(), WorkDir: repo.Dir, Env: append(repo.Env, "GIT_DIR=/nowhere"),
		Revision: func(ctx context.Context) (*snapshot.VCS, error) { return jjbridge.Revision(ctx, here, repo.Env) },
	}
	draft, err := engine.Initial("parent", wf, json.RawMessage(`{"ok":false}`), opts.Now())
	require.NoError(t, err)
	head, err := store.Create(t.Context(), snapshot.Run{ID: "parent", CreatedAtMs: draft.AtMs}, draft)
	require.NoError(t, err)

	_, err = engine.Run(t.Context(), head, wf, opts)
	assert.Equal(t, "run parent failed: check: exit status 1", fails(t, fault.RunFailed, err))

	child, err := store.Fork(t.Context(), timeline.ForkRequest{
		From: "parent:2", RunID: "child", Input: json.RawMessage(`{"ok":true}`), Workflow: wf.Snapshot(),
		Prepare: func(state *snapshot.State) ([]snapshot.Change, error) {
			return engine.Reconcile(state, engine.ReconcileRequest{Workflow: wf})
		},
	})
	require.NoError(t, err)
	result, err := engine.Run(t.Context(), child, wf, opts)
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)

	ran, err := os.ReadFile(filepath.Join(repo.Dir, "log"))
	require.NoError(t, err)
	assert.Equal(t, "ran\n", string(ran))
	assert.Contains(t, repo.Git("show", "refs/smithers/child/2:state/outputs/seen/pages/0"), `["check::0",true]`)
	commit, first := repo.Git("rev-parse", "HEAD"), repo.Git("rev-parse", "HEAD~")
	assert.Contains(t, repo.Git("log", "-1", "--format=%B", "refs/smithers/parent/1"), "Smithers-Vcs: git:"+strings.TrimSpace(first))
	assert.Contains(t, repo.Git("log", "-1", "--format=%B", "refs/smithers/parent/2"), "Smithers-Vcs: git:"+strings.TrimSpace(commit))
	repo.OnCleanup(func(t testing.TB) {
		t.Helper()
		again, err := timeline.Open(context.Background(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: clock()})
		require.NoError(t, err)
		report, err := again.Verify(context.Background())
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.NoError(t, again.Close())
	})
}
