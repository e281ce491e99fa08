package refs_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// TestNothingIsWrittenAfterAMigration moves the refs of a repository into a reftable beside a DB that is open. What the DB has written
// is there, and it writes nothing more, by either writer: neither a ref nor a folder below refs.
func TestNothingIsWrittenAfterAMigration(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	for _, native := range []bool{false, true} {
		repo := refstest.New(t)
		repo.UseNewerGit()
		ids := refstest.Objects(t, repo, 2)
		db := refstest.Open(t, repo, func(o *refs.Options) { o.NativeOnly = native })
		tip := refstest.Tip(t, "a")
		require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, New: ids[0]}))
		repo.Git("refs", "migrate", "--ref-format=reftable")
		before := names(t, filepath.Join(repo.Dir, ".git", "refs"))

		for _, update := range []refs.Update{
			{Name: tip, Old: ids[0], New: ids[1]}, {Name: refstest.Frame(t, "a", 0), New: ids[0]}, {Name: refstest.Tip(t, "b"), New: ids[0]},
		} {
			require.ErrorIs(t, db.Apply(t.Context(), update), refs.ErrUnsupported)
		}
		assert.Equal(t, before, names(t, filepath.Join(repo.Dir, ".git", "refs")))
		assert.Equal(t, ids[0].String(), repo.Git("rev-parse", string(tip)))
		repo.Git("refs", "verify", "--strict")
		repo.Git("refs", "migrate", "--ref-format=files") // the check at the end of the test reads files
	}
}

// TestNothingIsWrittenAfterAMigrationOutOfAReftable is the same in the other direction.
func TestNothingIsWrittenAfterAMigrationOutOfAReftable(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	repo.UseNewerGit()
	ids := refstest.Objects(t, repo, 2)
	repo.Git("refs", "migrate", "--ref-format=reftable")
	db, err := refs.Open(refs.Options{Repo: gitexec.Repo{CommonDir: repo.GitDir, ObjectFormat: repotest.ObjectFormat(), RefFormat: refs.TablesFolder}, Env: repo.Env})
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	tip := refstest.Tip(t, "a")
	require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, New: ids[0]}))
	repo.Git("refs", "migrate", "--ref-format=files")

	require.ErrorIs(t, db.Apply(t.Context(), refs.Update{Name: tip, Old: ids[0], New: ids[1]}), refs.ErrUnsupported)
	_, err = db.Resolve(t.Context(), tip)
	require.ErrorIs(t, err, refs.ErrUnsupported)
	assert.NoDirExists(t, filepath.Join(repo.GitDir, refs.TablesFolder))
	assert.Equal(t, ids[0].String(), repo.Git("rev-parse", string(tip)))
}

// TestAMigrationThatBeginsDuringAWrite begins a migration at each point of a write. Nothing is acknowledged: before the refs move, they
// stay as they are, and afterwards git may have left them out.
func TestAMigrationThatBeginsDuringAWrite(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	for _, point := range []string{refs.FailRefsLocked, refs.FailBetweenRenames} {
		repo := refstest.New(t)
		ids := refstest.Objects(t, repo, 1)
		begun := filepath.Join(repo.Dir, ".git", "ref_migration.AAAAAA")
		db := refstest.Open(t, repo, func(o *refs.Options) {
			o.Failpoint = func(name string) error {
				if name != point {
					return nil
				}
				return os.Mkdir(begun, 0o777)
			}
		})
		tip, frame := refstest.Tip(t, "a"), refstest.Frame(t, "a", 0)
		err := db.Apply(t.Context(), refs.Update{Name: tip, New: ids[0]}, refs.Update{Name: frame, New: ids[0]})
		require.ErrorIs(t, err, refs.ErrUnsupported, point)
		require.NoError(t, os.Remove(begun))
		if point == refs.FailRefsLocked {
			refstest.Want(t, repo, db, tip, objstore.ID{})
		}
		assert.Empty(t, refstest.Locks(t, repo))
	}
}

// TestAFolderThatAMigrationLeftBehindIsNoMigration: git refs migrate --dry-run leaves one.
func TestAFolderThatAMigrationLeftBehindIsNoMigration(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	ids := refstest.Objects(t, repo, 1)
	db := refstest.Open(t, repo, func(*refs.Options) {})
	left := filepath.Join(repo.Dir, ".git", "ref_migration.AAAAAA")
	require.NoError(t, os.Mkdir(left, 0o777))
	require.ErrorIs(t, db.Apply(t.Context(), refs.Update{Name: refstest.Tip(t, "a"), New: ids[0]}), refs.ErrUnsupported)
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(left, long, long))
	require.NoError(t, db.Apply(t.Context(), refs.Update{Name: refstest.Tip(t, "a"), New: ids[0]}))
	refstest.Want(t, repo, db, refstest.Tip(t, "a"), ids[0])
}

// names returns the names of everything in a folder.
func names(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		found = append(found, path)
		return err
	}))
	return found
}
