package timeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestACaptureIsPairedWithTheRun(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		work(t, repo)
		s := open(t, repo)
		assert.Equal(t, repo.Dir, files.WorkingCopyOf(s).Root())
		head := startRun(t, s, "run")
		vcs := vcsAt(t, s, "run:0")
		assert.Equal(t, repo.Git("rev-parse", "refs/smithers/run/0:worktree"), vcs.Tree.String())
		assert.Equal(t, "package main // worked on", repo.Git("show", "refs/smithers/run/0:worktree/src/main.go"))
		row := head.Row()
		assert.Equal(t, map[bool]string{true: "jj", false: "git"}[kind.IsJJ()], row.VCSType)
		assert.Equal(t, vcs.Root, row.VCSRoot)
		assert.Equal(t, vcs.CommitID, row.VCSRevision)
	})
}

func TestTheConfigurationSaysWhichFilesAreCaptured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env           []string
		scope         string
		small, larger bool
	}{
		{nil, snapshot.ScopeAll, true, true},
		{[]string{"GIT_SMITHERS_WORKTREE_MAX_FILE=1k"}, snapshot.ScopeAll, true, false},
		{[]string{"GIT_SMITHERS_WORKTREE=tracked"}, snapshot.ScopeTracked, false, false},
		{[]string{"GIT_SMITHERS_WORKTREE=OFF"}, "", false, false},
	} {
		repo := repotest.New(t, repotest.Commit)
		repo.Write("small", "untracked\n")
		repo.Write("larger", string(make([]byte, 2000)))
		repo.Env = append(repo.Env, c.env...)
		s := open(t, repo)
		startRun(t, s, "run")
		vcs := vcsAt(t, s, "run")
		assert.Equal(t, c.scope, vcs.Scope, c.env)
		assert.Equal(t, repo.Git("rev-parse", "HEAD"), vcs.CommitID, c.env)
		for name, want := range map[string]bool{"small": c.small, "larger": c.larger} {
			_, err := repo.GitErr("cat-file", "-e", "refs/smithers/run/0:worktree/"+name)
			assert.Equal(t, want, err == nil, "%v: %s", c.env, name)
		}
	}
}

// A filter that fails must not cost the frame its revision, nor the run a frame.
func TestFilesThatCannotBeReadLeaveTheRevision(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("config", "filter.broken.clean", "false")
	repo.Git("config", "filter.broken.required", "true")
	repo.Write(".gitattributes", "*.bin filter=broken\n")
	repo.Write("a.bin", "data\n")
	var warnings []error
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(), Warn: func(err error) { warnings = append(warnings, err) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	captured, err := files.WorkingCopyOf(s).Capture(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, captured.Close()) })
	assert.Equal(t, repo.Git("rev-parse", "HEAD"), captured.VCS.CommitID)
	assert.NotEmpty(t, warnings)
	_, err = s.Create(t.Context(), snapshot.Run{ID: "run", Status: snapshot.RunRunning}, snapshot.Draft{VCS: &captured.VCS, Objects: captured.Objects})
	require.NoError(t, err)
	assert.Equal(t, repo.Git("rev-parse", "HEAD"), vcsAt(t, s, "run").CommitID)
}

func TestAnotherWorkingCopyMustBeOfThisRepository(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	linked := filepath.Join(repo.Home, "linked")
	repo.Git("worktree", "add", "--quiet", "--detach", linked)
	s := open(t, repo)
	found, err := files.WorkingCopyAt(t.Context(), s, filepath.Join(linked, "src"))
	require.NoError(t, err)
	assert.Equal(t, linked, found.Root())

	other := repotest.New(t, repotest.Commit)
	_, err = files.WorkingCopyAt(t.Context(), s, other.Dir)
	assert.Equal(t, fault.WorktreeFailed, fault.CodeOf(err))
	none := filepath.Join(repo.Home, "none")
	require.NoError(t, os.Mkdir(none, 0o777))
	for _, dir := range []string{none, filepath.Join(none, "missing"), repo.GitDir} {
		_, err = files.WorkingCopyAt(t.Context(), s, dir)
		assert.Equal(t, fault.NoWorkingCopy, fault.CodeOf(err), dir)
	}
}

// Whatever kind of working copy it is, and wherever a worktree is made: no object that a
// run has names a folder of this machine.
func TestNothingThatIsStoredNamesAFolderOfTheMachine(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		head := startRun(t, s, "run")
		work(t, repo)
		finish(t, s, head, 1)
		own, err := files.OpenWorktree(t.Context(), s, "run", files.WorktreeSpec{Name: "a", Path: filepath.Join(repo.Home, "far")}, false)
		require.NoError(t, err)
		draft, apart := shot(t, files.WorkingCopyOf(s), "in a worktree"), shot(t, own, "")
		draft.VCS.Worktrees = []snapshot.Worktree{{Name: "a", VCS: *apart.VCS}}
		draft.Objects = apart.Objects
		require.NoError(t, head.Append(t.Context(), draft))
		repo.Write("src/main.go", "package main // later\n")
		_, err = files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a"})
		require.NoError(t, err)

		row := head.Row()
		assert.False(t, filepath.IsAbs(row.VCSRoot), row.VCSRoot)
		ids := repo.Git("rev-list", "--objects", "--no-object-names", "refs/smithers/_tip/run")
		stored := repo.GitInput(ids+"\n", "cat-file", "--batch")
		require.Contains(t, stored, "RevertFinished")
		assert.NotContains(t, stored, filepath.Dir(repo.Home))
	})
}
