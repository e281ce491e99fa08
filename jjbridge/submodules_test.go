package jjbridge_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
)

// withSubmodule makes a working copy with a submodule in sub, which itself has one in
// sub/nested, and captures it twice: on the first commit of each, and on the second.
func withSubmodule(t *testing.T, kind repotest.Kind) (c *copyOf, first, second objstore.ID) {
	t.Helper()
	nested, inner := repotest.New(t, repotest.Commit), repotest.New(t, repotest.Commit)
	inner.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", nested.Dir, "nested")
	inner.Git("commit", "--quiet", "--message=with nested")
	c = workingCopy(t, kind, repotest.NewKind(t, kind))
	c.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Dir, "sub")
	c.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
	c.Git("commit", "--quiet", "--message=with sub")
	first = c.capture()
	for _, dir := range []string{"sub/nested", "sub"} {
		c.Write(dir+"/README.md", "second\n")
		c.Write(dir+"/second", "second\n")
		c.in(dir, "add", "--all")
		c.in(dir, "commit", "--quiet", "--message=second")
	}
	return c, first, c.capture()
}

// in runs git in a folder of the working copy.
func (c *copyOf) in(dir string, args ...string) string {
	c.t.Helper()
	out, err := c.GitIn(c.path(dir), args...)
	require.NoError(c.t, err)
	return out
}

func TestSubmodulesAreCheckedOut(t *testing.T) {
	t.Parallel()
	for _, kind := range []repotest.Kind{repotest.Git, repotest.GitWorktree} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c, first, second := withSubmodule(t, kind)
			after := files(t, c.Dir)
			c.Write("sub/untracked", "mine\n")
			c.restore(first)
			assert.Equal(t, "file: # A scratch repository\n", files(t, c.Dir)["sub/README.md"])
			assert.Equal(t, "file: # A scratch repository\n", files(t, c.Dir)["sub/nested/README.md"])
			assert.Equal(t, "file: mine\n", files(t, c.Dir)["sub/untracked"])
			assert.Equal(t, "?? untracked", c.in("sub", "status", "--porcelain"))
			assert.Equal(t, first, c.capture())
			c.remove("sub/untracked")
			c.restore(second)
			assert.Equal(t, after, files(t, c.Dir))
			assert.Equal(t, second, c.capture())
		})
	}
}

func TestSubmodulesWithWorkInThemAreNotMoved(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change       func(c *copyOf)
		path, reason string
	}{
		"a change":            {func(c *copyOf) { c.Write("sub/src/main.go", "mine\n") }, "sub", "uncommitted changes"},
		"a staged change":     {func(c *copyOf) { c.Write("sub/x", "mine\n"); c.in("sub", "add", "x") }, "sub", "uncommitted changes"},
		"a change in another": {func(c *copyOf) { c.Write("sub/nested/src/main.go", "mine\n") }, "sub", "uncommitted changes"},
		"a file in the way": {func(c *copyOf) {
			c.in("sub", "rm", "--quiet", "src/main.go")
			c.in("sub", "commit", "--quiet", "--message=third")
			c.capture()
			c.Write("sub/src/main.go", "mine\n")
		}, "sub/src/main.go", "in the way"},
		"an ignored file in the way": {func(c *copyOf) {
			c.Write("sub/.gitignore", "*.go\n")
			c.in("sub", "rm", "--quiet", "src/main.go")
			c.in("sub", "add", ".gitignore")
			c.in("sub", "commit", "--quiet", "--message=third")
			c.capture()
			c.Write("sub/src/main.go", "mine\n")
		}, "sub/src/main.go", "in the way"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, _ := withSubmodule(t, repotest.Git)
			tt.change(c)
			c.refused(first, tt.path, tt.reason)
		})
	}
}

func TestASubmoduleWithoutTheCommitIsNotMoved(t *testing.T) {
	t.Parallel()
	c, _, second := withSubmodule(t, repotest.Git)
	absent := strings.Repeat("12", len(c.Git("rev-parse", "HEAD"))/2)
	want, err := objstore.ParseID(c.GitInput("160000 commit "+absent+"\tsub\n", "mktree", "--missing"))
	require.NoError(t, err)
	c.refused(want, "sub", "no commit "+absent)
	assert.Equal(t, second, c.capture())
}

func TestASubmoduleThatIsNotInitialisedStaysSo(t *testing.T) {
	t.Parallel()
	c, first, second := withSubmodule(t, repotest.Git)
	c.in("sub", "fetch", "--quiet", "--all")
	c.Git("submodule", "--quiet", "deinit", "--force", "sub")
	c.restore(first)
	entries, err := os.ReadDir(c.path("sub"))
	require.NoError(t, err)
	assert.Empty(t, entries)
	c.restore(second)
}

func TestASubmoduleIsAddedAndRemoved(t *testing.T) {
	t.Parallel()
	c, first, _ := withSubmodule(t, repotest.Git)
	c.Git("submodule", "--quiet", "deinit", "--force", "sub")
	c.remove("sub")
	without := c.capture()
	c.restore(first)
	assert.DirExists(t, c.path("sub"))
	c.restore(without)
	assert.NoDirExists(t, c.path("sub"))
	c.restore(first)
	c.remove("sub")
	c.Write("sub", "file\n")
	asFile := c.capture()
	c.restore(first)
	assert.DirExists(t, c.path("sub"))
	c.restore(asFile)
	assert.Equal(t, "file: file\n", files(t, c.Dir)["sub"])
}
