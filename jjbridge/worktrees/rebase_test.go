package worktrees_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
)

// advance puts a commit that has one more file, or another content of it, on a branch
// that need not be checked out anywhere.
func advance(t *testing.T, kind repotest.Kind, repo *repotest.Repo, branch, name, content string) string {
	t.Helper()
	index := filepath.Join(repo.Home, "index")
	other := in(repo, repo.Dir)
	other.Env = append(other.Env, "GIT_INDEX_FILE="+index)
	defer func() { require.NoError(t, os.Remove(index)) }()
	other.Git("read-tree", branch)
	blob := repo.GitInput(content, "hash-object", "-w", "--stdin")
	other.Git("update-index", "--add", "--cacheinfo", "100644,"+blob+","+name)
	commit := other.Git("commit-tree", "-m", "advance "+branch, "-p", branch, other.Git("write-tree"))
	ref := repo.Git("rev-parse", "--symbolic-full-name", branch)
	repo.Git("update-ref", ref, commit)
	if kind.IsJJ() {
		repo.JJ("git", "import", "--quiet")
	}
	return commit
}

// onBase makes a working copy on a branch that starts at a branch named base.
func onBase(t *testing.T, kind repotest.Kind, repo *repotest.Repo) (work *jjbridge.Workspace, there *repotest.Repo) {
	t.Helper()
	repo.Git("branch", "base", "main")
	if kind.IsJJ() {
		repo.JJ("git", "import", "--quiet")
	}
	work = add(t, workspace(t, repo), worktrees.AddRequest{Path: beside(repo, "new"), Name: "task", Branch: "work", Base: "base"})
	return work, in(repo, work.Root)
}

func content(t *testing.T, repo *repotest.Repo, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repo.Dir, name))
	require.NoError(t, err)
	return string(data)
}

// subjects are those of a working copy's own commits and of their base, the newest first.
func subjects(kind repotest.Kind, there *repotest.Repo) string {
	if kind.IsJJ() {
		return there.JJ("log", "--no-graph", "--revisions=::@-", `--template=description.first_line() ++ if(!root, "\n")`)
	}
	return there.Git("log", "--format=%s")
}

func TestARebasePutsTheWorkOnTheBaseAsItIsNow(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		work, there := onBase(t, kind, repo)
		there.Write("work", "work\n")
		commit(kind, there, "work")
		there.Write("uncommitted", "not yet\n")
		there.Write("README.md", "changed\n")
		advance(t, kind, repo, "base", "advanced", "more\n")
		before := theirs(t, kind, repo)

		require.NoError(t, worktrees.Rebase(t.Context(), work, "base"))

		assert.Equal(t, "work\nadvance base\nfirst", subjects(kind, there))
		assert.Equal(t, "more\n", content(t, there, "advanced"))
		assert.Equal(t, "not yet\n", content(t, there, "uncommitted"))
		assert.Equal(t, "changed\n", content(t, there, "README.md"))
		after := theirs(t, kind, repo)
		delete(before, "refs")
		delete(after, "refs")
		assert.Equal(t, before, after)
		if !kind.IsJJ() {
			assert.Equal(t, "work", there.Git("symbolic-ref", "--short", "HEAD"))
			assert.Equal(t, " M README.md\n?? uncommitted", there.Git("status", "--porcelain"))
		}
		list, err := worktrees.List(t.Context(), work)
		require.NoError(t, err)
		for _, info := range list {
			assert.NotContains(t, info.Path, "smithers/rebase")
		}

		head := subjects(kind, there)
		require.NoError(t, worktrees.Rebase(t.Context(), work, "base"), "a second one has nothing to do")
		assert.Equal(t, head, subjects(kind, there))
	})
}

func TestAWorkspaceWithoutCommitsMovesToTheBase(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		work, there := onBase(t, kind, repo)
		there.Write("uncommitted", "not yet\n")
		commit := advance(t, kind, repo, "base", "advanced", "more\n")

		require.NoError(t, worktrees.Rebase(t.Context(), work, "base"))

		assert.Equal(t, commit, start(t, kind, repo, work))
		assert.Equal(t, "more\n", content(t, there, "advanced"))
		assert.Equal(t, "not yet\n", content(t, there, "uncommitted"))
	})
}

func TestARebaseThatMakesConflictsLeavesEverythingAsItWas(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		work, there := onBase(t, kind, repo)
		there.Write("README.md", "work\n")
		commit(kind, there, "work")
		there.Write("uncommitted", "not yet\n")
		advance(t, kind, repo, "base", "README.md", "theirs\n")
		pointer, err := work.Pointer(t.Context())
		require.NoError(t, err)
		before := files(t, work.Root)

		err = worktrees.Rebase(t.Context(), work, "base")

		require.ErrorIs(t, err, worktrees.ErrWorktree)
		assert.ErrorContains(t, err, "conflicts")
		after, err := work.Pointer(t.Context())
		require.NoError(t, err)
		assert.Equal(t, pointer.CommitID, after.CommitID)
		assert.Equal(t, pointer.Branch, after.Branch)
		assert.Equal(t, before, files(t, work.Root))
		if !kind.IsJJ() {
			assert.Equal(t, "?? uncommitted", there.Git("status", "--porcelain"))
		}
		assert.NoDirExists(t, filepath.Join(work.Repo.CommonDir, "smithers", "rebase"))
	})
}

func TestWhatIsNotCommittedStandsInTheWayOfARebase(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(there *repotest.Repo){
		"a changed file":    func(there *repotest.Repo) { there.Write("README.md", "not yet\n") },
		"a staged file":     func(there *repotest.Repo) { there.Write("README.md", "not yet\n"); there.Git("add", ".") },
		"an untracked file": func(there *repotest.Repo) { there.Write("advanced", "not yet\n") },
		"an ignored file": func(there *repotest.Repo) {
			there.Write("advanced", "not yet\n")
			there.Write(".git-exclude", "")
			there.Git("config", "core.excludesFile", filepath.Join(there.Home, "exclude"))
			_ = os.WriteFile(filepath.Join(there.Home, "exclude"), []byte("/advanced\n/.git-exclude\n"), 0o666)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			work, there := onBase(t, repotest.Git, repo)
			there.Write("work", "work\n")
			commit(repotest.Git, there, "work")
			advance(t, repotest.Git, repo, "base", "README.md", "theirs\n")
			advance(t, repotest.Git, repo, "base", "advanced", "theirs\n")
			change(there)
			head := there.Git("rev-parse", "HEAD", "work")
			status := there.Git("status", "--porcelain")
			before := files(t, work.Root)

			err := worktrees.Rebase(t.Context(), work, "base")

			require.ErrorIs(t, err, worktrees.ErrWorktree)
			assert.ErrorContains(t, err, "git would overwrite uncommitted work")
			assert.Equal(t, head, there.Git("rev-parse", "HEAD", "work"))
			assert.Equal(t, status, there.Git("status", "--porcelain"))
			assert.Equal(t, before, files(t, work.Root))
		})
	}
}

func TestAnOperationThatGitIsInIsNotDisturbed(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	work, there := onBase(t, repotest.Git, repo)
	there.Write("README.md", "work\n")
	commit(repotest.Git, there, "work")
	conflict := advance(t, repotest.Git, repo, "base", "README.md", "theirs\n")
	_, err := there.GitErr("cherry-pick", conflict)
	require.Error(t, err)
	before := files(t, work.Root)

	err = worktrees.Rebase(t.Context(), work, "base")

	require.ErrorIs(t, err, worktrees.ErrWorktree)
	assert.ErrorContains(t, err, "a cherry-pick is in progress")
	assert.Equal(t, before, files(t, work.Root))
	assert.Equal(t, conflict, there.Git("rev-parse", "CHERRY_PICK_HEAD"))
}

// withOrigin gives the repository a remote that is one commit ahead with its main.
func withOrigin(t *testing.T, kind repotest.Kind, repo *repotest.Repo) *repotest.Repo {
	t.Helper()
	if kind.IsJJ() {
		repo.UseNewerGit()
	}
	origin := repotest.New(t, repotest.Commit)
	advance(t, repotest.Git, origin, "main", "fetched", "from there\n")
	repo.Git("remote", "add", "origin", origin.Dir)
	return origin
}

func TestARebaseFetchesTheBase(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		withOrigin(t, kind, repo)
		work := add(t, workspace(t, repo), worktrees.AddRequest{Path: beside(repo, "new"), Name: "task"})
		there := in(repo, work.Root)
		there.Write("work", "work\n")
		commit(kind, there, "work")

		require.NoError(t, worktrees.Rebase(t.Context(), work, ""))

		assert.Equal(t, "work\nadvance main\nfirst", subjects(kind, there))
		assert.Equal(t, "from there\n", content(t, there, "fetched"))
	})
}

func TestAFetchWritesNothingButOriginsBranches(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	origin := withOrigin(t, repotest.Git, repo)
	origin.Git("update-ref", "refs/smithers/_tip/run", "main^")
	origin.Git("tag", "theirs")
	ours := repo.Git("commit-tree", "-m", "ours", "main^{tree}")
	repo.Git("update-ref", "refs/smithers/_tip/run", ours)
	repo.Git("config", "remote.origin.fetch", "+refs/*:refs/*")
	repo.Git("config", "remote.origin.prune", "true")
	main := repo.Git("rev-parse", "main")
	work := add(t, workspace(t, repo), worktrees.AddRequest{Path: beside(repo, "new")})

	require.NoError(t, worktrees.Rebase(t.Context(), work, "main"))

	assert.Equal(t, main+" refs/heads/main\n"+origin.Git("rev-parse", "main")+" refs/remotes/origin/main\n"+ours+" refs/smithers/_tip/run",
		repo.Git("for-each-ref", "--format=%(objectname) %(refname)"))
}

func TestAFetchThatFailsDoesNotStopARebase(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		repo.Git("remote", "add", "origin", beside(repo, "nowhere"))
		work, there := onBase(t, kind, repo)
		advance(t, kind, repo, "base", "advanced", "more\n")

		err := worktrees.Rebase(t.Context(), work, "base")

		failed, ok := errors.AsType[*worktrees.FetchError](err)
		assert.True(t, ok, "%v", err)
		assert.NotErrorIs(t, err, worktrees.ErrWorktree)
		assert.ErrorContains(t, failed, "the fetch failed, so the rebase used the base that the repository already had")
		assert.Equal(t, "more\n", content(t, there, "advanced"))
	})
}

func TestARebaseThatWasCutShortIsClearedAway(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	work, there := onBase(t, repotest.Git, repo)
	there.Write("work", "work\n")
	commit(repotest.Git, there, "work")
	advance(t, repotest.Git, repo, "base", "advanced", "more\n")
	repo.Git("worktree", "add", "--quiet", "--detach", filepath.Join(repo.GitDir, "smithers", "rebase"))

	require.NoError(t, worktrees.Rebase(t.Context(), work, "base"))

	assert.Equal(t, "more\n", content(t, there, "advanced"))
	assert.NoDirExists(t, filepath.Join(repo.GitDir, "smithers", "rebase"))
	assert.NoDirExists(t, filepath.Join(repo.GitDir, "worktrees", "rebase"))
}

func TestARebaseAsksNobody(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	for _, setting := range [][2]string{
		{"commit.gpgSign", "true"},
		{"gpg.program", "false"},
		{"core.editor", "false"},
		{"sequence.editor", "false"},
		{"rebase.autoSquash", "true"},
		{"rebase.updateRefs", "true"},
		{"rebase.autoStash", "true"},
		{"rebase.missingCommitsCheck", "error"},
	} {
		repo.Git("config", setting[0], setting[1])
	}
	work, there := onBase(t, repotest.Git, repo)
	there.Write("work", "work\n")
	there.Git("add", ".")
	there.Git("commit", "--quiet", "--no-gpg-sign", "--message=fixup! first")
	repo.Git("branch", "between", "work")
	there.Git("commit", "--quiet", "--no-gpg-sign", "--allow-empty", "--message=last")
	between := repo.Git("rev-parse", "between")
	advance(t, repotest.Git, repo, "base", "advanced", "more\n")

	require.NoError(t, worktrees.Rebase(t.Context(), work, "base"))

	assert.Equal(t, "last\nfixup! first\nadvance base\nfirst", subjects(repotest.Git, there))
	assert.Equal(t, between, repo.Git("rev-parse", "between"))
}

func TestOthersCommitsAreNotRebasedInJJ(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJ)
	repo.Git("branch", "base", "main")
	repo.Write("theirs", "theirs\n")
	repo.JJ("commit", "--quiet", "--message=theirs")
	work := add(t, workspace(t, repo), worktrees.AddRequest{Path: beside(repo, "new"), Base: "@-"})
	advance(t, repotest.JJ, repo, "base", "advanced", "more\n")
	before := theirs(t, repotest.JJ, repo)

	err := worktrees.Rebase(t.Context(), work, "base")

	require.ErrorIs(t, err, worktrees.ErrWorktree)
	assert.ErrorContains(t, err, "another working copy")
	assert.Equal(t, before, theirs(t, repotest.JJ, repo))
	assert.Equal(t, "theirs\n", content(t, in(repo, work.Root), "theirs"))
}

func TestAStaleWorkspaceIsBroughtUpToDateAndRebased(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	work, there := onBase(t, repotest.JJColocated, repo)
	there.Write("work", "work\n")
	there.JJ("status")
	repo.JJ("describe", "--quiet", "--message=told from elsewhere", "task@")
	commit := advance(t, repotest.JJColocated, repo, "base", "first", "1\n")
	repo.JJ("rebase", "--quiet", "-s", "task@", "-d", "base")
	last := advance(t, repotest.JJColocated, repo, "base", "second", "2\n")

	require.NoError(t, worktrees.Rebase(t.Context(), work, "base"))

	assert.NotEqual(t, commit, last)
	assert.Equal(t, last, start(t, repotest.JJColocated, repo, work))
	assert.Equal(t, "1\n2\nwork\n", content(t, there, "first")+content(t, there, "second")+content(t, there, "work"))
}
