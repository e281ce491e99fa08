package timeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// worked is a run of a, b and c whose attempts change the working copy, and that has ended.
// The files are those after a, after b, and after c.
func worked(t testing.TB, s *timeline.Store, repo *repotest.Repo) (afterA, afterB, afterC map[string]string) {
	t.Helper()
	p := newPlay(t, s, "run", files.WorkingCopyOf(s), "a", "b<a", "c<b")
	p.step("a started", p.starts("a::0::1"))
	repo.Write("a.txt", "of a\n")
	p.step("a finished", p.finishes("a::0::1", `1`))
	afterA = filesIn(t, repo.Dir)
	p.step("b started", p.starts("b::0::1"))
	work(t, repo)
	p.step("b finished", p.finishes("b::0::1", `2`))
	afterB = filesIn(t, repo.Dir)
	p.step("c started", p.starts("c::0::1"))
	repo.Write("c.txt", "of c\n")
	p.step("c finished", p.finishes("c::0::1", `3`))
	afterC = filesIn(t, repo.Dir)
	p.become(snapshot.RunFinished)
	return afterA, afterB, afterC
}

func TestATravelBringsTheFilesBackInTheFrameThatBringsTheStateBack(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		afterA, _, _ := worked(t, s, repo)
		repo.Write("mine.txt", "in no frame\n")
		unsaved := filesIn(t, repo.Dir)

		done, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
		require.NoError(t, err)
		assert.Equal(t, afterA, filesIn(t, repo.Dir))
		require.NotNil(t, done.Files)
		assert.Equal(t, "remove", opsOf(done.Files.Changes)["mine.txt"])
		assert.Equal(t, &timeline.Address{Run: "run", Frame: 7}, done.Files.Saved)
		assert.Equal(t, &timeline.Address{Run: "run", Frame: 8}, done.Files.Frame)
		assert.EqualValues(t, 8, done.Frame)
		assert.EqualValues(t, 7, done.From)
		assert.Equal(t, []int64{3, 4, 5, 6, 7}, done.Dropped)
		assert.Equal(t, vcsAt(t, s, "run:2").Tree, vcsAt(t, s, "run:8").Tree)
		assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "run:8").ID())
		assert.True(t, done.Op.Files)
		assert.EqualValues(t, 8, *done.Op.Frame)
		assert.EqualValues(t, 2, *done.Op.To)
		assert.Equal(t, entryAt(t, s, "run:8").Parent, done.Op.Before)
		assert.Equal(t, entryAt(t, s, "run:7").ID, done.Op.Before)
		kinds, payloads := eventsOf(t, repo, "run")
		assert.Equal(t, []string{"TimeTravelStarted", "NodePending", "NodePending", "TimeTravelFinished", "RunStatusChanged"}, kinds)
		assert.InDelta(t, 7, payloads[0]["fromFrameNo"], 0)

		undone := undo(t, s, "run")
		assert.Equal(t, unsaved, filesIn(t, repo.Dir))
		assert.EqualValues(t, 9, undone.Frame)
		assert.Nil(t, undone.Files.Saved, "the newest frame had the files already")
		assert.Equal(t, stateAt(t, s, "run:6").ID(), stateAt(t, s, "run:9").ID())
		assert.Equal(t, vcsAt(t, s, "run:7").Tree, vcsAt(t, s, "run:9").Tree)
	})
}

func TestATravelThatFindsTheFilesAsTheyWereSavesNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	_, afterB, _ := worked(t, s, repo)
	require.NoError(t, os.Remove(filepath.Join(repo.Dir, "c.txt")))
	done, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "c"})
	require.NoError(t, err)
	assert.Equal(t, afterB, filesIn(t, repo.Dir))
	assert.Empty(t, done.Files.Changes)
	assert.Nil(t, done.Files.Saved)
	assert.EqualValues(t, 7, done.Frame)
	assert.False(t, done.Op.Files)
	assert.Equal(t, vcsAt(t, s, "run:4").Tree, vcsAt(t, s, "run:7").Tree, "the frame says what is there")
}

func TestWithoutFilesTheFrameSaysOfThemWhatTheTipDid(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	_, _, afterC := worked(t, s, repo)
	done, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b", NoFiles: true})
	require.NoError(t, err)
	assert.Equal(t, afterC, filesIn(t, repo.Dir))
	assert.Nil(t, done.Files)
	assert.Equal(t, vcsAt(t, s, "run:6"), vcsAt(t, s, "run:7"))
	assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "run:7").ID())

	undone := undo(t, s, "run")
	assert.Nil(t, undone.Files, "what it did not change is not taken back")
}

func TestAnUndoMayLeaveTheFilesAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	afterA, _, _ := worked(t, s, repo)
	_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
	require.NoError(t, err)
	undone, err := travel.Undo(t.Context(), s, travel.UndoRequest{Run: "run", NoFiles: true})
	require.NoError(t, err)
	assert.Nil(t, undone.Files)
	assert.Equal(t, afterA, filesIn(t, repo.Dir))
	assert.Equal(t, stateAt(t, s, "run:6").ID(), stateAt(t, s, "run").ID())
	assert.Equal(t, vcsAt(t, s, "run:2").Tree, vcsAt(t, s, "run").Tree)
}

func TestWhereAFrameHasNoFilesTheStateTravelsAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	p := threeInARow(t, s, nil)
	shoot(t, s, p.in("run").head, "files at last")
	repo.Write("mine.txt", "mine\n")
	files := filesIn(t, repo.Dir)
	done, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
	require.NoError(t, err)
	assert.Equal(t, "no files were captured for run:2", done.NoFiles)
	assert.Nil(t, done.Files)
	assert.Equal(t, files, filesIn(t, repo.Dir))
	assert.Equal(t, vcsAt(t, s, "run:7").Tree, vcsAt(t, s, "run:8").Tree)
}

func TestATravelIsRefusedWhereFilesAreInTheWay(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		repo.Write("out/report", "of the task\n")
		p := newPlay(t, s, "run", files.WorkingCopyOf(s), "a", "b<a")
		p.run("a::0::1")
		require.NoError(t, os.RemoveAll(filepath.Join(repo.Dir, "out")))
		repo.Write(".gitignore", "out\n")
		p.run("b::0::1")
		repo.Write("out/report", "of the user, and ignored\n")
		files, refs := filesIn(t, repo.Dir), repo.Git("for-each-ref", "refs/smithers")
		_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
		var f *fault.Error
		require.ErrorAs(t, err, &f)
		assert.Equal(t, fault.RestoreRefused, f.Code)
		assert.Contains(t, f.Hints, "add --no-vcs to leave the files unchanged")
		assert.Equal(t, files, filesIn(t, repo.Dir))
		assert.Equal(t, refs, repo.Git("for-each-ref", "refs/smithers"))
		requireUnclaimed(t, repo)
	})
}

func TestWithoutAWorkingCopyATravelNeedsToBeToldToLeaveFilesAlone(t *testing.T) {
	t.Parallel()
	work := repotest.New(t, repotest.Commit)
	worked(t, open(t, work), work)
	repo := repotest.New(t, repotest.Bare, repotest.Commit)
	work.Git("push", "--quiet", repo.GitDir, "refs/smithers/*:refs/smithers/*")
	s := open(t, repo)
	refs := repo.Git("for-each-ref")
	_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
	assert.Equal(t, fault.NoWorkingCopy, fault.CodeOf(err))
	assert.Equal(t, refs, repo.Git("for-each-ref"))
	travelTo(t, s, "run", "b::0::1")
	assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "run").ID())
}

// Tasks with worktrees of their own go back there; one that is gone is only named.
func TestATravelBringsBackTheTasksOwnWorktreesThatAreHere(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		p := newPlay(t, s, "run", files.WorkingCopyOf(s), "a", "b")
		own, texts := make(map[string]*files.WorkingCopy), make(map[string]string)
		write := func(name, text string) {
			texts[name] = text
			require.NoError(t, os.WriteFile(filepath.Join(own[name].Root(), "work.txt"), []byte(text), 0o666))
		}
		step := func(subject string, changes ...[]snapshot.Change) {
			draft := p.draft(subject, nil)
			for _, c := range changes {
				for _, c := range c {
					if c.Collection == snapshot.CollectionAttempts {
						draft.Journal = append(draft.Journal, c)
					} else {
						draft.Frame.State = append(draft.Frame.State, c)
					}
				}
			}
			both := draft.Objects
			for _, name := range []string{"a", "b"} {
				d := shot(t, own[name], "")
				draft.VCS.Worktrees = append(draft.VCS.Worktrees, snapshot.Worktree{Name: name, VCS: *d.VCS})
				before := both
				both = objectsOf(before, d.Objects)
			}
			draft.Objects = both
			require.NoError(t, p.head.Append(context.Background(), draft))
		}
		for _, name := range []string{"a", "b"} {
			var err error
			own[name], err = files.OpenWorktree(t.Context(), s, "run", files.WorktreeSpec{Name: name}, false)
			require.NoError(t, err)
			write(name, "first of "+name)
		}
		step("ready")
		step("a started", p.starts("a::0::1"))
		write("a", "second of a")
		repo.Write("shared.txt", "shared\n")
		step("a finished", p.finishes("a::0::1", `1`))
		write("a", "in no frame")
		require.NoError(t, os.RemoveAll(own["b"].Root()))

		done, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "a"})
		require.NoError(t, err)
		assert.NoFileExists(t, filepath.Join(repo.Dir, "shared.txt"))
		read := func() string {
			data, err := os.ReadFile(filepath.Join(own["a"].Root(), "work.txt"))
			require.NoError(t, err)
			return string(data)
		}
		assert.Equal(t, "first of a", read())
		require.Len(t, done.Worktrees, 1)
		assert.Equal(t, "a", done.Worktrees[0].Name)
		assert.Equal(t, []string{"b"}, done.Missing)
		assert.NoDirExists(t, own["b"].Root())
		assert.EqualValues(t, 5, done.Frame, "the files of all working copies share one frame, and so does what was there")
		assert.Equal(t, "in no frame", repo.Git("show", "refs/smithers/run/4:worktrees/a/work.txt"))
		assert.Equal(t, "first of a", repo.Git("show", "refs/smithers/run/5:worktrees/a/work.txt"))

		undo(t, s, "run")
		assert.Equal(t, "in no frame", read())
		assert.FileExists(t, filepath.Join(repo.Dir, "shared.txt"))
	})
}

// Where the command is called is where the shared files are, unless that is a task's own worktree.
func TestATravelIsRefusedInTheWorktreeOfATask(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	p := newPlay(t, s, "run", files.WorkingCopyOf(s), "a")
	own, err := files.OpenWorktree(t.Context(), s, "run", files.WorktreeSpec{Name: "a"}, false)
	require.NoError(t, err)
	draft, mine := shot(t, files.WorkingCopyOf(s), "ready"), shot(t, own, "")
	draft.VCS.Worktrees = []snapshot.Worktree{{Name: "a", VCS: *mine.VCS}}
	draft.Objects = mine.Objects
	require.NoError(t, p.head.Append(t.Context(), draft))
	p.files = nil
	p.step("a started", p.starts("a::0::1"))
	inside, err := timeline.Open(t.Context(), timeline.Options{Dir: own.Root(), Env: repo.Env, Now: clock()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inside.Close()) })
	refs := repo.Git("for-each-ref")
	_, err = travel.Travel(t.Context(), inside, travel.Request{Run: "run", Node: "a"})
	assert.Equal(t, fault.NoWorkingCopy, fault.CodeOf(err), "%v", err)
	assert.Equal(t, refs, repo.Git("for-each-ref"))
	_, err = travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "a"})
	require.NoError(t, err)
}

func TestARevertIsTakenBackWithTheFilesAlone(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		head := startRun(t, s, "run")
		work(t, repo)
		finish(t, s, head, 1)
		repo.Write("mine.txt", "in no frame\n")
		before := filesIn(t, repo.Dir)
		_, err := files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a"})
		require.NoError(t, err)
		require.NotEqual(t, before, filesIn(t, repo.Dir))
		head, err = s.Head(t.Context(), "run")
		require.NoError(t, err)
		require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("b", `1`)}}}))
		state, status := stateAt(t, s, "run").ID(), rowAt(t, s, "run").Status

		done := undo(t, s, "run")
		assert.Equal(t, snapshot.OpRevert, done.Undone.Kind)
		assert.Equal(t, before, filesIn(t, repo.Dir))
		assert.Equal(t, state, stateAt(t, s, "run").ID())
		assert.Equal(t, status, rowAt(t, s, "run").Status)
		assert.Empty(t, done.Dropped)
		assert.Nil(t, entryAt(t, s, "run").Based)
		assert.EqualValues(t, 5, done.Frame)
		assert.Equal(t, "undone: revert to after a::0::1", entryAt(t, s, "run").Subject)
	})
}

func TestARestoreIsTakenBackWithTheFilesAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	startRun(t, s, "run")
	work(t, repo)
	before := filesIn(t, repo.Dir)
	_, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
	require.NoError(t, err)
	repo.Write("later.txt", "in no frame\n")
	later := filesIn(t, repo.Dir)

	done := undo(t, s, "run")
	assert.Equal(t, snapshot.OpRestore, done.Undone.Kind)
	assert.Equal(t, before, filesIn(t, repo.Dir))
	require.NotNil(t, done.Files.Saved)
	_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: done.Files.Saved.String()})
	require.NoError(t, err)
	assert.Equal(t, later, filesIn(t, repo.Dir), "what was there meanwhile was saved first")
}

func TestARestoreOfATasksOwnWorktreeIsTakenBackThereAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startRun(t, s, "run")
	own, err := files.OpenWorktree(t.Context(), s, "run", files.WorktreeSpec{Name: "a"}, false)
	require.NoError(t, err)
	text := filepath.Join(own.Root(), "work.txt")
	require.NoError(t, os.WriteFile(text, []byte("first\n"), 0o666))
	main, mine := shot(t, files.WorkingCopyOf(s), "worked"), shot(t, own, "")
	main.VCS.Worktrees = []snapshot.Worktree{{Name: "a", VCS: *mine.VCS}}
	main.Objects = mine.Objects
	require.NoError(t, head.Append(t.Context(), main))
	require.NoError(t, os.WriteFile(text, []byte("second\n"), 0o666))
	_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:1", Worktree: "a"})
	require.NoError(t, err)
	repo.Write("README.md", "# Mine\n")

	done := undo(t, s, "run")
	assert.Nil(t, done.Files)
	require.Len(t, done.Worktrees, 1)
	data, err := os.ReadFile(text)
	require.NoError(t, err)
	assert.Equal(t, "second\n", string(data))
	assert.Contains(t, filesIn(t, repo.Dir)["README.md"], "# Mine")
}

func TestARestoreThatChangesNothingIsNothingToTakeBack(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	startRun(t, s, "run")
	_, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run"})
	require.NoError(t, err)
	ops, err := timeline.OpsOf(t.Context(), s, "run")
	require.NoError(t, err)
	assert.Empty(t, ops)
	assert.NotNil(t, ops)
}

// Between saving the files and restoring others somebody changes one of them.
func TestATravelWhoseFilesCannotBeRestoredSaysSoAndChangesNothingElse(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	_, _, afterC := worked(t, open(t, repo), repo)
	meddled := 0
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Failpoint: func(name string) error {
			if name != "refs-done" {
				return nil
			}
			if meddled++; meddled == 2 { // after the claim, and after the files were saved
				return os.WriteFile(filepath.Join(repo.Dir, "a.txt"), []byte("of the user\n"), 0o666)
			}
			return nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "a"})
	assert.Equal(t, fault.RestoreRefused, fault.CodeOf(err), "%v", err)
	afterC["a.txt"] = "- of the user\n"
	assert.Equal(t, afterC, filesIn(t, repo.Dir))
	kinds, payloads := eventsOf(t, repo, "run")
	assert.Equal(t, []string{"TimeTravelStarted", "TimeTravelFinished"}, kinds)
	assert.Equal(t, false, payloads[1]["success"])
	assert.Equal(t, "restore_refused", payloads[1]["error"])
	row := rowAt(t, s, "run")
	assert.Equal(t, snapshot.RunFinished, row.Status)
	assert.EqualValues(t, 6, row.Frame)
	assert.Empty(t, row.Owner)
	assert.Equal(t, stateAt(t, s, "run:6").ID(), stateAt(t, s, "run").ID())
	ops, err := timeline.OpsOf(t.Context(), s, "run")
	require.NoError(t, err)
	assert.Empty(t, ops)
}

func TestATravelThatCannotBeRecordedHasKeptTheFilesFirst(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	afterA, _, _ := worked(t, open(t, repo), repo)
	repo.Write("mine.txt", "in no frame\n")
	unsaved := filesIn(t, repo.Dir)
	packs := 0
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Failpoint: func(name string) error {
			if name == "after-pack-temp" {
				packs++
			}
			if packs == 3 {
				return errors.New("the disk is on fire")
			}
			return nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
	require.ErrorContains(t, err, "the files are restored, but the frame could not be recorded: ")
	assert.Equal(t, afterA, filesIn(t, repo.Dir))
	assert.Equal(t, stateAt(t, s, "run:6").ID(), stateAt(t, s, "run").ID())
	packs = 10
	_, err = travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
	require.NoError(t, err)
	assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "run").ID())
	_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:7"})
	require.NoError(t, err)
	assert.Equal(t, unsaved, filesIn(t, repo.Dir))
}
