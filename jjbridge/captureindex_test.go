package jjbridge_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// tracksAsGit captures again and again while the user's index is changed, and compares
// with what git makes of it.
func tracksAsGit(t *testing.T, repo *repotest.Repo, steps ...func()) snapshot.VCS {
	t.Helper()
	v := capturedAs(t, repo)
	for i, step := range steps {
		step()
		v = capturedAs(t, repo)
		require.Equal(t, expected(t, repo), v.Tree.String(), "step %d", i)
	}
	return v
}

func TestTrackedFilesThatAreIgnoredAreCaptured(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	v := tracksAsGit(t, repo,
		func() { repo.Write(".gitignore", "*.log\n"); repo.Write("a.log", "1\n"); repo.Write("b.log", "1\n") },
		func() { repo.Git("add", "--force", "a.log") },
		func() { repo.Write("a.log", "22\n") },
	)
	assert.Contains(t, paths(repo, v), "a.log")
	assert.NotContains(t, paths(repo, v), "b.log")
	v = tracksAsGit(t, repo, func() { repo.Git("rm", "--quiet", "--cached", "--force", "a.log") })
	assert.NotContains(t, paths(repo, v), "a.log")
}

func TestFilesThatBecameIgnoredLeaveTheCapture(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	tracksAsGit(t, repo,
		func() { repo.Write("a.log", "1\n") },
		func() { repo.Write(".gitignore", "*.log\n") },
		func() { remove(t, repo, ".gitignore") },
		func() { require.NoError(t, os.MkdirAll(filepath.Join(repo.GitDir, "info"), 0o777)) },
		func() {
			require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "info", "exclude"), []byte("*.log\n"), 0o600))
		},
	)
}

func TestAUserWhoStagesAndCommitsChangesNothingInACapture(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("new", "1\n")
	repo.Write("README.md", "changed\n")
	before := capturedAs(t, repo).Tree
	for _, args := range [][]string{
		{"add", "new"},
		{"commit", "--quiet", "--message=one"},
		{"reset", "--quiet", "--soft", "HEAD~1"},
		{"reset", "--quiet"},
		{"add", "--all"},
		{"update-index", "--refresh"},
	} {
		repo.Git(args...)
		assert.Equal(t, before, capturedAs(t, repo).Tree, args)
	}
}

func TestACheckoutIsSeen(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("switch", "--quiet", "--create", "other")
	repo.Write("README.md", "other\n")
	repo.Write("only/there", "1\n")
	repo.Git("add", "--all")
	repo.Git("commit", "--quiet", "--message=other")
	tracksAsGit(t, repo,
		func() { repo.Write("untracked", "1\n") },
		func() { repo.Git("switch", "--quiet", "main") },
		func() { repo.Git("switch", "--quiet", "other") },
		func() { repo.Write("only/there", "2\n") },
		func() { repo.Git("stash", "--quiet") },
		func() { repo.Git("stash", "pop", "--quiet") },
	)
}

// An untracked file may stand where the user then tracks a folder, and the reverse.
func TestWhatTheUserTracksReplacesWhatCapturesAdded(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	tracksAsGit(t, repo,
		func() { repo.Write("x", "a file\n"); repo.Write("y/z", "in a folder\n") },
		func() {
			remove(t, repo, "x")
			remove(t, repo, "y")
			repo.Write("x/inner", "now a folder\n")
			repo.Write("y", "now a file\n")
			repo.Git("add", "x", "y")
		},
	)
}

func TestIndexesOfEveryFormAreRead(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][][]string{
		"version 4":       {{"update-index", "--index-version", "4"}},
		"version 3":       {{"add", "--intent-to-add", "intent"}},
		"split":           {{"config", "core.splitIndex", "true"}, {"update-index", "--split-index"}},
		"untracked cache": {{"config", "core.untrackedCache", "true"}, {"update-index", "--untracked-cache"}, {"status"}},
		"no checksum":     {{"config", "index.skipHash", "true"}, {"update-index", "--force-write-index"}},
		"fsmonitor":       {{"config", "core.fsmonitor", "/nonexistent/monitor"}, {"update-index", "--fsmonitor"}},
		"many files":      {{"config", "feature.manyFiles", "true"}, {"update-index", "--force-write-index"}},
		"ignoring stat":   {{"config", "core.ignoreStat", "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			repo.Write("intent", "1\n")
			for _, args := range settings {
				_, _ = repo.GitErr(args...) // the monitor is not there
			}
			v := tracksAsGit(t, repo,
				func() { repo.Write("README.md", "changed\n") },
				func() { repo.Write("new", "1\n"); remove(t, repo, "src") },
			)
			assert.Contains(t, paths(repo, v), "new")
			assert.Contains(t, paths(repo, v), "intent")
		})
	}
}

func TestConflictsAreCapturedAsTheyStand(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("switch", "--quiet", "--create", "other")
	repo.Write("README.md", "other\n")
	repo.Git("rm", "--quiet", "notes/todo.txt")
	repo.Git("commit", "--quiet", "--all", "--message=other")
	repo.Git("switch", "--quiet", "main")
	repo.Write("README.md", "main\n")
	repo.Write("notes/todo.txt", "more\n")
	repo.Git("commit", "--quiet", "--all", "--message=main")
	_, err := repo.GitErr("merge", "other")
	require.Error(t, err)
	v := tracksAsGit(t, repo,
		func() {},
		func() { repo.Write("README.md", "half done\n") },
		func() { remove(t, repo, "notes/todo.txt") },
	)
	assert.Equal(t, "half done", repo.Git("show", v.Tree.String()+":README.md"))
	assert.NotEmpty(t, repo.Git("ls-files", "--unmerged"))
}

func TestFilesOutsideOfASparseCheckoutStayInTheCapture(t *testing.T) {
	t.Parallel()
	for _, sparse := range []string{"--no-sparse-index", "--sparse-index"} {
		t.Run(sparse, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			before := capturedAs(t, repo).Tree
			repo.Git("sparse-checkout", "set", "--cone", sparse, "src")
			assert.NoFileExists(t, filepath.Join(repo.Dir, "notes", "todo.txt"))
			assert.Equal(t, before, capturedAs(t, repo).Tree)
			repo.Write("src/main.go", "package changed\n")
			v := capturedAs(t, repo)
			assert.Contains(t, paths(repo, v), "notes/todo.txt")
			assert.Equal(t, "package changed", repo.Git("show", v.Tree.String()+":src/main.go"))
		})
	}
}

// What the user told git not to look at is in the working copy all the same.
func TestFilesThatGitShallNotLookAtAreCaptured(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--assume-unchanged", "--skip-worktree"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			repo.Git("update-index", flag, "README.md")
			repo.Write("README.md", "mine\n")
			v := capturedAs(t, repo)
			assert.Equal(t, "mine", repo.Git("show", v.Tree.String()+":README.md"))
			assert.Empty(t, repo.Git("status", "--porcelain"))
		})
	}
}

func TestAModeThatIsNotTrustedStays(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("update-index", "--chmod=+x", "src/main.go")
	repo.Git("config", "core.fileMode", "false")
	tracksAsGit(t, repo,
		func() { repo.Write("src/main.go", "package changed\n") },
		func() { write(t, repo, "script", "#!/bin/sh\n", 0o755) },
	)
}

func write(t testing.TB, repo *repotest.Repo, name, content string, mode os.FileMode) {
	t.Helper()
	repo.Write(name, content)
	chmod(t, repo, name, mode)
}

func TestAnIndexThatIsLockedOrDamagedIsNoObstacle(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("README.md", "changed\n")
	want := expected(t, repo)
	require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "index.lock"), nil, 0o600))
	assert.Equal(t, want, capturedAs(t, repo).Tree.String())
	require.NoError(t, os.Remove(filepath.Join(repo.GitDir, "index.lock")))

	index := filepath.Join(repo.GitDir, "index")
	data, err := os.ReadFile(index)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(index, append([]byte("DIRC nonsense"), data[13:]...), 0o600))
	var warned []error
	v := capture(t, repo, jjbridge.CaptureOptions{Warn: func(err error) { warned = append(warned, err) }})
	assert.Equal(t, want, v.Tree.String())
	assert.Len(t, warned, 1)
	require.NoError(t, os.WriteFile(index, data, 0o600))
	assert.Equal(t, want, capturedAs(t, repo).Tree.String())

	require.NoError(t, os.Remove(index))
	assert.Equal(t, want, capturedAs(t, repo).Tree.String(), "everything is untracked, then")
}

func TestAPrivateIndexThatIsDamagedIsMadeAnew(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("new", "1\n")
	want := capturedAs(t, repo)
	dir := filepath.Join(repo.GitDir, "smithers", "worktrees", "git")
	for _, name := range []string{"changed", "tracked", "state"} {
		path := filepath.Join(dir, name)
		require.FileExists(t, path)
		for _, damage := range []func() error{
			func() error { return os.Remove(path) },
			func() error { return os.WriteFile(path, nil, 0o600) },
			func() error {
				return os.WriteFile(path, []byte("DIRC\x00\x00\x00\x02 and so on, which is not an index"), 0o600)
			},
			func() error { return os.Truncate(path, 40) },
		} {
			require.NoError(t, damage())
			assert.Equal(t, want, capturedAs(t, repo), name)
		}
	}
	require.NoError(t, os.RemoveAll(dir))
	assert.Equal(t, want, capturedAs(t, repo))
}

// Files of the same size that are written in one moment are what stat cannot tell apart.
func TestChangesThatStatHardlyShowsAreSeen(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	for i := range 20 {
		repo.Write("README.md", string(rune('a'+i))+"\n")
		if i%3 == 0 {
			repo.Git("add", "README.md")
			repo.Write("README.md", string(rune('A'+i))+"\n")
		}
		v := capturedAs(t, repo)
		data, err := os.ReadFile(filepath.Join(repo.Dir, "README.md"))
		require.NoError(t, err)
		require.Equal(t, string(data), repo.Git("show", v.Tree.String()+":README.md")+"\n")
	}
}

// What was captured and not stored is gone with its quarantine.
func TestACaptureThatNobodyStoredIsMadeAgain(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("new/file", "1\n")
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(repo.Dir, "new", "file"), past, past))
	lost := capture2(t, repo, snapshot.ScopeAll)
	again := capturedAs(t, repo)
	assert.Equal(t, lost, again)
	assert.Equal(t, "1", repo.Git("show", again.Tree.String()+":new/file"))
}

func TestAfterItsHistoryIsGoneAWorkingCopyIsCapturedAnew(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("new", "1\n")
	v := capturedAs(t, repo)
	repo.Git("update-ref", "-d", "refs/smithers/test/"+v.Tree.String())
	repo.Git("gc", "--quiet", "--prune=now")
	_, err := repo.GitErr("cat-file", "-e", v.Tree.String())
	require.Error(t, err)
	assert.Equal(t, v, capturedAs(t, repo))
}

// The store's cache and the packs that it has open still have what git has pruned.
func TestACaptureByAnOpenStoreMissesWhatGitHasPruned(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("new", "1\n")
	open, err := objstore.Open(objstore.Options{
		Hash:       objstore.AlgorithmOf(repotest.ObjectFormat()),
		ObjectsDir: filepath.Join(repo.GitDir, "objects"), TempDir: filepath.Join(repo.GitDir, "smithers", "tmp"),
	})
	require.NoError(t, err)
	opts := jjbridge.CaptureOptions{Objects: open}
	v := capture(t, repo, opts)
	blob, err := objstore.ParseID(repo.Git("rev-parse", v.Tree.String()+":new"))
	require.NoError(t, err)
	for _, id := range []objstore.ID{v.Tree, blob} {
		_, _, err := open.Get(id)
		require.NoError(t, err)
	}
	repo.Git("update-ref", "-d", "refs/smithers/test/"+v.Tree.String())
	repo.Git("gc", "--quiet", "--prune=now")
	_, err = repo.GitErr("cat-file", "-e", v.Tree.String())
	require.Error(t, err)
	_, _, err = open.Get(v.Tree)
	require.NoError(t, err)

	assert.Equal(t, v, capture(t, repo, opts))

	assert.Equal(t, "1", repo.Git("show", v.Tree.String()+":new"))
	require.NoError(t, open.Close())
}

// A content that the repository has for no reason that lasts is stored with the capture.
func TestAnUnreachableContentIsKeptByTheCapture(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("new", "somewhere already\n")
	repo.Git("hash-object", "-w", "new")
	c, err := workspace(t, repo).Capture(t.Context(), jjbridge.CaptureOptions{})
	require.NoError(t, err)
	repo.Git("gc", "--quiet", "--prune=now")
	store(t, repo, c)
	assert.Equal(t, "somewhere already", repo.Git("show", c.VCS.Tree.String()+":new"))
}
