package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
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
		report, err := verify.Runs(context.Background(), again)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.NoError(t, again.Close())
	})
	return store, engine.Options{
		Now: clock(), WorkDir: repo.Dir, Env: repo.Env, WorkingCopy: files.WorkingCopyOf(store),
		Warn: func(err error) { assert.NoError(t, err, "a warning") },
	}
}

// create makes a run of a workflow. input is JSON, nil for none.
func create(t *testing.T, store *timeline.Store, run string, wf *workflow.Workflow, input json.RawMessage) *timeline.Head {
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

	_, err := engine.RunParsed(t.Context(), head, wf, opts)
	assert.Equal(t, "run parent failed: check: exit status 1", fails(t, fault.RunFailed, err))

	child, err := store.Fork(t.Context(), timeline.ForkRequest{
		From: "parent:2", RunID: "child", Input: json.RawMessage(`{"ok":true}`), Workflow: wf.Snapshot(),
		Prepare: func(state *snapshot.State, reveal snapshot.Reveal) ([]snapshot.Change, error) {
			return engine.Reconcile(state, reveal, engine.ReconcileRequest{Workflow: wf})
		},
	})
	require.NoError(t, err)
	result, err := engine.RunParsed(t.Context(), child, wf, opts)
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)

	ran, err := os.ReadFile(filepath.Join(repo.Dir, "log"))
	require.NoError(t, err)
	assert.Equal(t, "ran\n", string(ran))
	assert.Contains(t, repo.Git("show", "refs/smithers/child/2:outputs-seen"), `["check::0",true]`)
	commit, first := repo.Git("rev-parse", "HEAD"), repo.Git("rev-parse", "HEAD~")
	assert.Contains(t, repo.Git("log", "-1", "--format=%B", "refs/smithers/parent/1"), "Smithers-Vcs: git:"+strings.TrimSpace(first))
	assert.Contains(t, repo.Git("log", "-1", "--format=%B", "refs/smithers/parent/2"), "Smithers-Vcs: git:"+strings.TrimSpace(commit))
}

// codeOf is the files of every frame of the run "r" from the first one on: paths and
// contents, as plain git reads them.
func codeOf(repo *repotest.Repo, last int64, under string) []string {
	var frames []string
	for frame := range last {
		tree := "refs/smithers/r/" + strconv.FormatInt(frame+1, 10) + ":" + under
		var files []string
		for path := range strings.FieldsSeq(repo.Git("ls-tree", "-r", "--name-only", tree)) {
			files = append(files, path+"="+strings.TrimSpace(repo.Git("cat-file", "blob", tree+"/"+path)))
		}
		frames = append(frames, strings.Join(files, " "))
	}
	return frames
}

func TestEveryFrameHasExactlyTheFilesOfItsTime(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		store, opts := openIn(t, repo)
		wf := parse(t, `
name: w
tasks:
  - {id: write, run: 'mkdir d; echo 1 > d/new; echo changed > README'}
  - {id: fail, needs: [write], run: 'echo $SMITHERS_ATTEMPT > tried; test $SMITHERS_ATTEMPT = 2', retries: 1}
  - {id: remove, needs: [fail], run: 'rm -r d README'}
`)
		for path := range strings.FieldsSeq(repo.Git("ls-tree", "--name-only", "main")) {
			require.NoError(t, os.RemoveAll(filepath.Join(repo.Dir, path)))
		}
		require.NoError(t, os.WriteFile(filepath.Join(repo.Dir, "README"), []byte("mine\n"), 0o666))
		head := create(t, store, "r", wf, nil)
		result, err := engine.RunParsed(t.Context(), head, wf, opts)
		require.NoError(t, err)
		const written, tried = "README=changed d/new=1", "README=changed d/new=1 tried="
		assert.Equal(t, []string{
			"README=mine", written, written, tried + "1", tried + "1", tried + "2", tried + "2", "tried=2", "tried=2",
		}, codeOf(repo, result.Run.Frame, "worktree"))
		assert.NotEmpty(t, result.Run.VCSRevision)
	})
}

func TestATasksOwnWorktreeIsKeptApart(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		store, opts := openIn(t, repo)
		opts.Worktree = func(ctx context.Context, spec files.WorktreeSpec, rebase bool) (engine.WorkingCopy, error) {
			return files.OpenWorktree(ctx, store, "r", spec, rebase)
		}
		wf := parse(t, `
name: w
tasks:
  - {id: apart, run: 'echo apart > own', worktree: {branch: "b-{run}"}}
  - {id: shared, needs: [apart], run: 'test ! -e own; echo shared > s'}
`)
		head := create(t, store, "r", wf, nil)
		result, err := engine.RunParsed(t.Context(), head, wf, opts)
		require.NoError(t, err)
		tip := "refs/smithers/_tip/r:"
		assert.Equal(t, "apart", strings.TrimSpace(repo.Git("show", tip+"worktrees/apart/own")))
		assert.Equal(t, "shared", strings.TrimSpace(repo.Git("show", tip+"worktree/s")))
		assert.NotContains(t, repo.Git("ls-tree", "--name-only", tip+"worktree"), "own")
		vcs, err := head.Entry().VCSRevision()
		require.NoError(t, err)
		require.Len(t, vcs.Worktrees, 1)
		assert.Equal(t, "apart", vcs.Worktrees[0].Name)
		assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	})
}
