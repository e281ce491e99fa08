package timeline_test

import (
	"errors"
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

func TestRestoreGivesBackTheFilesOfAFrameAndKeepsTheWorkDoneSince(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		before := filesIn(t, repo.Dir)
		head := startRun(t, s, "run")
		work(t, repo)
		shoot(t, s, head, "worked")
		repo.Write("src/main.go", "package main // not in any frame\n")
		unsaved := filesIn(t, repo.Dir)

		done, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
		require.NoError(t, err)
		assert.Equal(t, before, filesIn(t, repo.Dir))
		assert.Equal(t, timeline.Address{Run: "run", Frame: 0}, done.From)
		assert.Equal(t, map[string]string{
			"src/main.go": "modify", "src/deep/er/new.txt": "remove", "tool.sh": "remove", "link": "remove", "notes/todo.txt": "add",
		}, opsOf(done.Changes))
		require.Equal(t, &timeline.Address{Run: "run", Frame: 2}, done.Saved)
		require.Equal(t, &timeline.Address{Run: "run", Frame: 3}, done.Frame)
		assert.Equal(t, vcsAt(t, s, "run:0").Tree, vcsAt(t, s, "run:3").Tree)
		assert.Equal(t, "working copy restored to run:0", repo.Git("log", "-1", "--format=%s", "refs/smithers/run/3"))
		assert.Equal(t, "working copy saved; before: working copy restored to run:0", repo.Git("log", "-1", "--format=%s", "refs/smithers/run/2"))

		done, err = files.Restore(t.Context(), s, files.RestoreRequest{From: done.Saved.String()})
		require.NoError(t, err)
		assert.Equal(t, unsaved, filesIn(t, repo.Dir))
		assert.Nil(t, done.Saved, "the newest frame had the files already")
		assert.Equal(t, &timeline.Address{Run: "run", Frame: 4}, done.Frame)
	})
}

func TestRestoreLeavesWhatIsTheUsersAlone(t *testing.T) {
	t.Parallel()
	for _, kind := range []repotest.Kind{repotest.Git, repotest.GitWorktree} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			repo := repotest.NewKind(t, kind)
			repo.Write(".gitignore", "*.log\n")
			s := open(t, repo)
			head := startRun(t, s, "run")
			work(t, repo)
			repo.Write("build.log", "ignored\n")
			repo.Git("add", "src/deep")
			shoot(t, s, head, "worked")
			index, head2, refs := repo.Git("ls-files", "--stage"), repo.Git("rev-parse", "HEAD"), repo.Git("reflog", "--format=%H")
			_, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
			require.NoError(t, err)
			assert.Equal(t, index, repo.Git("ls-files", "--stage"))
			assert.Equal(t, head2, repo.Git("rev-parse", "HEAD"))
			assert.Equal(t, refs, repo.Git("reflog", "--format=%H"))
			assert.FileExists(t, filepath.Join(repo.Dir, "build.log"))
		})
	}
}

func TestARestoreIsOneOperationOfJJThatItUndoes(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	s := open(t, repo)
	head := startRun(t, s, "run")
	work(t, repo)
	worked := filesIn(t, repo.Dir)
	shoot(t, s, head, "worked")
	operations := func() int {
		return len(strings.Split(repo.JJ("op", "log", "--no-graph", `--template=id ++ "\n"`), "\n"))
	}
	before := operations()
	_, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
	require.NoError(t, err)
	assert.Equal(t, before+1, operations())
	repo.JJ("undo", "--quiet")
	assert.Equal(t, worked, filesIn(t, repo.Dir))
}

func TestADryRunSaysWhatWouldChangeAndChangesNothing(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		startRun(t, s, "run")
		work(t, repo)
		found, refs := filesIn(t, repo.Dir), repo.Git("for-each-ref", "refs/smithers")
		would, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0", DryRun: true})
		require.NoError(t, err)
		assert.Len(t, would.Changes, 5)
		assert.Nil(t, would.Saved)
		assert.Nil(t, would.Frame)
		assert.Equal(t, found, filesIn(t, repo.Dir))
		assert.Equal(t, refs, repo.Git("for-each-ref", "refs/smithers"))
	})
}

func TestARestoreOfWhatIsThereAlreadyAppendsNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	startRun(t, s, "run")
	tip := repo.Git("rev-parse", "refs/smithers/_tip/run")
	done, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run"})
	require.NoError(t, err)
	assert.Empty(t, done.Changes)
	assert.NotNil(t, done.Changes)
	assert.Nil(t, done.Saved)
	assert.Nil(t, done.Frame)
	assert.Equal(t, tip, repo.Git("rev-parse", "refs/smithers/_tip/run"))
}

// An ignored file is in no frame, so that nothing could bring it back.
func TestARestoreIsRefusedWhereAnIgnoredFileIsInTheWay(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		repo.Write("out/report", "of the task\n")
		repo.Write("src/main.go", "package main // of the task\n")
		head := startRun(t, s, "run")
		require.NoError(t, os.RemoveAll(filepath.Join(repo.Dir, "out")))
		repo.Write(".gitignore", "out\n")
		repo.Write("src/main.go", "package main\n")
		shoot(t, s, head, "cleaned")
		repo.Write("out/report", "of the user, and ignored\n")
		found, refs := filesIn(t, repo.Dir), repo.Git("for-each-ref", "refs/smithers")

		for _, dryRun := range []bool{true, false} {
			_, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0", DryRun: dryRun})
			var f *fault.Error
			require.ErrorAs(t, err, &f)
			assert.Equal(t, fault.RestoreRefused, f.Code)
			assert.Contains(t, f.Details, "refused")
			assert.Contains(t, f.Msg, "out/report")
		}
		assert.Equal(t, found, filesIn(t, repo.Dir))
		assert.Equal(t, refs, repo.Git("for-each-ref", "refs/smithers"))
	})
}

func TestWithTheScopeOffTheFilesAreSavedAllTheSame(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	startRun(t, open(t, repo), "run")
	repo.Env = append(repo.Env, "GIT_SMITHERS_WORKTREE=off")
	s := open(t, repo)
	head, err := s.Head(t.Context(), "run")
	require.NoError(t, err)
	work(t, repo)
	worked := filesIn(t, repo.Dir)
	shoot(t, s, head, "worked, unseen")
	assert.True(t, vcsAt(t, s, "run:1").Tree.IsZero())

	_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:1"})
	assert.Equal(t, fault.NoCode, fault.CodeOf(err))
	done, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
	require.NoError(t, err)
	require.NotNil(t, done.Saved)
	_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: done.Saved.String()})
	require.NoError(t, err)
	assert.Equal(t, worked, filesIn(t, repo.Dir))
}

func TestARestoreOfTrackedFilesLeavesUntrackedOnesAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Env = append(repo.Env, "GIT_SMITHERS_WORKTREE=tracked")
	s := open(t, repo)
	startRun(t, s, "run")
	repo.Write("README.md", "# Changed\n")
	repo.Write("mine.txt", "not tracked\n")
	done, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"README.md": "modify"}, opsOf(done.Changes))
	assert.FileExists(t, filepath.Join(repo.Dir, "mine.txt"))
	assert.Equal(t, &timeline.Address{Run: "run", Frame: 1}, done.Saved)
	assert.Equal(t, "README.md", repo.Git("diff", "--name-only", "--relative=worktree", "refs/smithers/run/0", "refs/smithers/run/1", "--", "worktree"))
}

func TestWithoutAWorkingCopyThereIsNothingToRestoreInto(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Bare, repotest.Commit)
	pushRun(t, repotest.New(t, repotest.Commit), repotest.Git, repo)
	s := open(t, repo)
	assert.Empty(t, files.WorkingCopyOf(s).Root())
	captured, err := files.WorkingCopyOf(s).Capture(t.Context())
	require.NoError(t, err)
	assert.Nil(t, captured)
	_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
	assert.Equal(t, fault.NoWorkingCopy, fault.CodeOf(err))
}

// moveTip makes a store that lets another one append to the run the first time that it
// is about to move a ref after armed has become true.
func moveTip(t *testing.T, repo *repotest.Repo, armed *bool) *timeline.Store {
	t.Helper()
	other := open(t, repo)
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Failpoint: func(name string) error {
			if name != "before-refs" || !*armed {
				return nil
			}
			*armed = false
			head, err := other.Head(t.Context(), "run")
			if err != nil {
				return err
			}
			return head.Append(t.Context(), snapshot.Draft{Subject: "somebody else's"})
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestARestoreGoesOnWhereTheTipMovesMeanwhile(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	armed := false
	s := moveTip(t, repo, &armed)
	before := filesIn(t, repo.Dir)
	startRun(t, s, "run")
	work(t, repo)
	armed = true
	done, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
	require.NoError(t, err)
	assert.False(t, armed)
	assert.Equal(t, before, filesIn(t, repo.Dir))
	assert.Equal(t, "working copy restored to run:0\nworking copy saved; before: working copy restored to run:0\nsomebody else's\nstarted",
		repo.Git("log", "--format=%s", "--max-count=4", "refs/smithers/"+strings.Replace(done.Frame.String(), ":", "/", 1)))
}

func TestARestoreThatCannotBeRecordedHasKeptTheFilesFirst(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	startRun(t, open(t, repo), "run")
	work(t, repo)
	worked := filesIn(t, repo.Dir)
	packs := 0
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Failpoint: func(name string) error {
			if name == "after-pack-temp" {
				packs++
			}
			if packs == 2 {
				return errors.New("the disk is on fire")
			}
			return nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
	require.ErrorContains(t, err, "the files were restored, but the restore was not recorded in the run: ")
	packs = 10
	_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:1"})
	require.NoError(t, err)
	assert.Equal(t, worked, filesIn(t, repo.Dir))
}

func TestARestoreNamesTheAttemptsThatHaveNotEnded(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startRun(t, s, "run")
	running := snapshot.EncodeAttempt(snapshot.Attempt{NodeID: "b", Attempt: 1, State: snapshot.AttemptInProgress, StartedAtMs: 1})
	elsewhere := snapshot.EncodeAttempt(snapshot.Attempt{NodeID: "c", Attempt: 1, State: snapshot.AttemptInProgress, StartedAtMs: 1, Worktree: "c"})
	draft := shot(t, files.WorkingCopyOf(s), "b, c started")
	draft.Journal = []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: running.Key, Value: running.Value},
		{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: elsewhere.Key, Value: elsewhere.Value},
	}
	require.NoError(t, head.Append(t.Context(), draft))
	for _, dryRun := range []bool{true, false} {
		done, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0", DryRun: dryRun})
		require.NoError(t, err)
		assert.Equal(t, []string{"b::0::1"}, done.Running)
	}
}
