package jjbridge_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// state is what the git directory has but for objects and what is ours.
func (c *copyOf) state() map[string]string {
	c.t.Helper()
	found := make(map[string]string)
	require.NoError(c.t, filepath.WalkDir(c.GitDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(c.GitDir, path)
		if err != nil {
			return err
		}
		switch filepath.ToSlash(name) {
		case "objects", "smithers", "refs/kept":
			return fs.SkipDir
		}
		if entry.IsDir() {
			found[name] = "folder"
			return nil
		}
		content, err := os.ReadFile(path)
		found[name] = string(content)
		return err
	}))
	return found
}

func TestARestoreLeavesWhatIsTheUsers(t *testing.T) {
	t.Parallel()
	for _, kind := range []repotest.Kind{repotest.Git, repotest.GitWorktree} {
		t.Run(strings.ReplaceAll(string(kind), " ", "-"), func(t *testing.T) {
			t.Parallel()
			c := workingCopy(t, kind, repotest.NewKind(t, kind))
			c.Write("README.md", "stashed\n")
			c.Git("stash", "--quiet")
			c.Write("staged", "staged\n")
			c.Git("add", "staged")
			c.Write("README.md", "a\n")
			a := c.capture()
			c.Write("README.md", "b\n")
			c.remove("staged")
			plan := c.plan(a)
			c.hooks()
			for _, setting := range []string{"submodule.recurse", "core.untrackedCache", "core.ignoreStat", "core.splitIndex"} {
				c.Git("config", setting, "true")
			}
			// With their own lock on the index in place, too.
			lock := filepath.Join(c.Workspace.Repo.GitDir, "index.lock")
			require.NoError(t, os.WriteFile(lock, nil, 0o666))
			before := c.state()
			require.NoError(t, c.Restore(t.Context(), plan))
			assert.Equal(t, before, c.state())
			require.NoError(t, os.Remove(lock))
			assert.NoFileExists(t, filepath.Join(c.Home, "hooked"))
			assert.Equal(t, " M README.md\nA  staged", c.Git("status", "--porcelain"))
		})
	}
}

// hooks makes every hook of git leave a file behind.
func (c *copyOf) hooks() {
	c.t.Helper()
	dir := filepath.Join(c.Home, "hooks")
	require.NoError(c.t, os.Mkdir(dir, 0o777))
	for _, name := range []string{"post-checkout", "post-index-change", "reference-transaction", "post-merge"} {
		script := "#!/bin/sh\necho " + name + " >>" + filepath.Join(c.Home, "hooked") + "\n"
		repotest.WriteProgram(c.t, filepath.Join(dir, name), script)
	}
	c.Git("config", "core.hooksPath", dir)
}

func TestPathsOutsideASparseCheckoutStayOut(t *testing.T) {
	t.Parallel()
	for _, cone := range []string{"--cone", "--no-cone"} {
		c := workingCopy(t, repotest.Git, repotest.New(t, repotest.Commit))
		c.Git("sparse-checkout", "set", cone, "src")
		outside := files(t, c.Dir)
		require.NotContains(t, outside, "notes/todo.txt")
		c.Write("src/main.go", "a\n")
		a := c.capture()
		c.Write("src/main.go", "b\n")
		c.Write("src/new.go", "b\n")
		b := c.capture()
		c.restore(a)
		assert.Equal(t, "file: a\n", files(t, c.Dir)["src/main.go"])
		assert.NotContains(t, files(t, c.Dir), "notes/todo.txt")
		assert.Equal(t, a, c.capture())
		c.restore(b)
		assert.Equal(t, b, c.capture())
	}
}

func TestWhatStandsOutsideASparseCheckoutIsRestoredAndNothingElseComesThere(t *testing.T) {
	t.Parallel()
	for _, cone := range []string{"--cone", "--no-cone"} {
		t.Run(cone, func(t *testing.T) {
			t.Parallel()
			c := workingCopy(t, repotest.Git, repotest.New(t, repotest.Commit))
			c.Write("notes/later.txt", "later\n")
			c.Git("add", "notes")
			c.Git("commit", "-q", "-m", "later")
			whole := c.capture()
			c.Git("reset", "-q", "--hard", "HEAD~1")
			c.Write("notes/todo.txt", "other\n")
			c.Git("commit", "-q", "-a", "-m", "other")
			c.Git("sparse-checkout", "set", cone, "src")
			c.Write("outside/made.txt", "made\n")
			c.Write("outside/more.txt", "a\n")
			a := c.capture()
			c.Write("src/main.go", "b\n")
			c.Write("outside/more.txt", "b\n")
			b := c.capture()
			c.restore(a)
			assert.Equal(t, "file: made\n", files(t, c.Dir)["outside/made.txt"])
			assert.Equal(t, "file: a\n", files(t, c.Dir)["outside/more.txt"])
			assert.Equal(t, a, c.capture())
			c.restore(b)
			assert.Equal(t, b, c.capture())
			c.restore(whole)
			assert.NotContains(t, files(t, c.Dir), "notes/todo.txt", "it was changed there, and is not in the checkout")
			assert.NotContains(t, files(t, c.Dir), "outside/made.txt")
		})
	}
}

func TestTheFiltersAndLineEndsOfTheUserCount(t *testing.T) {
	t.Parallel()
	for _, kind := range []repotest.Kind{repotest.Git, repotest.GitWorktree} {
		t.Run(strings.ReplaceAll(string(kind), " ", "-"), func(t *testing.T) {
			t.Parallel()
			c := workingCopy(t, kind, repotest.NewKind(t, kind))
			c.lfs()
			c.Write(".gitattributes", "* text=auto eol=lf\n*.crlf text eol=crlf\n*.id ident\n"+
				"*.bin filter=lfs -text\n*.u16 text working-tree-encoding=UTF-16LE\n")
			u16 := func(s string) string { return strings.Join(strings.Split(s, ""), "\x00") + "\x00" }
			write := func(word string) {
				c.Write("a.txt", word+"\nplain\n")
				c.Write("mixed.txt", word+"\r\nmixed\nends\r\n")
				c.Write("a.crlf", word+"\r\n")
				c.Write("a.id", "$Id$ "+word+"\n")
				c.Write("a.bin", word+"\x00\r\n")
				c.Write("a.u16", u16(word+"\n"))
			}
			write("before")
			a := c.capture()
			assert.Contains(t, c.Git("show", a.String()+":a.bin"), "oid ", "a pointer is stored")
			write("after")
			b := c.capture()
			c.restore(a)
			assert.Equal(t, c.checkout(a), files(t, c.Dir))
			assert.Equal(t, "file: before\x00\r\n", files(t, c.Dir)["a.bin"])
			assert.Equal(t, a, c.capture())
			c.restore(b)
			assert.Equal(t, c.checkout(b), files(t, c.Dir))
			assert.Equal(t, "file: after\r\n", files(t, c.Dir)["a.crlf"])
			assert.Equal(t, b, c.capture())
		})
	}
}

func TestFilesFollowTheAttributesThatComeBack(t *testing.T) {
	t.Parallel()
	c := workingCopy(t, repotest.Git, repotest.New(t, repotest.Commit))
	c.Write("dir/a.txt", "a\nb\n")
	c.Write("dir/b.txt", "a\nb\n")
	a, before := c.capture(), files(t, c.Dir)
	c.Write("dir/.gitattributes", "a.txt text eol=crlf\n")
	c.Write("dir/a.txt", "a\r\nb\r\n")
	b, after := c.capture(), files(t, c.Dir)
	require.Equal(t, c.Git("rev-parse", a.String()+":dir/a.txt"), c.Git("rev-parse", b.String()+":dir/a.txt"))
	c.restore(a)
	assert.Equal(t, before, files(t, c.Dir))
	assert.Equal(t, a, c.capture())
	c.restore(b)
	assert.Equal(t, after, files(t, c.Dir))
	assert.Equal(t, b, c.capture())
}

// lfs sets up a filter as git-lfs is one: pointers are stored, the content is elsewhere.
func (c *copyOf) lfs() {
	c.t.Helper()
	media := filepath.Join(c.Home, "media")
	require.NoError(c.t, os.Mkdir(media, 0o777))
	c.Git("config", "filter.lfs.clean", "f=$(mktemp) && cat >$f && o=$(git hash-object --no-filters $f) && mv $f '"+media+"'/$o && echo oid $o")
	c.Git("config", "filter.lfs.smudge", "read _ o && cat '"+media+"'/$o")
	c.Git("config", "filter.lfs.required", "true")
}

func TestWhatFailsHalfwayIsNoSuccessAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	for name, smudge := range map[string]string{
		"a filter fails": "false",
		"git is killed":  "kill -KILL $PPID",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := workingCopy(t, repotest.Git, repotest.New(t, repotest.Commit))
			c.Git("config", "filter.odd.clean", "cat")
			c.Git("config", "filter.odd.smudge", "cat")
			c.Git("config", "filter.odd.required", "true")
			c.Write(".gitattributes", "*.odd filter=odd\n")
			c.Write("a", "a\n")
			c.Write("b.odd", "a\n")
			c.Write("c", "a\n")
			a, before := c.capture(), files(t, c.Dir)
			c.Write("a", "b\n")
			c.Write("b.odd", "b\n")
			c.Write("c", "b\n")
			b, after := c.capture(), files(t, c.Dir)
			plan := c.plan(a)
			c.Git("config", "filter.odd.smudge", smudge)
			require.ErrorIs(t, c.Restore(t.Context(), plan), jjbridge.ErrUnfinished)
			require.NotEqual(t, before, files(t, c.Dir))

			c.Git("config", "filter.odd.smudge", "cat")
			c.restore(b)
			assert.Equal(t, after, files(t, c.Dir), "what there was before comes back")
			c.restore(a)
			assert.Equal(t, before, files(t, c.Dir), "and so does what was wanted")
		})
	}
}

func TestADamagedPrivateIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		for _, damage := range []func(path string) error{
			os.Remove,
			func(path string) error { return os.WriteFile(path, []byte("damage"), 0o666) },
		} {
			c := workingCopy(t, kind, repo)
			c.Write("README.md", "a\n")
			a, before := c.capture(), files(t, c.Dir)
			c.Write("README.md", "b\n")
			b := c.capture()
			c.restore(a)
			c.restore(b)
			plan := c.plan(a)
			found, err := filepath.Glob(filepath.Join(c.Workspace.Repo.CommonDir, "smithers", "worktrees", "*", "index"))
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.NoError(t, damage(found[0]))
			require.NoError(t, c.Restore(t.Context(), plan))
			assert.Equal(t, before, files(t, c.Dir))
		}
	})
}
