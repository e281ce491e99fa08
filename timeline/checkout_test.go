package timeline_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestCheckoutMakesAWorkingCopyWithTheFilesOfAFrame(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		head := startRun(t, s, "Run")
		work(t, repo)
		before := filesIn(t, repo.Dir)
		shoot(t, s, head, "worked")
		repo.Write("src/main.go", "package main // later\n")
		shoot(t, s, head, "worked on")
		untouched := filesIn(t, repo.Dir)

		made, err := files.Checkout(t.Context(), s, files.CheckoutRequest{From: "Run:1"})
		require.NoError(t, err)
		assert.Equal(t, repo.Dir+"-%52un-1", made.WorkingCopy.Root())
		assert.Equal(t, timeline.Address{Run: "Run", Frame: 1}, made.From)
		assert.Equal(t, before, filesIn(t, made.WorkingCopy.Root()))
		assert.Equal(t, untouched, filesIn(t, repo.Dir))
		captured, err := made.WorkingCopy.Capture(t.Context())
		require.NoError(t, err)
		assert.Equal(t, vcsAt(t, s, "Run:1").Tree, captured.VCS.Tree)
		require.NoError(t, captured.Close())
		if !kind.IsJJ() {
			there, err := repo.GitIn(made.WorkingCopy.Root(), "rev-parse", "HEAD")
			require.NoError(t, err)
			assert.Equal(t, made.VCS.CommitID, there)
		}

		list, err := files.Worktrees(t.Context(), s)
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, "Run", list[0].RunID)
		assert.Equal(t, made.WorkingCopy.Root(), list[0].Path)
		assert.Empty(t, list[0].Unsaved, "a frame has its files")
		_, err = files.Checkout(t.Context(), s, files.CheckoutRequest{From: "Run:1"})
		assert.Equal(t, fault.WorktreeFailed, fault.CodeOf(err), "the folder is taken: %v", err)
		assert.Equal(t, before, filesIn(t, made.WorkingCopy.Root()))
	})
}

func TestACheckoutGoesWhereItIsTold(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	startRun(t, s, "run")
	named, err := files.Checkout(t.Context(), s, files.CheckoutRequest{From: "run", Name: "../try 2"})
	require.NoError(t, err)
	assert.Equal(t, repo.Dir+"-%2e%2e%2ftry%202", named.WorkingCopy.Root())
	placed, err := files.Checkout(t.Context(), s, files.CheckoutRequest{From: "run", Dir: filepath.Join(repo.Home, "placed")})
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(repo.Home, "placed"), placed.WorkingCopy.Root())
}

func TestACheckoutThatFailsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, kind := range []repotest.Kind{repotest.Git, repotest.JJColocated} {
		t.Run(strings.ReplaceAll(string(kind), " ", "-"), func(t *testing.T) {
			t.Parallel()
			repo := repotest.NewKind(t, kind)
			s := open(t, repo)
			head := startRun(t, s, "run")
			repo.Write("src/main.go", "package main // worked on\n")
			shoot(t, s, head, "worked")
			listing := func() string {
				if kind.IsJJ() {
					return repo.JJ("workspace", "list")
				}
				return repo.Git("worktree", "list")
			}
			before := listing()
			beside, err := os.ReadDir(filepath.Dir(repo.Dir))
			require.NoError(t, err)
			// A folder where the registry would note the new working copy.
			made := filepath.Join(repo.GitDir, "smithers", "worktrees", "made")
			require.NoError(t, os.MkdirAll(filepath.Dir(made), 0o777))
			require.NoError(t, os.WriteFile(made, []byte("in the way"), 0o666))

			_, err = files.Checkout(t.Context(), s, files.CheckoutRequest{From: "run:1"})
			require.Error(t, err)
			assert.Equal(t, before, listing())
			now, err := os.ReadDir(filepath.Dir(repo.Dir))
			require.NoError(t, err)
			assert.Len(t, now, len(beside))
			require.NoError(t, os.Remove(made))
		})
	}
}

func TestACheckoutOfAFrameWithoutCodeIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	triage(t, s, "run")
	_, err := files.Checkout(t.Context(), s, files.CheckoutRequest{From: "run:1"})
	assert.Equal(t, fault.NoCode, fault.CodeOf(err))
}

// The clone has the run's history and none of the user's commits that it was made on.
func TestAFreshCloneRestoresAnyFrame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to repotest.Kind }{
		{repotest.Git, repotest.Git},
		{repotest.Git, repotest.JJColocated},
		{repotest.JJColocated, repotest.Git},
		{repotest.JJSecondary, repotest.JJ},
	} {
		t.Run(strings.ReplaceAll(string(c.from)+" to "+string(c.to), " ", "-"), func(t *testing.T) {
			t.Parallel()
			remote := repotest.New(t, repotest.Bare)
			want := pushRun(t, repotest.NewKind(t, c.from), c.from, remote)
			clone := repotest.NewKind(t, c.to)
			clone.Git("remote", "add", "origin", remote.Dir)
			clone.Git("fetch", "--quiet", "origin", "refs/smithers/*:refs/smithers/*")
			there := open(t, clone)
			_, err := clone.GitErr("cat-file", "-e", vcsAt(t, there, "run:2").CommitID)
			require.Error(t, err, "nobody pushed the commit")
			for frame, found := range want {
				address := timeline.Address{Run: "run", Frame: int64(frame)}.String()
				made, err := files.Checkout(t.Context(), there, files.CheckoutRequest{From: address})
				require.NoError(t, err, address)
				assert.Equal(t, found, filesIn(t, made.WorkingCopy.Root()), address)
				_, err = files.Restore(t.Context(), there, files.RestoreRequest{From: address})
				require.NoError(t, err, address)
				assert.Equal(t, found, filesIn(t, clone.Dir), address)
			}
		})
	}
}

// pushRun makes a run, pushes it and nothing else, and returns the files of its frames.
func pushRun(t *testing.T, repo *repotest.Repo, kind repotest.Kind, remote *repotest.Repo) []map[string]string {
	t.Helper()
	s := open(t, repo)
	want := []map[string]string{filesIn(t, repo.Dir)}
	head := startRun(t, s, "run")
	work(t, repo)
	want = append(want, filesIn(t, repo.Dir))
	shoot(t, s, head, "worked")
	if kind.IsJJ() {
		repo.JJ("commit", "--quiet", "--message=never pushed")
	} else {
		repo.Git("add", "--all")
		repo.Git("commit", "--quiet", "--message=never pushed")
	}
	repo.Write("README.md", "# After that commit\n")
	want = append(want, filesIn(t, repo.Dir))
	shoot(t, s, head, "worked on")
	repo.Git("push", "--quiet", remote.Dir, "refs/smithers/*:refs/smithers/*")
	return want
}

func TestACheckoutOfABareRepositoryIsToldWhereToGo(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	work(t, repo)
	before := filesIn(t, repo.Dir)
	startRun(t, s, "run")
	bare := repotest.New(t, repotest.Bare, repotest.Commit)
	bare.Git("fetch", "--quiet", repo.Dir, "refs/smithers/*:refs/smithers/*")
	there := open(t, bare)
	_, err := files.Checkout(t.Context(), there, files.CheckoutRequest{From: "run"})
	assert.Equal(t, fault.NoWorkingCopy, fault.CodeOf(err))
	made, err := files.Checkout(t.Context(), there, files.CheckoutRequest{From: "run", Dir: filepath.Join(bare.Home, "out")})
	require.NoError(t, err)
	assert.Equal(t, before, filesIn(t, made.WorkingCopy.Root()))
}

// A stranger's commit may have a folder .jj among its files: jj would take its configuration from there.
func TestACommitWithFilesOfJJsIsNotCheckedOut(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	clean := repo.Git("rev-parse", "HEAD^{tree}")
	repo.Git("read-tree", "HEAD")
	repo.Git("update-index", "--add", "--cacheinfo", "100644,"+repo.Git("rev-parse", "HEAD:README.md")+",.JJ/repo/store/type")
	hostile := repo.Git("commit-tree", "-m", "of a stranger", repo.Git("write-tree"))
	repo.Git("read-tree", "HEAD")
	tree, err := objstore.ParseID(clean)
	require.NoError(t, err)
	_, err = s.Create(t.Context(), snapshot.Run{ID: "run", Status: snapshot.RunFinished}, snapshot.Draft{VCS: &snapshot.VCS{
		Type: snapshot.VCSGit, Root: ".", CommitID: hostile, Tree: tree, Scope: snapshot.ScopeAll,
	}})
	require.NoError(t, err)

	made, err := files.Checkout(t.Context(), s, files.CheckoutRequest{From: "run:0"})
	require.NoError(t, err)
	assert.Equal(t, repo.Git("rev-parse", "HEAD"), repo.Git("-C", made.WorkingCopy.Root(), "rev-parse", "HEAD"))
	assert.NoDirExists(t, filepath.Join(made.WorkingCopy.Root(), ".JJ"))
	assert.Equal(t, filesIn(t, repo.Dir), filesIn(t, made.WorkingCopy.Root()))
}

func TestAWorktreeIsNotPrunedWhileItsRunIsBeingMade(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head, err := s.Create(t.Context(), snapshot.Run{ID: "run", Status: snapshot.RunFinished}, shot(t, files.WorkingCopyOf(s), "made"))
	require.NoError(t, err)
	made, err := files.Checkout(t.Context(), s, files.CheckoutRequest{From: "run:0", Run: "fork", Own: true})
	require.NoError(t, err)
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	_, err = files.PruneWorktrees(short, s, nil, files.PruneOptions{})
	require.ErrorIs(t, err, context.DeadlineExceeded, "it waits")
	assert.DirExists(t, made.WorkingCopy.Root())

	fork, err := s.Fork(t.Context(), timeline.ForkRequest{From: "run:0", RunID: "fork"})
	require.NoError(t, err)
	takeClaim, err := claim.Take(t.Context(), fork, claim.Request{})
	require.NoError(t, err)
	require.NoError(t, made.Settle())
	pruned, err := files.PruneWorktrees(t.Context(), s, nil, files.PruneOptions{})
	require.NoError(t, err)
	assert.Empty(t, pruned, "a live process owns the fork")
	_, err = files.PruneWorktrees(t.Context(), s, []string{"fork"}, files.PruneOptions{})
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err), "%v", err)
	assert.DirExists(t, made.WorkingCopy.Root())

	require.NoError(t, takeClaim.Release(t.Context()))
	pruned, err = files.PruneWorktrees(t.Context(), s, []string{"fork"}, files.PruneOptions{})
	require.NoError(t, err)
	require.Len(t, pruned, 1)
	assert.True(t, pruned[0].Removed, pruned[0].Unsaved)
	assert.Equal(t, "run", head.Row().ID)
}

func TestTheWorktreeOfANewRunIsThereBeforeTheRun(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		first := func() *files.CheckoutResult {
			opened, err := files.OpenFirstWorktree(t.Context(), s, "run", files.WorktreeSpec{})
			require.NoError(t, err)
			return opened
		}
		vain := first()
		require.NoError(t, vain.Discard(t.Context()))
		assert.NoDirExists(t, vain.WorkingCopy.Root())

		// Its process dies before the run is made.
		left := first()
		require.NoError(t, left.Settle())
		looked, err := files.PruneWorktrees(t.Context(), s, nil, files.PruneOptions{DryRun: true})
		require.NoError(t, err)
		require.Len(t, looked, 1)
		assert.Empty(t, looked[0].Unsaved)

		again := first()
		assert.Equal(t, left.WorkingCopy.Root(), again.WorkingCopy.Root())
		require.NoError(t, again.Discard(t.Context()))
		assert.DirExists(t, left.WorkingCopy.Root(), "it was there before")
		pruned, err := files.PruneWorktrees(t.Context(), s, nil, files.PruneOptions{})
		require.NoError(t, err)
		require.Len(t, pruned, 1)
		assert.True(t, pruned[0].Removed, pruned[0].Unsaved)
		assert.NoDirExists(t, left.WorkingCopy.Root())

		startRun(t, s, "run")
		_, err = files.OpenFirstWorktree(t.Context(), s, "run", files.WorktreeSpec{})
		assert.Equal(t, fault.RunExists, fault.CodeOf(err), "%v", err)
	})
}

func TestADryRunOfPruningWritesNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	_, err := files.PruneWorktrees(t.Context(), s, nil, files.PruneOptions{DryRun: true})
	require.NoError(t, err)
	assert.NoDirExists(t, filepath.Join(repo.GitDir, "smithers", "worktrees"))
}
