package jjbridge_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestLargeFilesAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		small := jjbridge.CaptureOptions{MaxFile: 100}
		repo.Write("deep/er/large", strings.Repeat("x", 101))
		repo.Write("README.md", strings.Repeat("y", 102))
		repo.Write("as large as may be", strings.Repeat("z", 100))
		v := capture(t, repo, small)
		want := []snapshot.LeftOut{
			{Path: "README.md", Reason: snapshot.LeftTooLarge, Bytes: 102},
			{Path: "deep/er/large", Reason: snapshot.LeftTooLarge, Bytes: 101},
		}
		assert.Equal(t, want, v.LeftOut)
		assert.Equal(t, []string{"as", "large", "as", "may", "be", "notes/todo.txt", "src/main.go"}, paths(repo, v))
		assert.Equal(t, v.Tree, capture(t, repo, small).Tree, "and so they are the next time")
		assert.Equal(t, want, capture(t, repo, small).LeftOut)

		all := capturedAs(t, repo)
		assert.Equal(t, expected(t, repo), all.Tree.String(), "a higher limit")
		assert.Empty(t, all.LeftOut)
		assert.Equal(t, v.Tree, capture(t, repo, small).Tree, "a lower limit")

		repo.Write("README.md", "short\n")
		remove(t, repo, "deep")
		v = capture(t, repo, small)
		assert.Empty(t, v.LeftOut)
		assert.Equal(t, expected(t, repo), v.Tree.String())
	})
}

func TestLargeFilesThatTheUserHasCommittedStay(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		repo.Write("large", strings.Repeat("x", 101))
		if kind.IsJJ() {
			repo.JJ("commit", "--quiet", "--message=large")
		} else {
			repo.Git("add", "large")
			repo.Git("commit", "--quiet", "--message=large")
		}
		v := capture(t, repo, jjbridge.CaptureOptions{MaxFile: 100})
		assert.Empty(t, v.LeftOut)
		assert.Contains(t, paths(repo, v), "large")
	})
}

func TestTooManyUntrackedFilesAreLeftOutTogether(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]jjbridge.CaptureOptions{
		"by number": {MaxUntracked: 3},
		"by size":   {MaxUntrackedBytes: 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			var warned []error
			opts.Warn = func(err error) { warned = append(warned, err) }
			repo.Write("README.md", "changed\n")
			for i := range 3 {
				repo.Write(fmt.Sprintf("new%d", i), "123")
			}
			v := capture(t, repo, opts)
			assert.Equal(t, snapshot.ScopeAll, v.Scope)
			assert.Empty(t, warned)
			assert.Equal(t, expected(t, repo), v.Tree.String())

			repo.Write("new3", "123")
			v = capture(t, repo, opts)
			assert.Equal(t, snapshot.ScopeTracked, v.Scope)
			assert.Len(t, warned, 1)
			assert.Equal(t, []snapshot.LeftOut{{Reason: snapshot.LeftUntracked, Bytes: 12}}, v.LeftOut)
			assert.Equal(t, []string{"README.md", "notes/todo.txt", "src/main.go"}, paths(repo, v))
			assert.Equal(t, "changed", repo.Git("show", v.Tree.String()+":README.md"))

			remove(t, repo, "new0")
			assert.Equal(t, expected(t, repo), capture(t, repo, opts).Tree.String())
		})
	}
}

func TestTheScopeTracked(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("new", "1\n")
	repo.Write("README.md", "changed\n")
	tracked := jjbridge.CaptureOptions{Scope: snapshot.ScopeTracked}
	all := capturedAs(t, repo)
	v := capture(t, repo, tracked)
	assert.Equal(t, snapshot.ScopeTracked, v.Scope)
	assert.Equal(t, []string{"README.md", "notes/todo.txt", "src/main.go"}, paths(repo, v))
	assert.Empty(t, v.LeftOut)
	assert.Equal(t, all.Tree, capturedAs(t, repo).Tree)
	repo.Git("add", "new")
	assert.Equal(t, all.Tree, capture(t, repo, tracked).Tree)
}

func TestWithJJEverythingIsTracked(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJ)
	repo.Write("new", "1\n")
	v := capture(t, repo, jjbridge.CaptureOptions{Scope: snapshot.ScopeTracked})
	assert.Equal(t, capturedAs(t, repo), v)
	assert.Contains(t, paths(repo, v), "new")
}

func TestRepositoriesInsideAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		before := capturedAs(t, repo)
		for _, name := range []string{"unborn", "deep/committed"} {
			repo.Write(name+"/file", "1\n")
			gitIn(t, repo, name, "init", "--quiet")
		}
		gitIn(t, repo, "deep/committed", "add", "file")
		gitIn(t, repo, "deep/committed", "commit", "--quiet", "--message=inner")
		repo.Write("workspace/.jj/repo", "elsewhere")
		repo.Write("workspace/file", "1\n")
		v := capturedAs(t, repo)
		assert.Equal(t, []snapshot.LeftOut{
			{Path: "deep/committed/", Reason: snapshot.LeftEmbedded},
			{Path: "unborn/", Reason: snapshot.LeftEmbedded},
			{Path: "workspace/", Reason: snapshot.LeftEmbedded},
		}, v.LeftOut)
		assert.Equal(t, before.Tree, v.Tree)
	})
}

// gitIn runs git in a folder of the working copy, on the repository that is there.
func gitIn(t *testing.T, repo *repotest.Repo, folder string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = filepath.Join(repo.Dir, folder), repo.Env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestFilesThatAreNoFilesAreIgnored(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		remove(t, repo, "README.md")
		for _, name := range []string{"pipe", "README.md"} {
			require.NoError(t, syscall.Mkfifo(filepath.Join(repo.Dir, name), 0o666))
		}
		v := capturedAs(t, repo)
		assert.Empty(t, v.LeftOut)
		assert.NotContains(t, paths(repo, v), "pipe")
		if !kind.IsJJ() {
			assert.NotContains(t, paths(repo, v), "README.md")
		}
	})
}

func TestWhatCannotBeReadIsLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	if !asNobody(t) {
		return
	}
	repo := repotest.New(t, repotest.Commit)
	repo.Write("secret", "1\n")
	repo.Write("closed/file", "1\n")
	repo.Write("new", "1\n")
	// git compares times by the second, and the kernel's clock for them is behind by some milliseconds.
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second + 50*time.Millisecond)))
	for _, name := range []string{"secret", "README.md", "closed", "notes"} {
		chmod(t, repo, name, 0)
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(repo.Dir, name), 0o700) }) // for the removal
	}
	v := capturedAs(t, repo)
	assert.Equal(t, []snapshot.LeftOut{
		{Path: "README.md", Reason: snapshot.LeftUnreadable},
		{Path: "closed/", Reason: snapshot.LeftUnreadable},
		{Path: "notes/", Reason: snapshot.LeftUnreadable},
		{Path: "secret", Reason: snapshot.LeftUnreadable},
	}, v.LeftOut)
	assert.Equal(t, []string{"new", "src/main.go"}, paths(repo, v))
}

// aSubmodule is a repository with a submodule sub, which has one commit.
func aSubmodule(t *testing.T) (*repotest.Repo, func(args ...string) string) {
	t.Helper()
	repo, other := repotest.New(t, repotest.Commit), repotest.New(t, repotest.Commit)
	repo.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.Dir, "sub")
	repo.Git("commit", "--quiet", "--message=sub")
	return repo, func(args ...string) string {
		out, err := repo.GitIn(filepath.Join(repo.Dir, "sub"), args...)
		require.NoError(t, err)
		return out
	}
}

func TestASubmoduleIsItsCommit(t *testing.T) {
	t.Parallel()
	repo, sub := aSubmodule(t)
	first := sub("rev-parse", "HEAD")
	entry := func(v snapshot.VCS) string { return strings.Fields(repo.Git("ls-tree", v.Tree.String(), "sub"))[2] }
	v := capturedAs(t, repo)
	assert.Empty(t, v.LeftOut)
	assert.Equal(t, first, entry(v))

	sub("commit", "--quiet", "--allow-empty", "--message=second")
	v = capturedAs(t, repo)
	assert.Empty(t, v.LeftOut)
	assert.Equal(t, sub("rev-parse", "HEAD"), entry(v))

	for _, name := range []string{"sub/README.md", "sub/untracked"} {
		repo.Write(name, "dirty\n")
		v = capturedAs(t, repo)
		assert.Equal(t, []snapshot.LeftOut{{Path: "sub", Reason: snapshot.LeftDirty}}, v.LeftOut)
		sub("checkout", "--quiet", ".")
	}

	repo.Git("config", "submodule.sub.ignore", "all")
	assert.NotEmpty(t, capturedAs(t, repo).LeftOut, "whatever the user lets git hide")
	repo.Git("submodule", "--quiet", "deinit", "--force", "sub")
	v = capturedAs(t, repo)
	assert.Empty(t, v.LeftOut)
	assert.Equal(t, first, entry(v), "not initialized: as the user's index has it")

	remove(t, repo, "sub")
	assert.NotContains(t, paths(repo, capturedAs(t, repo)), "sub")
	require.NoError(t, os.Mkdir(filepath.Join(repo.Dir, "sub"), 0o777))
	assert.Equal(t, first, entry(capturedAs(t, repo)), "and so is an empty folder")
}
