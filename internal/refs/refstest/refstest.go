// Package refstest contains the tests that every way of moving refs in refs.DB must pass. Real git reads the resulting
// repository.
package refstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// Open opens the refs of a scratch repository, and closes them at the end of the test. If change is not nil,
// it can first change the options.
func Open(t testing.TB, repo *repotest.Repo, change func(*refs.Options)) *refs.DB {
	t.Helper()
	found, err := gitexec.Discover(t.Context(), repo.Dir, repo.Env)
	require.NoError(t, err)
	opts := refs.Options{Repo: found, Env: repo.Env}
	if change != nil {
		change(&opts)
	}
	db, err := refs.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// New returns a new scratch repository. The test fails if the repository has a ref lock at the end of the
// test.
func New(t testing.TB, opts ...repotest.Option) *repotest.Repo {
	t.Helper()
	repo := repotest.New(t, opts...)
	repo.OnCleanup(func(t testing.TB) {
		t.Helper()
		assert.Empty(t, Locks(t, repo), "no lock stays behind")
	})
	return repo
}

// Locks returns the paths of the ref locks in a repository.
func Locks(t testing.TB, repo *repotest.Repo) []string {
	t.Helper()
	var locks []string
	err := filepath.WalkDir(filepath.Join(repo.GitDir, "refs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") {
			locks = append(locks, path)
		}
		return err
	})
	require.NoError(t, err)
	if lock := LockPath(repo, ""); repotest.RefFormat() != "files" {
		if _, err := os.Lstat(lock); err == nil {
			locks = append(locks, lock)
		}
	}
	return locks
}

// LockPath returns the path of the lock of a ref. In a reftable repository, all refs have the same lock.
func LockPath(repo *repotest.Repo, name refs.Name) string {
	if repotest.RefFormat() != "files" {
		return filepath.Join(repo.GitDir, refs.TablesFolder, "tables.list.lock")
	}
	return RefPath(repo, name) + ".lock"
}

// Objects writes n different objects, which refs can have as targets, and returns their ids.
func Objects(t testing.TB, repo *repotest.Repo, n int) []objstore.ID {
	t.Helper()
	dir := t.TempDir()
	var paths strings.Builder
	for i := range n {
		path := filepath.Join(dir, strconv.Itoa(i))
		require.NoError(t, os.WriteFile(path, []byte("object "+strconv.Itoa(i)+"\n"), 0o666))
		paths.WriteString(path + "\n")
	}
	out := repo.GitInput(paths.String(), "hash-object", "-w", "--stdin-paths")
	var ids []objstore.ID
	for line := range strings.Lines(out + "\n") {
		ids = append(ids, ID(t, strings.TrimSpace(line)))
	}
	require.Len(t, ids, n)
	return ids
}

// ID returns the object id that s encodes.
func ID(t testing.TB, s string) objstore.ID {
	t.Helper()
	id, err := objstore.ParseID(s)
	require.NoError(t, err)
	return id
}

// Tip returns the name of a run's tip ref. It fails the test if the run id is invalid.
func Tip(t testing.TB, run string) refs.Name {
	t.Helper()
	name, err := refs.Tip(run)
	require.NoError(t, err)
	return name
}

// Frame returns the name of a run's frame ref. It fails the test if the run id or the number is invalid.
func Frame(t testing.TB, run string, frame int64) refs.Name {
	t.Helper()
	name, err := refs.Frame(run, frame)
	require.NoError(t, err)
	return name
}

// Want checks that both git and db find the ref at want or, if want is zero, that both find no ref.
func Want(t testing.TB, repo *repotest.Repo, db *refs.DB, name refs.Name, want objstore.ID) {
	t.Helper()
	got := repo.Git("for-each-ref", "--format=%(objectname)", string(name))
	id, err := db.Resolve(t.Context(), name)
	if want.IsZero() {
		assert.Empty(t, got, "git sees %s", name)
		assert.ErrorIs(t, err, refs.ErrNotFound)
		return
	}
	assert.Equal(t, want.String(), got, "git's %s", name)
	if assert.NoError(t, err) {
		assert.Equal(t, want, id, "our %s", name)
	}
}

// WriteRef puts content into a new file of a ref, without its lock.
func WriteRef(t testing.TB, repo *repotest.Repo, name refs.Name, content string) {
	t.Helper()
	repo.WriteRef(string(name), content)
}

// RefPath returns the path of the file of a loose ref.
func RefPath(repo *repotest.Repo, name refs.Name) string {
	return filepath.Join(repo.GitDir, filepath.FromSlash(string(name)))
}
