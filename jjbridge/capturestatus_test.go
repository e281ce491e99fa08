package jjbridge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// countGit makes repo.Env run git through a script that notes each command, and returns those since the
// last call.
func countGit(t testing.TB, repo *repotest.Repo) func() []string {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	git, err := exec.LookPath("git")
	require.NoError(t, err)
	script := "#!/bin/sh\nfor a; do case $a in -c) skip=1;; -*) ;; *) if [ \"$skip\" ]; then skip=; else echo \"$a\" >>'" + log + "'; break; fi;; esac; done\nexec '" + git + "' \"$@\"\n"
	repotest.WriteProgram(t, filepath.Join(dir, "git"), script)
	for i, entry := range repo.Env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			repo.Env[i] = "PATH=" + dir + string(filepath.ListSeparator) + path
		}
	}
	return func() []string {
		data, _ := os.ReadFile(log) // not there yet: none
		_ = os.Remove(log)          // as above
		return strings.Fields(string(data))
	}
}

func TestACaptureRunsGitOnce(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("README.md", "changed\n")
	repo.Write("staged", "1\n")
	repo.Git("add", "staged")
	repo.Write("new", "1\n")
	count := countGit(t, repo)
	w := workspace(t, repo)
	again := func() snapshot.VCS {
		c, err := w.Capture(t.Context(), jjbridge.CaptureOptions{})
		require.NoError(t, err)
		store(t, repo, c)
		return c.VCS
	}
	count()
	first := again()
	assert.Equal(t, []string{"status"}, count(), "nothing speaks against reading new contents without git")
	waitForTick()
	again() // what was as new as the index is read once more
	count()
	assert.Equal(t, first, again())
	assert.Equal(t, []string{"status"}, count())
	repo.Git("commit", "--quiet", "--message=staged")
	count()
	assert.Equal(t, first.Tree, again().Tree)
	assert.Equal(t, []string{"status"}, count())
	remove(t, repo, "new")
	assert.NotEqual(t, first.Tree, again().Tree)
	assert.Equal(t, []string{"status"}, count())
}

func TestGitReadsAFileThatHasAttributesAndReadsItOnce(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("src/.gitattributes", "*.txt text eol=lf\n")
	repo.Write("src/a.txt", "1\r\n")
	repo.Write("b.txt", "1\r\n")
	waitForTick()
	count := countGit(t, repo)
	w := workspace(t, repo)
	count()
	for i := range 2 {
		c, err := w.Capture(t.Context(), jjbridge.CaptureOptions{})
		require.NoError(t, err)
		require.Equal(t, expected(t, repo), c.VCS.Tree.String())
		store(t, repo, c)
		assert.Equal(t, "1", repo.Git("show", c.VCS.Tree.String()+":src/a.txt"))
		assert.Equal(t, "1\r", repo.Git("show", c.VCS.Tree.String()+":b.txt"))
		ran := count()
		assert.Equal(t, "status", ran[0])
		assert.Equal(t, i == 0, slices.Contains(ran, "update-index"), ran)
	}
}

// waitForTick waits until a file written now is older than any written later.
func waitForTick() { time.Sleep(50 * time.Millisecond) }

// A monitor decides which files git looks at, and so which ones a capture does.
func TestTheUsersFileSystemMonitorIsAsked(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	dir := t.TempDir()
	reported := filepath.Join(dir, "reported")
	require.NoError(t, os.WriteFile(reported, nil, 0o600))
	repotest.WriteProgram(t, filepath.Join(dir, "monitor"),
		"#!/bin/sh\necho \"$@\" >>'"+dir+"/asked'\nprintf 'token\\0'\ncat '"+reported+"'\n")
	repo.Git("config", "core.fsmonitor", filepath.Join(dir, "monitor"))
	repo.Git("config", "core.fsmonitorHookVersion", "2")
	repo.Git("update-index", "--fsmonitor")
	repo.Git("status")
	before := capturedAs(t, repo)
	require.NoError(t, os.Remove(filepath.Join(dir, "asked")))

	repo.Write("README.md", "changed\n")
	assert.Equal(t, before.Tree, capturedAs(t, repo).Tree, "the monitor says that nothing has changed")
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	require.NoError(t, err)
	assert.Equal(t, "2 token\n", string(asked), "once, with the token of the last answer")

	require.NoError(t, os.WriteFile(reported, []byte("README.md\x00"), 0o600))
	v := capturedAs(t, repo)
	assert.Equal(t, "changed", repo.Git("show", v.Tree.String()+":README.md"))
}

func TestTheUsersUntrackedCacheIsUsed(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("notes/new", "1\n")
	past := time.Now().Add(-time.Hour)
	for _, dir := range []string{".", "src", "notes"} {
		require.NoError(t, os.Chtimes(filepath.Join(repo.Dir, dir), past, past))
	}
	trace := filepath.Join(t.TempDir(), "trace")
	opened := func() string {
		t.Helper()
		traced := *repo
		traced.Env = append(traced.Env, "GIT_TRACE2_PERF="+trace)
		require.NoError(t, os.RemoveAll(trace))
		c, err := workspace(t, &traced).Capture(t.Context(), jjbridge.CaptureOptions{})
		require.NoError(t, err)
		assert.Equal(t, expected(t, repo), c.VCS.Tree.String())
		store(t, repo, c)
		data, err := os.ReadFile(trace)
		require.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			if _, n, ok := strings.Cut(line, "opendir:"); ok {
				return strings.TrimSpace(n)
			}
		}
		return "no cache"
	}
	opened()
	assert.Equal(t, "no cache", opened())
	repo.Git("update-index", "--untracked-cache")
	opened() // the cache of git's own listing is not the one of a capture
	assert.Equal(t, "0", opened(), "no folder is read")
	repo.Write("src/new", "1\n")
	assert.Equal(t, "1", opened())
}

// A copied repository has an index that knows no file. git reads each once, not at every capture.
func TestWhatGitFindsOutAboutFilesIsKept(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	past := time.Now().Add(-time.Hour)
	for _, name := range []string{"README.md", "src/main.go", "notes/todo.txt"} {
		require.NoError(t, os.Chtimes(filepath.Join(repo.Dir, name), past, past))
	}
	user, err := os.ReadFile(filepath.Join(repo.GitDir, "index"))
	require.NoError(t, err)
	copied := filepath.Join(repo.GitDir, "smithers", "worktrees", "git", "tracked")
	capturedAs(t, repo)
	first, err := os.Stat(copied)
	require.NoError(t, err)
	data, err := os.ReadFile(copied)
	require.NoError(t, err)
	assert.NotEqual(t, user, data)
	capturedAs(t, repo)
	second, err := os.Stat(copied)
	require.NoError(t, err)
	assert.True(t, os.SameFile(first, second), "git had nothing to find out any more")
	now, err := os.ReadFile(filepath.Join(repo.GitDir, "index"))
	require.NoError(t, err)
	assert.Equal(t, user, now)
}

// The index of a submodule is the user's, too.
func TestTheIndexOfASubmoduleStaysAsItIs(t *testing.T) {
	t.Parallel()
	repo, _ := aSubmodule(t)
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(repo.Dir, "sub", "README.md"), past, past))
	index := filepath.Join(repo.GitDir, "modules", "sub", "index")
	before, err := os.Stat(index)
	require.NoError(t, err)
	capturedAs(t, repo)
	capturedAs(t, repo)
	after, err := os.Stat(index)
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
	assert.Equal(t, before.ModTime(), after.ModTime())
}

// A file of the same size, whose content git would compare by running the filter, keeps the others.
func TestAFilterThatFailsInGitStatusCostsOnlyItsFiles(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write(".gitattributes", "*.bin filter=strict\n")
	repo.Write("a.bin", "1\n")
	repo.Git("add", "--all")
	repo.Git("config", "filter.strict.required", "true")
	repo.Git("config", "filter.strict.clean", "false")
	past := time.Now().Add(-time.Hour)
	repo.Write("a.bin", "2\n")
	require.NoError(t, os.Chtimes(filepath.Join(repo.Dir, "a.bin"), past, past))
	repo.Write("new.txt", "1\n")
	v := capturedAs(t, repo)
	assert.Equal(t, []snapshot.LeftOut{{Path: "a.bin", Reason: snapshot.LeftUnreadable}}, v.LeftOut)
	assert.Contains(t, paths(repo, v), "new.txt")
}
