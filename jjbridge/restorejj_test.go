package jjbridge_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
)

// eachJJ is repotest.EachKind for jj's kinds.
func eachJJ(t *testing.T, test func(t *testing.T, c *copyOf)) {
	t.Helper()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		if kind.IsJJ() {
			test(t, workingCopy(t, kind, repo))
		}
	})
}

// operations is how many operations jj has had, without making one.
func (c *copyOf) operations() int {
	return strings.Count(c.JJ("op", "log", "--ignore-working-copy", "--no-graph", `--template=id ++ "\n"`), "\n") + 1
}

// jjTree is the tree of @ as jj has recorded it, and whether it lacks anything of the files.
func (c *copyOf) jjTree() string {
	c.t.Helper()
	commit := c.JJ("log", "--ignore-working-copy", "--revisions=@", "--no-graph", "--template=commit_id")
	return c.Git("rev-parse", commit+"^{tree}")
}

func TestARestoreIsOneJJOperationThatUndoUndoes(t *testing.T) {
	t.Parallel()
	eachJJ(t, func(t *testing.T, c *copyOf) {
		t.Helper()
		c.track("big", strings.Repeat("0123456789abcdef", 1<<17))
		c.Write("new", "a\n")
		a := c.capture()
		c.remove("big")
		c.remove("new")
		c.Write("src/main.go", "b\n")
		c.Write("other", "b\n")
		b, after := c.capture(), files(t, c.Dir)
		plan := c.plan(a)
		before := c.operations()
		require.NoError(t, c.Restore(t.Context(), plan))
		assert.Equal(t, before+1, c.operations())
		assert.Equal(t, a.String(), c.jjTree(), "jj tracks what came back, the large file too")
		assert.Contains(t, c.JJ("diff", "--summary"), "A big")
		c.JJ("undo", "--quiet")
		assert.Equal(t, after, files(t, c.Dir))
		assert.Equal(t, b, c.capture())
	})
}

func TestACommitThatJJHasForgottenIsRestored(t *testing.T) {
	t.Parallel()
	eachJJ(t, func(t *testing.T, c *copyOf) {
		t.Helper()
		c.Write("work", "a\n")
		a, before := c.capture(), files(t, c.Dir)
		commit := c.JJ("log", "--revisions=@", "--no-graph", "--template=commit_id")
		c.JJ("abandon", "--quiet", "@")
		c.JJ("new", "--quiet", "main")
		c.JJ("op", "abandon", "--quiet", "..@-")
		c.Git("reflog", "expire", "--expire=now", "--all")
		c.JJ("util", "gc", "--expire=now")
		c.Git("gc", "--quiet", "--prune=now")
		_, err := c.GitErr("cat-file", "-e", commit)
		require.Error(t, err, "the commit is gone")
		c.restore(a)
		assert.Equal(t, before, files(t, c.Dir))
		assert.Equal(t, a.String(), c.jjTree())
	})
}

func TestFilesThatJJLeavesOutStayUntracked(t *testing.T) {
	t.Parallel()
	eachJJ(t, func(t *testing.T, c *copyOf) {
		t.Helper()
		big := strings.Repeat("x", 2<<20)
		c.track("big", big+big)
		a := c.capture()
		c.remove("big")
		c.Write("left", big)
		c.capture()
		c.restore(a)
		assert.Equal(t, a.String(), c.jjTree())
		assert.Equal(t, "file: "+big, files(t, c.Dir)["left"])
	})
}

func TestFilesThatAreTrackedAndIgnoredComeBack(t *testing.T) {
	t.Parallel()
	eachJJ(t, func(t *testing.T, c *copyOf) {
		t.Helper()
		c.Write("a.o", "recorded\n")
		c.JJ("status")
		c.Write(".gitignore", "*.o\n")
		a, before := c.capture(), files(t, c.Dir)
		c.remove("a.o")
		c.capture()
		c.restore(a)
		assert.Equal(t, before, files(t, c.Dir))
		assert.Equal(t, a.String(), c.jjTree())
	})
}

func TestFilesAreTrackedWhateverJJIsToldToTrack(t *testing.T) {
	t.Parallel()
	c := workingCopy(t, repotest.JJ, repotest.NewKind(t, repotest.JJ))
	c.Write("new 'file'\t\"\\", "a\n")
	a := c.capture()
	c.remove("new 'file'\t\"\\")
	c.capture()
	c.JJ("config", "set", "--repo", "snapshot.auto-track", "none()")
	c.restore(a)
	assert.Equal(t, a.String(), c.jjTree())
}

func TestJJStoresFilesAsTheyAreWhateverGitIsToldOfThem(t *testing.T) {
	t.Parallel()
	eachJJ(t, func(t *testing.T, c *copyOf) {
		t.Helper()
		c.Git("config", "core.autocrlf", "true")
		c.Git("config", "filter.upper.clean", "tr a-z A-Z")
		c.Git("config", "filter.upper.smudge", "tr A-Z a-z")
		c.Write(".gitattributes", "*.txt text eol=crlf\n*.id ident\n*.up filter=upper\n*.u16 working-tree-encoding=UTF-16\n")
		for _, name := range []string{"a.txt", "a.id", "a.up", "a.u16"} {
			c.Write(name, "$Id$ Mixed\r\nline\nends\n")
		}
		a, before := c.capture(), files(t, c.Dir)
		for _, name := range []string{"a.txt", "a.id", "a.up", "a.u16"} {
			c.Write(name, "$Id$ other\n")
		}
		b, after := c.capture(), files(t, c.Dir)
		c.restore(a)
		assert.Equal(t, before, files(t, c.Dir))
		assert.Equal(t, a, c.capture())
		c.restore(b)
		assert.Equal(t, after, files(t, c.Dir))
		assert.Equal(t, b.String(), c.jjTree())
	})
}

func TestAConflictedWorkingCopyComesBackWithItsMarkers(t *testing.T) {
	t.Parallel()
	eachJJ(t, func(t *testing.T, c *copyOf) {
		t.Helper()
		clean := c.capture()
		c.conflict()
		captured := c.captured()
		require.True(t, captured.VCS.Conflicted)
		c.keep(captured)
		marked := files(t, c.Dir)
		require.Contains(t, marked["README.md"], "<<<<<<<")

		c.restore(clean)
		assert.Equal(t, c.checkout(clean), files(t, c.Dir))
		assert.Equal(t, clean, c.capture(), "the conflict is resolved")

		c.restore(captured.VCS.Tree)
		assert.Equal(t, marked, files(t, c.Dir))
		assert.Empty(t, c.JJ("log", "--no-graph", "--revisions=@ & conflicts()", "--template=commit_id"), "as text")

		done, err := jjbridge.RestoreConflict(t.Context(), c.Workspace, captured.VCS.CommitID)
		require.NoError(t, err)
		assert.True(t, done)
		assert.NotEmpty(t, c.JJ("log", "--no-graph", "--revisions=@ & conflicts()", "--template=commit_id"), "as a conflict")
		assert.Equal(t, captured.VCS.Tree, c.capture())

		for _, none := range []string{"", strings.Repeat("0", 39) + "1", c.JJ("log", "--no-graph", "--revisions=main", "--template=commit_id")} {
			done, err = jjbridge.RestoreConflict(t.Context(), c.Workspace, none)
			require.NoError(t, err)
			assert.False(t, done)
		}
	})
}

// conflict makes @ a commit with a conflict in README.md.
func (c *copyOf) conflict() {
	c.t.Helper()
	for i := range 2 {
		c.JJ("new", "--quiet", "main", "--message=side "+strconv.Itoa(i))
		c.Write("README.md", "side "+strconv.Itoa(i)+"\n")
		c.JJ("status")
	}
	c.JJ("new", "--quiet", `subject(exact:"side 0")`, `subject(exact:"side 1")`)
}

func TestASparseWorkspaceIsNotWrittenToOutsideItsPatterns(t *testing.T) {
	t.Parallel()
	c := workingCopy(t, repotest.JJ, repotest.NewKind(t, repotest.JJ))
	c.Write("notes/todo.txt", "a\n")
	c.Write("src/main.go", "a\n")
	a := c.capture()
	c.Write("notes/todo.txt", "b\n")
	b := c.capture()
	c.JJ("sparse", "set", "--quiet", "--clear", "--add=src")
	c.refused(a, "notes/todo.txt", "sparse")
	c.Write("src/main.go", "c\n")
	c.capture()
	c.restore(b)
	assert.Equal(t, map[string]string{"src/main.go": "file: a\n"}, files(t, c.Dir))
	assert.Equal(t, b.String(), c.jjTree())
}

func TestAStaleWorkspaceIsNotRestored(t *testing.T) {
	t.Parallel()
	c := workingCopy(t, repotest.JJSecondary, repotest.NewKind(t, repotest.JJSecondary))
	c.Write("new", "a\n")
	c.capture()
	first := strings.TrimSuffix(c.Workspace.Repo.CommonDir, "/.jj/repo/store/git")
	c.JJ("--repository="+first, "restore", "--quiet", "--changes-in=second@")
	_, err := c.Capture(t.Context(), jjbridge.CaptureOptions{})
	require.ErrorIs(t, err, jjbridge.ErrStale)
}

func TestJJSubmodulesAreNotMoved(t *testing.T) {
	t.Parallel()
	c := workingCopy(t, repotest.JJ, repotest.NewKind(t, repotest.JJ))
	a := c.capture()
	commit := c.Git("rev-parse", "main")
	want, err := objstore.ParseID(c.GitInput(c.Git("ls-tree", a.String())+"\n160000 commit "+commit+"\tsub\n", "mktree"))
	require.NoError(t, err)
	c.refused(want, "sub", "submodule")
}
