package worktrees_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

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
