package timeline_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// eventsOf are the events of a run in order, by their types and with their payloads, but
// for those by which frames announce themselves.
func eventsOf(t *testing.T, repo *repotest.Repo, run string) (kinds []string, payloads []map[string]any) {
	t.Helper()
	for commit := range strings.Lines(repo.Git("rev-list", "--first-parent", "--reverse", "refs/smithers/_tip/"+run)) {
		events, err := repo.GitErr("show", strings.TrimSpace(commit)+":events")
		if err != nil {
			continue // there are none
		}
		for line := range strings.Lines(events) {
			var event map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &event))
			kind, ok := event["type"].(string)
			require.True(t, ok)
			if kind == "SnapshotCaptured" {
				continue
			}
			kinds = append(kinds, kind)
			for _, member := range []string{"type", "seq", "timestampMs"} {
				delete(event, member)
			}
			payloads = append(payloads, event)
		}
	}
	return kinds, payloads
}

func TestRevertGivesBackTheFilesAsAnAttemptLeftThem(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		head := startRun(t, s, "run")
		work(t, repo)
		first := filesIn(t, repo.Dir)
		finish(t, s, head, 1)
		repo.Write("src/main.go", "package main // tried again\n")
		second := filesIn(t, repo.Dir)
		finish(t, s, head, 2)
		repo.Write("more.txt", "of nobody\n")

		done, err := files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a", Attempt: 1})
		require.NoError(t, err)
		assert.Equal(t, first, filesIn(t, repo.Dir))
		assert.Equal(t, timeline.Address{Run: "run", Frame: 1}, done.From)
		assert.Equal(t, &timeline.Address{Run: "run", Frame: 3}, done.Saved)
		assert.Equal(t, &timeline.Address{Run: "run", Frame: 4}, done.Frame)
		assert.Equal(t, "working copy reverted to after a::0::1", repo.Git("log", "-1", "--format=%s", "refs/smithers/run/4"))
		kinds, payloads := eventsOf(t, repo, "run")
		assert.Equal(t, []string{"RevertStarted", "RevertFinished"}, kinds)
		started := vcsAt(t, s, "run:1")
		want := map[string]any{
			"runId": "run", "nodeId": "a", "iteration": 0.0, "attempt": 1.0,
			"vcsPointer": started.CommitID, "treeId": started.Tree.String(),
		}
		if kind.IsJJ() {
			want["jjPointer"] = started.CommitID
		}
		assert.Equal(t, want, payloads[0])
		want["success"] = true
		assert.Equal(t, want, payloads[1])

		_, err = files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a"})
		require.NoError(t, err)
		assert.Equal(t, second, filesIn(t, repo.Dir), "without a number it is the newest attempt")
	})
}

func TestARevertWithoutAnythingToDoStillSaysSo(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	finish(t, s, startRun(t, s, "run"), 1)
	done, err := files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a"})
	require.NoError(t, err)
	assert.Empty(t, done.Changes)
	assert.Nil(t, done.Saved)
	assert.Nil(t, done.Frame)
	kinds, _ := eventsOf(t, repo, "run")
	assert.Equal(t, []string{"RevertStarted", "RevertFinished"}, kinds)
}

func TestARevertOfWhatIsNotThereNamesWhatIs(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startRun(t, s, "run")
	finish(t, s, head, 1)
	unpaired := snapshot.EncodeAttempt(snapshot.Attempt{NodeID: "b", Attempt: 1, State: snapshot.AttemptInProgress, StartedAtMs: 1})
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Journal: []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: unpaired.Key, Value: unpaired.Value},
	}}))
	refs := repo.Git("for-each-ref")
	for _, c := range []struct {
		name string
		req  files.RevertRequest
		code fault.Code
		hint string
	}{
		{"another number", files.RevertRequest{Run: "run", Node: "a", Attempt: 2}, fault.AttemptNotFound, "a::0::1"},
		{"another iteration", files.RevertRequest{Run: "run", Node: "a", Iteration: 1}, fault.AttemptNotFound, "a::0::1"},
		{"another node", files.RevertRequest{Run: "run", Node: "z"}, fault.AttemptNotFound, "--attempts"},
		{"one that has not ended", files.RevertRequest{Run: "run", Node: "b"}, fault.NoCode, "in-progress"},
		{"another run", files.RevertRequest{Run: "gone", Node: "a"}, fault.RunNotFound, "git smithers runs"},
	} {
		_, err := files.Revert(t.Context(), s, c.req)
		var f *fault.Error
		require.ErrorAs(t, err, &f, c.name)
		assert.Equal(t, c.code, f.Code, c.name)
		require.NotEmpty(t, f.Hints, c.name)
		assert.Contains(t, f.Msg+"\n"+f.Hints[0], c.hint, c.name)
	}
	assert.Equal(t, refs, repo.Git("for-each-ref"))
}

// What a fork's parent attempted is the fork's to go back to.
func TestAForkRevertsToAnAttemptOfItsParent(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	parent := startRun(t, s, "parent")
	shoot(t, s, parent, "still nothing")
	repo.Write("src/main.go", "package main // of the parent\n")
	found := filesIn(t, repo.Dir)
	finish(t, s, parent, 1)
	child, err := s.Fork(t.Context(), timeline.ForkRequest{From: "parent:2", RunID: "child"})
	require.NoError(t, err)
	repo.Write("src/main.go", "package main // of the child\n")
	shoot(t, s, child, "worked")
	shoot(t, s, child, "worked on")

	done, err := files.Revert(t.Context(), s, files.RevertRequest{Run: "child", Node: "a"})
	require.NoError(t, err)
	assert.Equal(t, timeline.Address{Run: "parent", Frame: 2}, done.From)
	assert.Equal(t, found, filesIn(t, repo.Dir))
	assert.Equal(t, "child", done.Frame.Run, "it is recorded in the run that was asked about")
}

func TestARevertNamesTheAttemptsThatRanBesideIt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startRun(t, s, "run")
	draft := shot(t, files.WorkingCopyOf(s), "a finished")
	draft.Journal = []snapshot.Change{ended(snapshot.Attempt{
		Attempt: 1, CommitID: draft.VCS.CommitID, Tree: draft.VCS.Tree, Frame: new(int64(1)), Beside: []string{"b::0::1", "c::0::2"},
	})}
	require.NoError(t, head.Append(t.Context(), draft))
	would, err := files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a", DryRun: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"b::0::1", "c::0::2"}, would.Beside)
}

// Between saving the files and restoring others somebody changes one of them.
func TestARevertThatFailsSaysSo(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	plain := open(t, repo)
	head := startRun(t, plain, "run")
	finish(t, plain, head, 1)
	work(t, repo)
	meddled := false
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Failpoint: func(name string) error {
			if name == "refs-done" && !meddled {
				meddled = true
				return os.WriteFile(filepath.Join(repo.Dir, "src", "main.go"), []byte("package main // of the user, at the worst moment\n"), 0o666)
			}
			return nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	found := filesIn(t, repo.Dir)
	_, err = files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a"})
	assert.Equal(t, fault.RestoreRefused, fault.CodeOf(err), "%v", err)
	require.True(t, meddled)
	found["src/main.go"] = found["src/main.go"][:2] + "package main // of the user, at the worst moment\n"
	assert.Equal(t, found, filesIn(t, repo.Dir))
	kinds, payloads := eventsOf(t, repo, "run")
	assert.Equal(t, []string{"RevertStarted", "RevertFinished"}, kinds)
	assert.Equal(t, false, payloads[1]["success"])
	assert.Equal(t, "restore_refused", payloads[1]["error"])
}
