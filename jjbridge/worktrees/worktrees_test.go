package worktrees_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
	"github.com/git-smithers/git-smithers/objstore"
)

// beside is a path beside the scratch repository.
func beside(repo *repotest.Repo, name string) string {
	return filepath.Join(filepath.Dir(repo.Home), filepath.FromSlash(name))
}

// in is the repository with another working copy of it.
func in(repo *repotest.Repo, dir string) *repotest.Repo {
	other := *repo
	other.Dir = dir
	return &other
}

func add(t *testing.T, w *jjbridge.Workspace, req worktrees.AddRequest) *jjbridge.Workspace {
	t.Helper()
	added, err := worktrees.Add(t.Context(), w, req)
	require.NoError(t, err)
	return added
}

// listed is the working copy at path in the list.
func listed(t *testing.T, w *jjbridge.Workspace, path string) (worktrees.Info, bool) {
	t.Helper()
	list, err := worktrees.List(t.Context(), w)
	require.NoError(t, err)
	for _, info := range list {
		if info.Path == path {
			return info, true
		}
	}
	return worktrees.Info{}, false
}

// theirs is what must not change: the user's index, HEAD, refs and files.
func theirs(t *testing.T, kind repotest.Kind, repo *repotest.Repo) map[string]string {
	t.Helper()
	state := files(t, repo.Dir)
	state["refs"] = repo.Git("for-each-ref", "refs/heads", "refs/tags", "refs/stash")
	if kind.IsJJ() {
		state["@"] = repo.JJ("log", "--no-graph", "--revisions=@", "--template=commit_id")
	}
	if kind == repotest.Git || kind == repotest.GitWorktree || kind == repotest.JJColocated {
		state["HEAD"] = repo.Git("symbolic-ref", "--quiet", "--short", "HEAD", "--") + repo.Git("rev-parse", "HEAD")
		state["status"] = repo.Git("status", "--porcelain")
	}
	return state
}

func TestTheMainWorkingCopyIsListedFirst(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w := workspace(t, repo)
		added := add(t, w, worktrees.AddRequest{Path: beside(repo, "a a"), Name: "a a", Branch: "work"})

		list, err := worktrees.List(t.Context(), w)

		require.NoError(t, err)
		first := list[0]
		assert.Contains(t, []string{"", "default"}, first.Name)
		assert.DirExists(t, first.Path)
		here, ok := listed(t, w, repo.Dir)
		assert.True(t, ok)
		assert.Equal(t, w.Name, here.Name)
		there, ok := listed(t, added, added.Root)
		assert.True(t, ok)
		assert.Equal(t, added.Name, there.Name)
		assert.Equal(t, "work", there.Branch)
		pointer, err := added.Pointer(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{pointer.CommitID, pointer.ChangeID}, []string{there.CommitID, there.ChangeID})
		assert.False(t, there.Missing)

		require.NoError(t, os.RemoveAll(added.Root))
		gone, ok := listed(t, w, added.Root)
		assert.True(t, ok)
		assert.True(t, gone.Missing)
	})
}

func TestABareRepositoryIsNoWorkingCopy(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Bare, repotest.Commit)
	w := workspace(t, repo)

	added := add(t, w, worktrees.AddRequest{Path: beside(repo, "new")})

	list, err := worktrees.List(t.Context(), w)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, added.Root, list[0].Path)
}

func TestAddingAWorkspaceLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w := workspace(t, repo)
		repo.Write("README.md", "changed\n")
		repo.Write("untracked", "new\n")
		before := theirs(t, kind, repo)

		added := add(t, w, worktrees.AddRequest{Path: beside(repo, "work/trees/new"), Name: "task"})

		assert.Equal(t, before, theirs(t, kind, repo))
		again, err := jjbridge.Locate(t.Context(), beside(repo, "work/trees/new/src"), repo.Env)
		require.NoError(t, err)
		for _, got := range []*jjbridge.Workspace{added, again} {
			assert.Equal(t, beside(repo, "work/trees/new"), got.Root)
			assert.Equal(t, added.Name, got.Name)
			assert.Equal(t, added.Repo.GitDir, got.Repo.GitDir)
			assert.Equal(t, w.Repo.CommonDir, got.Repo.CommonDir)
			assert.Equal(t, w.Type, got.Type)
		}
		data, err := os.ReadFile(filepath.Join(added.Root, "README.md"))
		require.NoError(t, err)
		assert.Equal(t, "# A scratch repository\n", string(data))
		assert.NoFileExists(t, filepath.Join(added.Root, "untracked"))
	})
}

func TestTheBranchIsMadeOrResetToTheBase(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		w := workspace(t, repo)
		main := repo.Git("rev-parse", "main")
		repo.Git("update-ref", "refs/heads/base", repo.Git("commit-tree", "-m", "base", "-p", "main", "main^{tree}"))
		repo.Git("branch", "work", "main")
		if kind.IsJJ() {
			repo.JJ("git", "import")
		}

		added := add(t, w, worktrees.AddRequest{Path: beside(repo, "new"), Branch: "work", Base: "base"})

		if kind.IsJJ() {
			assert.Equal(t, "work", in(repo, added.Root).JJ("log", "--no-graph", "--revisions=@ & work", "--template=bookmarks.map(|b| b.name())"))
			assert.Equal(t, repo.Git("rev-parse", "base"), start(t, kind, repo, added))
			return
		}
		assert.Equal(t, repo.Git("rev-parse", "base"), repo.Git("rev-parse", "work"))
		assert.NotEqual(t, main, repo.Git("rev-parse", "work"))
		branch, err := repo.GitIn(added.Root, "symbolic-ref", "--short", "HEAD")
		require.NoError(t, err)
		assert.Equal(t, "work", branch)
		_, err = repo.GitErr("config", "branch.work.merge")
		assert.Error(t, err, "a push of the branch must not go to its base")
	})
}

func TestTheFirstBaseThatExistsCounts(t *testing.T) {
	t.Parallel()
	for _, kind := range []repotest.Kind{repotest.Git, repotest.JJColocated} {
		for name, tt := range map[string]struct {
			refs []string // each at a commit of its own
			base string
			want string
		}{
			"base":            {[]string{"refs/heads/dev", "refs/remotes/origin/dev"}, "dev", "refs/heads/dev"},
			"origin's base":   {[]string{"refs/remotes/origin/dev"}, "dev", "refs/remotes/origin/dev"},
			"named as in git": {[]string{"refs/remotes/up/dev"}, "up/dev", "refs/remotes/up/dev"},
			"a slash in it":   {[]string{"refs/heads/feature/x"}, "feature/x", "refs/heads/feature/x"},
			"a tag":           {[]string{"refs/tags/v1.0"}, "v1.0", "refs/tags/v1.0"},
			"main":            {nil, "dev", "refs/heads/main"},
			"main by default": {[]string{"refs/heads/dev"}, "", "refs/heads/main"},
			"HEAD":            {nil, "HEAD", "refs/heads/main"},
			"no option":       {nil, "--all", "refs/heads/main"},
		} {
			if kind.IsJJ() && name == "no option" {
				continue // jj reads a revset
			}
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				t.Parallel()
				repo := repotest.NewKind(t, kind)
				for _, ref := range tt.refs {
					repo.Git("update-ref", ref, repo.Git("commit-tree", "-m", ref, "-p", "main", "main^{tree}"))
				}
				added := add(t, workspace(t, repo), worktrees.AddRequest{Path: beside(repo, "new"), Base: tt.base})
				assert.Equal(t, repo.Git("rev-parse", tt.want), start(t, kind, repo, added))
			})
		}
	}
}

// start is the commit that a new working copy started from.
func start(t *testing.T, kind repotest.Kind, repo *repotest.Repo, added *jjbridge.Workspace) string {
	t.Helper()
	if kind.IsJJ() {
		return in(repo, added.Root).JJ("log", "--no-graph", "--revisions=@-", "--template=commit_id")
	}
	commit, err := repo.GitIn(added.Root, "rev-parse", "HEAD")
	require.NoError(t, err)
	return commit
}

func TestOriginsMainComesBeforeHEAD(t *testing.T) {
	t.Parallel()
	for _, kind := range []repotest.Kind{repotest.Git, repotest.JJColocated} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			repo := repotest.NewKind(t, kind)
			theirs := repo.Git("commit-tree", "-m", "theirs", "-p", "main", "main^{tree}")
			repo.Git("update-ref", "refs/remotes/origin/main", theirs)
			repo.Git("update-ref", "refs/heads/trunk", "main")
			repo.Git("symbolic-ref", "HEAD", "refs/heads/trunk")
			repo.Git("update-ref", "-d", "refs/heads/main")

			added := add(t, workspace(t, repo), worktrees.AddRequest{Path: beside(repo, "new"), Base: "dev"})

			assert.Equal(t, theirs, start(t, kind, repo, added))
		})
	}
}

func TestHEADIsTheLastBase(t *testing.T) {
	t.Parallel()
	for _, kind := range []repotest.Kind{repotest.Git, repotest.JJColocated} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			repo := repotest.NewKind(t, kind)
			head := repo.Git("rev-parse", "main")
			repo.Git("update-ref", "refs/heads/trunk", "main")
			repo.Git("symbolic-ref", "HEAD", "refs/heads/trunk")
			repo.Git("update-ref", "-d", "refs/heads/main")

			added := add(t, workspace(t, repo), worktrees.AddRequest{Path: beside(repo, "new")})

			assert.Equal(t, head, start(t, kind, repo, added))
		})
	}
}

func TestJJTakesARevsetAsBase(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJ)
	repo.JJ("new", "--message=second")

	added := add(t, workspace(t, repo), worktrees.AddRequest{Path: beside(repo, "new"), Base: "main+"})

	assert.Equal(t, repo.JJ("log", "--no-graph", "--revisions=main+", "--template=commit_id"), start(t, repotest.JJ, repo, added))
}

func TestACommitComesBeforeTheBase(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		commit := repo.Git("commit-tree", "-m", "on a branch", "-p", "main", "main^{tree}")
		repo.Git("update-ref", "refs/heads/other", commit)
		if kind.IsJJ() {
			repo.JJ("git", "import")
		}
		w := workspace(t, repo)
		id, err := objstore.ParseID(commit)
		require.NoError(t, err)

		added := add(t, w, worktrees.AddRequest{Path: beside(repo, "new"), Commit: id})

		assert.Equal(t, commit, start(t, kind, repo, added))
		gone, err := objstore.ParseID(strings.Repeat("12", 20))
		require.NoError(t, err)
		added = add(t, w, worktrees.AddRequest{Path: beside(repo, "other"), Commit: gone, Base: "main"})
		assert.Equal(t, repo.Git("rev-parse", "main"), start(t, kind, repo, added))
	})
}

func TestAWorkspaceIsAddedByOneCall(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		commit := repo.Git("commit-tree", "-m", "on a branch", "-p", "main", "main^{tree}")
		repo.Git("update-ref", "refs/heads/other", commit)
		if kind.IsJJ() {
			repo.JJ("git", "import")
		}
		for revision, want := range map[string]string{"other": commit, commit: commit, "": repo.Git("rev-parse", "main")} {
			path := beside(repo, "at-"+revision)
			added, err := worktrees.WorkspaceAdd(t.Context(), repo.Dir, repo.Env, "named-"+revision, path, revision)
			require.NoError(t, err)
			assert.Equal(t, want, start(t, kind, repo, added), revision)
			assert.Equal(t, filepath.Base(path), filepath.Base(added.Root))
			if kind.IsJJ() {
				assert.Equal(t, "named-"+revision, added.Name)
			}
		}
		for _, revision := range []string{"nowhere", "-x", "main other"} {
			_, err := worktrees.WorkspaceAdd(t.Context(), repo.Dir, repo.Env, "n", beside(repo, "nowhere"), revision)
			require.ErrorIs(t, err, worktrees.ErrWorktree, revision)
			assert.NoDirExists(t, beside(repo, "nowhere"))
		}
		_, err := worktrees.WorkspaceAdd(t.Context(), t.TempDir(), repo.Env, "n", beside(repo, "new"), "")
		require.Error(t, err)
	})
}

func TestJJStartsFromTheNearestCommitThatItShows(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	w := workspace(t, repo)
	main := repo.Git("rev-parse", "main")
	current := repo.JJ("log", "--no-graph", "--revisions=@", "--template=commit_id")
	unknown := repo.Git("commit-tree", "-m", "jj never saw this", "-p", current, "main^{tree}")
	repo.Write("new", "new\n") // amends @, so that the commit is hidden
	repo.JJ("status")
	for name, commit := range map[string]string{
		"unknown":        unknown,
		"hidden":         current,
		"a working copy": repo.JJ("log", "--no-graph", "--revisions=@", "--template=commit_id"),
	} {
		id, err := objstore.ParseID(commit)
		require.NoError(t, err)
		added := add(t, w, worktrees.AddRequest{Path: beside(repo, name), Commit: id})
		assert.Equal(t, main, start(t, repotest.JJColocated, repo, added), name)
	}
	assert.Equal(t, "false", repo.JJ("log", "--no-graph", "--revisions=@", "--template=divergent"))
}
