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

// openIn opens the history of a repository, and what a run in its working copy
// takes. The repository is verified when the test ends.
func openIn(t *testing.T, repo *repotest.Repo) (*timeline.Store, engine.Options) {
	t.Helper()
	store, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Warn: func(err error) { assert.NoError(t, err, "a warning") },
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	repo.OnCleanup(func(t testing.TB) {
		t.Helper()
		again, err := timeline.Open(context.Background(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: clock()})
		require.NoError(t, err)
		report, err := again.Verify(context.Background())
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.NoError(t, again.Close())
	})
	here, err := gitexec.Discover(t.Context(), repo.Dir, repo.Env)
	require.NoError(t, err)
	return store, engine.Options{
		Now: clock(), WorkDir: repo.Dir, Env: repo.Env,
		Revision: func(ctx context.Context) (*snapshot.VCS, error) { return jjbridge.Revision(ctx, here, repo.Env) },
	}
}

// create makes a run of a workflow. input is JSON, nil for none.
func create(t *testing.T, store *timeline.Store, run string, wf *engine.Workflow, input json.RawMessage) *timeline.Head {
	t.Helper()
	draft, err := engine.Initial(run, wf, input, clock()())
	require.NoError(t, err)
	head, err := store.Create(t.Context(), snapshot.Run{ID: run, CreatedAtMs: draft.AtMs}, draft)
	require.NoError(t, err)
	return head
}

// A run in a real repository fails, is forked from the frame before the failure
// with another input, and the replay finishes without running again what was done.
func TestAFailedRunIsForkedAndReplayedInARepository(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	store, opts := openIn(t, repo)
	opts.Env = append(repo.Env, "GIT_DIR=/nowhere")
	wf := parse(t, `
name: w
input: {properties: {ok: {type: boolean}}}
outputs: {seen: {}}
tasks:
  - {id: commit, run: 'echo ran >> log; git add log; git commit -qm "a task commits"; git rev-parse --abbrev-ref HEAD'}
  - {id: check, needs: [commit], run: 'grep -q "\"ok\":true" && echo true', output: seen}
`)
	head := create(t, store, "parent", wf, json.RawMessage(`{"ok":false}`))

	_, err := engine.Run(t.Context(), head, wf, opts)
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
}
