package jjbridge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// workspace finds the working copy of repo.
func workspace(t testing.TB, repo *repotest.Repo) *jjbridge.Workspace {
	t.Helper()
	w, err := jjbridge.Locate(t.Context(), repo.Dir, repo.Env)
	require.NoError(t, err)
	return w
}

// capture captures repo's working copy and stores it.
func capture(t testing.TB, repo *repotest.Repo, opts jjbridge.CaptureOptions) snapshot.VCS {
	t.Helper()
	c, err := workspace(t, repo).Capture(t.Context(), opts)
	require.NoError(t, err)
	store(t, repo, c)
	return c.VCS
}

// capturedAs is what a capture says, with limits as they are by default.
func capturedAs(t testing.TB, repo *repotest.Repo) snapshot.VCS {
	t.Helper()
	return capture(t, repo, jjbridge.CaptureOptions{})
}

// store stores what was captured, as appending an entry does, makes a ref to it, and
// closes it.
func store(t testing.TB, repo *repotest.Repo, c *jjbridge.CapturedFiles) {
	t.Helper()
	s, err := objstore.Open(objstore.Options{
		Hash:       objstore.AlgorithmOf(repotest.ObjectFormat()),
		ObjectsDir: filepath.Join(repo.GitDir, "objects"), TempDir: filepath.Join(repo.GitDir, "smithers", "tmp"),
	})
	require.NoError(t, err)
	batch := s.Begin()
	require.NoError(t, c.Objects(batch))
	tree := c.VCS.Tree.String()
	require.NoError(t, batch.Commit(t.Context(), func() error {
		_, err := repo.GitErr("update-ref", "refs/smithers/test/"+tree, tree)
		return err
	}))
	require.NoError(t, s.Close())
	require.NoError(t, c.Close())
}

// expected is the tree that git itself makes of the working copy: of a copy of the
// user's index after git add -A. Nothing of it stays in the repository.
func expected(t testing.TB, repo *repotest.Repo) string {
	t.Helper()
	dir := t.TempDir()
	gitDir := workspace(t, repo).Repo.GitDir
	index := filepath.Join(dir, "index")
	if data, err := os.ReadFile(filepath.Join(gitDir, "index")); err == nil {
		require.NoError(t, os.WriteFile(index, data, 0o600))
		info, err := os.Stat(filepath.Join(gitDir, "index"))
		require.NoError(t, err)
		require.NoError(t, os.Chtimes(index, info.ModTime(), info.ModTime()))
	}
	other := *repo
	other.Env = append(other.Env, "GIT_INDEX_FILE="+index, "GIT_OBJECT_DIRECTORY="+filepath.Join(dir),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(repo.GitDir, "objects"))
	other.Git("add", "--all", ".", ":!.jj")
	return other.Git("write-tree")
}

func remove(t testing.TB, repo *repotest.Repo, name string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Join(repo.Dir, name)))
}

func symlink(t testing.TB, repo *repotest.Repo, target, name string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, filepath.Join(repo.Dir, name)))
}

func chmod(t testing.TB, repo *repotest.Repo, name string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.Chmod(filepath.Join(repo.Dir, name), mode))
}

// editor changes files of a working copy.
type editor struct {
	*repotest.Repo
	t testing.TB
}

// paths is what a tree has.
func paths(repo *repotest.Repo, v snapshot.VCS) []string {
	return strings.Fields(repo.Git("ls-tree", "-r", "--name-only", v.Tree.String()))
}

// TestACaptureIsTheFilesAsTheyAre goes through one change after the other, in each kind
// of working copy, and compares every capture with what git itself makes of the files.
func TestACaptureIsTheFilesAsTheyAre(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name   string
		change func(e editor)
	}{
		{"nothing", func(editor) {}},
		{"a new file", func(e editor) { e.Write("new/er.txt", "new\n") }},
		{"another content", func(e editor) { e.Write("new/er.txt", "NEW\n") }},
		{"a tracked file", func(e editor) { e.Write("README.md", "other\n") }},
		{"an executable bit", func(e editor) { chmod(e.t, e.Repo, "src/main.go", 0o755) }},
		{"no executable bit", func(e editor) { chmod(e.t, e.Repo, "src/main.go", 0o644) }},
		{"an empty file", func(e editor) { e.Write("empty", "") }},
		{"an empty folder", func(e editor) {
			require.NoError(e.t, os.Mkdir(filepath.Join(e.Dir, "nothing"), 0o777))
		}},
		{"links", func(e editor) {
			symlink(e.t, e.Repo, "README.md", "link")
			symlink(e.t, e.Repo, "src", "folder-link")
			symlink(e.t, e.Repo, "nowhere/at all", "dangling")
		}},
		{"a link that is a file now", func(e editor) {
			remove(e.t, e.Repo, "link")
			e.Write("link", "README.md")
		}},
		{"a file that is a folder now", func(e editor) {
			remove(e.t, e.Repo, "README.md")
			e.Write("README.md/part", "1\n")
		}},
		{"a folder that is a file now", func(e editor) {
			remove(e.t, e.Repo, "notes")
			e.Write("notes", "all of them\n")
		}},
		{"a folder that is a link now", func(e editor) {
			remove(e.t, e.Repo, "new")
			symlink(e.t, e.Repo, "src", "new")
		}},
		{"back again", func(e editor) {
			for _, name := range []string{"README.md", "notes", "new"} {
				remove(e.t, e.Repo, name)
			}
			e.Write("README.md", "# A scratch repository\n")
			e.Write("notes/todo.txt", "write\ntest\nship\n")
		}},
		{"a removed file", func(e editor) { remove(e.t, e.Repo, "src/main.go") }},
		{"the removed file again", func(e editor) { e.Write("src/main.go", "package main\n") }},
		{"ignored files", func(e editor) {
			e.Write(".gitignore", "*.log\n/out/\n")
			e.Write("a.log", "noise\n")
			e.Write("out/b", "noise\n")
		}},
		{"strange names", func(e editor) {
			for _, name := range []string{"-n", "--all", ":(top)x", ":!y", "a b", "*", "tab\there", `quo"te`, "ümlaut", "back\\slash", "#hash", "!bang"} {
				e.Write("strange/"+name, name)
			}
		}},
	}
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		for _, step := range steps {
			step.change(editor{repo, t})
			v := capturedAs(t, repo)
			require.Equal(t, expected(t, repo), v.Tree.String(), step.name)
			assert.Empty(t, v.LeftOut, step.name)
			assert.Equal(t, snapshot.ScopeAll, v.Scope)
		}
		v := capturedAs(t, repo)
		assert.NotContains(t, paths(repo, v), "a.log")
	})
}

func TestNamesThatAreNoTextAreCaptured(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("line\nfeed", "1\n")
	repo.Write("latin-\xfc", "2\n")
	assert.Equal(t, expected(t, repo), capturedAs(t, repo).Tree.String())
	repo.Write("latin-\xfc", "3\n")
	remove(t, repo, "line\nfeed")
	assert.Equal(t, expected(t, repo), capturedAs(t, repo).Tree.String())
}

func TestACaptureNamesTheRevision(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		for _, scope := range []string{snapshot.ScopeAll, jjbridge.ScopeOff} {
			v := capture2(t, repo, scope)
			pointer, err := workspace(t, repo).Pointer(t.Context())
			require.NoError(t, err)
			assert.Equal(t, scope == jjbridge.ScopeOff, v.Tree.IsZero())
			v.Tree, v.Scope = objstore.ID{}, ""
			assert.Equal(t, *pointer, v)
			assert.NotEmpty(t, v.CommitID)
		}
	})
}

func capture2(t *testing.T, repo *repotest.Repo, scope string) snapshot.VCS {
	t.Helper()
	c, err := workspace(t, repo).Capture(t.Context(), jjbridge.CaptureOptions{Scope: scope})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close(), "twice")
	return c.VCS
}

// TestACaptureLeavesWhatIsTheUsers compares all that a user could notice.
func TestACaptureLeavesWhatIsTheUsers(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		gitDir := workspace(t, repo).Repo.GitDir
		if !kind.IsJJ() {
			repo.Write("README.md", "stashed\n")
			repo.Git("stash")
			repo.Write("staged", "staged\n")
			repo.Git("add", "staged")
			hook := filepath.Join(repo.GitDir, "hooks", "post-index-change")
			require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o777))
			repotest.WriteProgram(t, hook, "#!/bin/sh\necho ran >'"+repo.Home+"/hook'\n")
		}
		repo.Write("staged", "changed since\n")
		repo.Write("untracked", "new\n")
		look := func() []string {
			var status string
			if kind.IsJJ() {
				status = repo.JJ("status") // takes a snapshot, too
			}
			index, _ := os.ReadFile(filepath.Join(gitDir, "index")) // some have none
			logs, _ := os.ReadFile(filepath.Join(gitDir, "logs", "HEAD"))
			head, err := os.ReadFile(filepath.Join(gitDir, "HEAD"))
			require.NoError(t, err)
			seen := []string{string(index), string(logs), string(head), repo.Git("for-each-ref", "refs/heads", "refs/stash")}
			if kind.IsJJ() {
				return append(seen, status, repo.JJ("op", "log", "--no-graph", "-T", `id ++ "\n"`))
			}
			return append(seen, repo.Git("--no-optional-locks", "status", "--porcelain"), repo.Git("stash", "list"))
		}
		before := look()
		capture(t, repo, jjbridge.CaptureOptions{})
		capture(t, repo, jjbridge.CaptureOptions{})
		assert.Equal(t, before, look())
		assert.NoFileExists(t, filepath.Join(repo.Home, "hook"))
	})
}

func TestNothingThatIsStoredNamesTheMachine(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		v := capturedAs(t, repo)
		assert.False(t, filepath.IsAbs(v.Root), v.Root)
	})
}

func TestWithoutAWorkingCopyThereIsNothingToCapture(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Bare, repotest.Commit)
	_, err := workspace(t, repo).Capture(t.Context(), jjbridge.CaptureOptions{})
	assert.ErrorIs(t, err, jjbridge.ErrNoWorkingCopy)
}

func TestACaptureBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	empty := capturedAs(t, repo)
	assert.True(t, empty.Tree.IsEmptyTree())
	repo.Write("first", "1\n")
	v := capturedAs(t, repo)
	assert.Equal(t, expected(t, repo), v.Tree.String())
	assert.Empty(t, v.CommitID)
}

func TestACaptureSurvivesTheHardestGC(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		repo.Write("kept", "by the capture alone\n")
		v := capturedAs(t, repo)
		remove(t, repo, "kept")
		if kind.IsJJ() {
			repo.JJ("status")
			repo.JJ("op", "abandon", "..@-")
			repo.JJ("util", "gc", "--expire=now")
		}
		repo.Git("reflog", "expire", "--expire=now", "--all")
		repo.Git("gc", "--quiet", "--prune=now")
		assert.Equal(t, "by the capture alone", repo.Git("show", v.Tree.String()+":kept"))
		// and the next one goes on from there
		assert.Equal(t, expected(t, repo), capturedAs(t, repo).Tree.String())
	})
}
