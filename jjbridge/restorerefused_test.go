package jjbridge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
)

// refused plans a restore of want and checks that it is not done, because of path.
func (c *copyOf) refused(want objstore.ID, path, reason string) {
	c.t.Helper()
	plan := c.plan(want)
	var paths []string
	for _, r := range plan.Refused {
		paths = append(paths, r.Path)
		if r.Path == path {
			assert.Contains(c.t, r.Reason, reason)
		}
	}
	assert.Contains(c.t, paths, path)
	before := files(c.t, c.Dir)
	err := c.Restore(c.t.Context(), plan)
	require.ErrorIs(c.t, err, jjbridge.ErrRefused)
	assert.Equal(c.t, before, files(c.t, c.Dir), "nothing is touched")
}

func TestWhatWasNotRecordedIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, change func(c *copyOf)
		path, reason   string
	}{
		"an ignored file where a file must come": {
			before: func(c *copyOf) { c.Write("out", "recorded\n") },
			change: func(c *copyOf) { c.Write(".gitignore", "out\n"); c.forget("out"); c.Write("out", "mine\n") },
			path:   "out", reason: "an ignored file is in the way",
		},
		"an ignored file where a folder must come": {
			before: func(c *copyOf) { c.Write("out/f", "recorded\n") },
			change: func(c *copyOf) { c.Write(".gitignore", "out\n"); c.forget("out"); c.Write("out", "mine\n") },
			path:   "out", reason: "an ignored file is in the way",
		},
		"an ignored file in a folder where a file must come": {
			before: func(c *copyOf) { c.Write("out", "recorded\n") },
			change: func(c *copyOf) {
				c.forget("out")
				c.Write(".gitignore", "*.o\n")
				c.Write("out/a.c", "recorded\n")
				c.Write("out/deep/a.o", "mine\n")
			},
			path: "out/deep/a.o", reason: "an ignored file is in the way",
		},
		"an ignored symbolic link where a folder must come": {
			before: func(c *copyOf) { c.Write("out/f", "recorded\n") },
			change: func(c *copyOf) {
				c.Write(".gitignore", "out\n")
				c.forget("out")
				require.NoError(c.t, os.MkdirAll(filepath.Join(c.Home, "elsewhere"), 0o777))
				c.link(filepath.Join(c.Home, "elsewhere"), "out")
			},
			path: "out", reason: "the path is a symbolic link, but the restore needs a folder",
		},
		"a repository where a file must come": {
			before: func(c *copyOf) { c.Write("inner", "recorded\n") },
			change: func(c *copyOf) {
				c.forget("inner")
				c.embed("inner")
			},
			path: "inner", reason: "the path is the folder of another repository",
		},
		"a repository where a folder must come": {
			before: func(c *copyOf) { c.Write("inner/f", "recorded\n") },
			change: func(c *copyOf) {
				c.forget("inner")
				c.embed("inner")
			},
			path: "inner", reason: "the path is the folder of another repository",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []repotest.Kind{repotest.Git, repotest.JJ} {
				t.Run(strings.ReplaceAll(string(kind), " ", "-"), func(t *testing.T) {
					t.Parallel()
					c := workingCopy(t, kind, repotest.NewKind(t, kind))
					tt.before(c)
					a := c.capture()
					tt.change(c)
					c.refused(a, tt.path, tt.reason)
				})
			}
		})
	}
}

// forget deletes a file or folder and lets captures see that it is gone.
func (c *copyOf) forget(name string) {
	c.t.Helper()
	c.remove(name)
	c.capture()
}

// embed makes a repository inside the working copy.
func (c *copyOf) embed(name string) {
	c.t.Helper()
	c.Write(name+"/mine", "mine\n")
	cmd := exec.Command("git", "init", "--quiet", c.path(name))
	cmd.Env = c.Env
	require.NoError(c.t, cmd.Run())
}

func TestAFileThatChangedSinceTheCaptureIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		for name, meddle := range map[string]func(c *copyOf){
			"changed":             func(c *copyOf) { c.Write("src/main.go", "mine\n") },
			"made a folder":       func(c *copyOf) { c.remove("src/main.go"); c.Write("src/main.go/f", "mine\n") },
			"new, in the way":     func(c *copyOf) { c.Write("gone", "mine\n") },
			"ignored, in the way": func(c *copyOf) { c.Write(".gitignore", "gone\n"); c.Write("gone", "mine\n") },
			"its folder moved":    func(c *copyOf) { c.remove("src"); c.Write("src", "mine\n") },
		} {
			c := workingCopy(t, kind, repo)
			c.remove("src")
			c.Write("README.md", "a\n")
			c.Write("gone", "a\n")
			c.Write("src/main.go", "a\n")
			a := c.capture()
			c.remove("gone")
			c.Write("README.md", "b\n")
			c.Write("src/main.go", "b\n")
			plan := c.plan(a)
			require.Empty(t, plan.Refused)
			meddle(c)
			before := files(t, c.Dir)
			err := c.Restore(t.Context(), plan)
			require.ErrorIs(t, err, jjbridge.ErrRefused, name)
			assert.Equal(t, before, files(t, c.Dir), name)
			c.remove("src")
			c.remove(".gitignore")
		}
	})
}

func TestAFileThatWasOnlyTouchedIsRestored(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		c := workingCopy(t, kind, repo)
		a, before := c.capture(), files(t, c.Dir)
		c.Write("src/main.go", "b\n")
		plan := c.plan(a)
		c.remove("src/main.go")
		c.Write("src/main.go", "b\n")
		require.NoError(t, c.Restore(t.Context(), plan))
		assert.Equal(t, before, files(t, c.Dir))
	})
}

func TestWhatIsIgnoredOrNotRecordedStays(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		c := workingCopy(t, kind, repo)
		c.Write(".gitignore", "*.o\nbuild/\n")
		c.Write("build/deep/out", "ignored\n")
		c.Write("src/main.o", "ignored\n")
		c.embed("inner")
		a := c.capture()
		c.remove("src/main.go")
		c.Write("build2/made", "recorded\n")
		c.Write("build2/a.o", "ignored\n")
		c.Write("folder/sub/made", "recorded\n")
		c.capture()
		c.restore(a)
		now := files(t, c.Dir)
		for _, name := range []string{"build/deep/out", "src/main.o", "build2/a.o"} {
			assert.Equal(t, "file: ignored\n", now[name], name)
		}
		assert.Equal(t, "file: mine\n", now["inner/mine"])
		assert.DirExists(t, c.path("inner/.git"))
		assert.NotContains(t, now, "build2/made")
		assert.NoDirExists(t, c.path("folder"), "folders that became empty go away")
	})
}

func TestNothingIsBegunWhenAnObjectIsMissing(t *testing.T) {
	t.Parallel()
	c := workingCopy(t, repotest.Git, repotest.New(t, repotest.Commit))
	c.Damaged()
	c.Write("README.md", "a\n")
	a := c.capture()
	c.Write("README.md", "b\n")
	blob := c.Git("rev-parse", a.String()+":README.md")
	// The object is in a pack of several, so a tree with another missing one serves.
	absent := strings.Repeat("1", len(blob))
	tree := c.GitInput(strings.ReplaceAll(c.Git("ls-tree", a.String())+"\n", blob, absent), "mktree", "--missing")
	want, err := objstore.ParseID(tree)
	require.NoError(t, err)
	_, err = c.Plan(t.Context(), c.captured(), want)
	require.ErrorIs(t, err, objstore.ErrNotFound)
	assert.ErrorContains(t, err, absent)
}

func TestATreeThatWouldWriteIntoARepositorysFoldersIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git", ".GIT", ".jj", ".Jj", "git~1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := workingCopy(t, repotest.Git, repotest.New(t, repotest.Commit))
			c.Damaged()
			blob := c.GitInput("evil\n", "hash-object", "-w", "--stdin")
			inner := c.GitInput("100644 blob "+blob+"\tconfig\n", "mktree")
			want, err := objstore.ParseID(c.GitInput("040000 tree "+inner+"\t"+name+"\n", "mktree"))
			require.NoError(t, err)
			before := files(t, c.Dir)
			err = c.Restore(t.Context(), c.plan(want))
			require.ErrorIs(t, err, jjbridge.ErrRefused)
			assert.Equal(t, before, files(t, c.Dir))
		})
	}
}

func TestAFolderThatCannotBeWrittenToRefusesTheWhole(t *testing.T) {
	t.Parallel()
	if !asNobody(t) {
		return
	}
	repo := repotest.New(t, repotest.Commit)
	c := workingCopy(t, repotest.Git, repo)
	a := c.capture()
	c.Write("README.md", "b\n")
	c.Write("src/main.go", "b\n")
	c.Write("notes/deep/new", "b\n")
	c.chmod(0o555, "src")
	c.chmod(0o555, "notes/deep")
	t.Cleanup(func() { // for the removal
		c.chmod(0o755, "src")
		c.chmod(0o755, "notes/deep")
	})
	c.refused(a, "src", "the folder cannot be written to")
	c.refused(a, "notes/deep", "the folder cannot be written to")
}
