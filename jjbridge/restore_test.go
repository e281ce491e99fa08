package jjbridge_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
)

// copyOf is a working copy under test.
type copyOf struct {
	*repotest.Repo
	*jjbridge.Workspace

	t    testing.TB
	kind repotest.Kind
}

func workingCopy(t testing.TB, kind repotest.Kind, repo *repotest.Repo) *copyOf {
	t.Helper()
	w, err := jjbridge.Locate(t.Context(), repo.Dir, repo.Env)
	require.NoError(t, err)
	return &copyOf{Repo: repo, Workspace: w, t: t, kind: kind}
}

// capture captures the working copy and keeps it in the repository, as a frame does.
func (c *copyOf) capture() objstore.ID {
	c.t.Helper()
	captured := c.captured()
	c.keep(captured)
	return captured.VCS.Tree
}

func (c *copyOf) captured() *jjbridge.CapturedFiles {
	c.t.Helper()
	captured, err := c.Capture(c.t.Context(), jjbridge.CaptureOptions{})
	require.NoError(c.t, err)
	c.t.Cleanup(func() { assert.NoError(c.t, captured.Close()) })
	return captured
}

// keep stores the captured objects below a ref.
func (c *copyOf) keep(captured *jjbridge.CapturedFiles) {
	c.t.Helper()
	store, err := objstore.Open(objstore.Options{
		Hash:       objstore.AlgorithmOf(repotest.ObjectFormat()),
		ObjectsDir: filepath.Join(c.Workspace.Repo.CommonDir, "objects"),
		TempDir:    filepath.Join(c.Workspace.Repo.CommonDir, "smithers", "tmp"),
	})
	require.NoError(c.t, err)
	defer func() { assert.NoError(c.t, store.Close()) }()
	batch := store.Begin()
	require.NoError(c.t, captured.Objects(batch))
	tree := captured.VCS.Tree.String()
	require.NoError(c.t, batch.Commit(c.t.Context(), func() error {
		_, err := c.GitErr("update-ref", "refs/kept/"+tree, c.Git("commit-tree", "-m", "kept", tree))
		return err
	}))
}

// plan captures the working copy and plans how to make it the tree want.
func (c *copyOf) plan(want objstore.ID) *jjbridge.Plan {
	c.t.Helper()
	have := c.captured()
	plan, err := c.Plan(c.t.Context(), have, want)
	require.NoError(c.t, err)
	c.keep(have)
	return plan
}

// restore makes the working copy the tree want, as timeline does.
func (c *copyOf) restore(want objstore.ID) {
	c.t.Helper()
	plan := c.plan(want)
	require.Empty(c.t, plan.Refused)
	require.NoError(c.t, c.Restore(c.t.Context(), plan))
}

// path is a file of the working copy.
func (c *copyOf) path(name string) string { return filepath.Join(c.Dir, filepath.FromSlash(name)) }

func (c *copyOf) remove(name string) {
	c.t.Helper()
	require.NoError(c.t, os.RemoveAll(c.path(name)))
}

func (c *copyOf) link(target, name string) {
	c.t.Helper()
	require.NoError(c.t, os.MkdirAll(filepath.Dir(c.path(name)), 0o777))
	require.NoError(c.t, os.Symlink(target, c.path(name)))
}

func (c *copyOf) chmod(mode fs.FileMode, name string) {
	c.t.Helper()
	require.NoError(c.t, os.Chmod(c.path(name), mode))
}

// files is every file below dir but those of git and jj: what it is, and what is in it.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if base := filepath.Base(name); base == ".git" || base == ".jj" {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir():
			return nil
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[name] = "link to " + target
			return err
		}
		content, err := os.ReadFile(path)
		found[name] = "file: " + string(content)
		if info.Mode()&0o100 != 0 {
			found[name] = "program: " + string(content)
		}
		return err
	}))
	return found
}

// checkout is what git itself checks out of a tree.
func (c *copyOf) checkout(tree objstore.ID) map[string]string {
	c.t.Helper()
	dir := c.t.TempDir()
	for _, args := range [][]string{
		{"read-tree", tree.String()},
		{"checkout-index", "--all", "--prefix=" + dir + "/"},
	} {
		cmd := exec.Command("git", append([]string{"--git-dir=" + c.Workspace.Repo.GitDir, "--work-tree=" + c.Dir}, args...)...)
		cmd.Dir, cmd.Env = c.Dir, append(c.Env, "GIT_INDEX_FILE="+filepath.Join(c.Home, "checkout.index"))
		out, err := cmd.CombinedOutput()
		require.NoError(c.t, err, "%s", out)
	}
	require.NoError(c.t, os.Remove(filepath.Join(c.Home, "checkout.index")))
	return files(c.t, dir)
}

// track writes a file that jj is to track, however large it is.
func (c *copyOf) track(name, content string) {
	c.t.Helper()
	c.Write(name, content)
	if c.kind.IsJJ() {
		c.JJ("log", "--revisions=@", "--no-graph", "--config=snapshot.max-new-file-size=1000000000", "--template=commit_id")
	}
}
