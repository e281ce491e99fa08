package jjbridge_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
)

// scenario is what happens to a folder of its own between two captures.
type scenario struct {
	before func(c *copyOf, dir string)
	change func(c *copyOf, dir string)
}

// scenarios are the ways in which files change, by name.
func scenarios() map[string]scenario {
	return map[string]scenario{
		"a file that changed": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/f", "before\n") },
			change: func(c *copyOf, dir string) { c.Write(dir+"/f", "after\n") },
		},
		"a new file": {
			change: func(c *copyOf, dir string) { c.Write(dir+"/deep/down/f", "new\n") },
		},
		"a deleted file": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/f", "f\n"); c.Write(dir+"/g", "g\n") },
			change: func(c *copyOf, dir string) { c.remove(dir + "/f") },
		},
		"a deleted folder": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/a/b/c", "c\n") },
			change: func(c *copyOf, dir string) { c.remove(dir) },
		},
		"an empty file": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/f", "") },
			change: func(c *copyOf, dir string) { c.Write(dir+"/f", "full\n") },
		},
		"a file that is no longer executable": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/f", "f\n"); c.chmod(0o777, dir+"/f") },
			change: func(c *copyOf, dir string) { c.chmod(0o666, dir+"/f") },
		},
		"a file that became executable": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/f", "f\n") },
			change: func(c *copyOf, dir string) { c.chmod(0o777, dir+"/f") },
		},
		"a symbolic link to something else": {
			before: func(c *copyOf, dir string) { c.link("README.md", dir+"/link") },
			change: func(c *copyOf, dir string) { c.remove(dir + "/link"); c.link("/nowhere", dir+"/link") },
		},
		"a file that became a symbolic link": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/f", "f\n") },
			change: func(c *copyOf, dir string) { c.remove(dir + "/f"); c.link("../src", dir+"/f") },
		},
		"a symbolic link that became a file": {
			before: func(c *copyOf, dir string) { c.link("../src", dir+"/f") },
			change: func(c *copyOf, dir string) { c.remove(dir + "/f"); c.Write(dir+"/f", "f\n") },
		},
		"a folder that became a file": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/d/e/f", "f\n"); c.Write(dir+"/d/g", "g\n") },
			change: func(c *copyOf, dir string) { c.remove(dir + "/d"); c.Write(dir+"/d", "file\n") },
		},
		"a file that became a folder": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/d", "file\n") },
			change: func(c *copyOf, dir string) { c.remove(dir + "/d"); c.Write(dir+"/d/e/f", "f\n") },
		},
		"a folder that became a symbolic link": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/d/main.go", "f\n") },
			change: func(c *copyOf, dir string) { c.remove(dir + "/d"); c.link("../src", dir+"/d") },
		},
		"a symbolic link that became a folder": {
			before: func(c *copyOf, dir string) { c.link("../src", dir+"/d") },
			change: func(c *copyOf, dir string) { c.remove(dir + "/d"); c.Write(dir+"/d/main.go", "f\n") },
		},
		"a name that changed only its case": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/Name", "f\n") },
			change: func(c *copyOf, dir string) {
				require.NoError(c.t, os.Rename(c.path(dir+"/Name"), c.path(dir+"/name")))
			},
		},
		"a read-only file": {
			before: func(c *copyOf, dir string) { c.Write(dir+"/f", "before\n"); c.chmod(0o444, dir+"/f") },
			change: func(c *copyOf, dir string) {
				c.remove(dir + "/f")
				c.Write(dir+"/f", "after\n")
				c.chmod(0o444, dir+"/f")
			},
		},
		"a large file that was deleted": {
			before: func(c *copyOf, dir string) { c.track(dir+"/big", strings.Repeat("0123456789abcdef", 1<<17)) },
			change: func(c *copyOf, dir string) { c.remove(dir + "/big") },
		},
		"names that need quoting": {
			before: func(c *copyOf, dir string) {
				c.Write(dir+"/a \"b\"\t'c'\n/\u00e9 -*\\", "odd\n")
				c.Write(dir+"/:(top)x", "odd\n")
				c.Write(dir+"/-x", "odd\n")
			},
			change: func(c *copyOf, dir string) {
				c.remove(dir + "/a \"b\"\t'c'\n")
				c.Write(dir+"/:(top)x", "even\n")
				c.remove(dir + "/-x")
			},
		},
	}
}

func TestTheFilesComeBack(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		c := workingCopy(t, kind, repo)
		for dir, s := range scenarios() {
			if s.before != nil {
				s.before(c, dir)
			}
		}
		a, before := c.capture(), files(t, c.Dir)
		for dir, s := range scenarios() {
			s.change(c, dir)
		}
		b, after := c.capture(), files(t, c.Dir)

		c.restore(a)
		assert.Equal(t, before, files(t, c.Dir))
		assert.Equal(t, c.checkout(a), files(t, c.Dir))
		assert.Equal(t, a, c.capture(), "what was restored is captured as the same tree")

		c.restore(b)
		assert.Equal(t, after, files(t, c.Dir))
		assert.Equal(t, b, c.capture(), "what was restored is captured as the same tree")
	})
}

func TestAnyFilesComeBack(t *testing.T) {
	t.Parallel()
	git := workingCopy(t, repotest.Git, repotest.NewKind(t, repotest.Git))
	jj := workingCopy(t, repotest.JJColocated, repotest.NewKind(t, repotest.JJColocated))
	repotest.Check(t, func(r *rapid.T) {
		c := git
		if rapid.IntRange(0, 9).Draw(r, "with jj, which takes its time") == 0 {
			c = jj
		}
		drawFiles(r, c)
		a, before := c.capture(), files(t, c.Dir)
		drawFiles(r, c)
		b, after := c.capture(), files(t, c.Dir)
		c.restore(a)
		require.Equal(r, before, files(t, c.Dir))
		c.restore(b)
		require.Equal(r, after, files(t, c.Dir))
	})
}

func TestNamesThatDifferInCaseAreRestoredWhereCaseDoesNotCount(t *testing.T) {
	t.Parallel()
	c := workingCopy(t, repotest.Git, repotest.New(t, repotest.Commit))
	c.Git("config", "core.ignoreCase", "true")
	c = workingCopy(t, repotest.Git, c.Repo)
	tree := c.Git("ls-tree", c.capture().String()) + "\n"
	made := func(entries string) objstore.ID {
		id, err := objstore.ParseID(c.GitInput(entries, "mktree"))
		require.NoError(t, err)
		return id
	}
	upper := c.Git("ls-tree", "HEAD", "README.md") + "\n"
	lower := strings.Replace(upper, "README", "readme", 1)
	c.restore(made(strings.Replace(tree, upper, lower, 1)))
	assert.NotContains(t, files(t, c.Dir), "README.md")
	assert.Contains(t, files(t, c.Dir), "readme.md")
	c.remove("readme.md")
	c.refused(made(tree+lower), "readme.md", "differs only in case from README.md")
}

// drawFiles makes the working copy one of a few small files, programs and links in
// folders whose names are also those of files.
func drawFiles(r *rapid.T, c *copyOf) {
	entries, err := os.ReadDir(c.Dir)
	require.NoError(r, err)
	for _, entry := range entries {
		if entry.Name() != ".git" && entry.Name() != ".jj" {
			c.remove(entry.Name())
		}
	}
	for range rapid.IntRange(0, 6).Draw(r, "files") {
		name := rapid.StringMatching(`[ab](/[ab]){0,2}`).Draw(r, "name")
		if c.occupied(name) {
			continue
		}
		content := rapid.StringMatching(`[xy]{0,2}\n?`).Draw(r, "content")
		switch rapid.IntRange(0, 2).Draw(r, "kind") {
		case 0:
			c.Write(name, content)
		case 1:
			c.Write(name, content)
			c.chmod(0o777, name)
		case 2:
			c.link("to-"+strings.TrimSpace(content), name)
		}
	}
}

// occupied reports whether a file cannot come to a path without another's going away.
func (c *copyOf) occupied(name string) bool {
	for at := name; ; {
		info, err := os.Lstat(c.path(at))
		if err == nil && (at == name || !info.IsDir()) {
			return true
		}
		cut := strings.LastIndexByte(at, '/')
		if cut < 0 {
			return false
		}
		at = at[:cut]
	}
}
