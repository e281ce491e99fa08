package refs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/refs"
)

func TestStaleLocks(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	noted := "1111111111111111111111111111111111111111"
	for name, tt := range map[string]struct {
		lock    string
		removed bool
	}{
		"a lock with what was noted is removed":              {noted + "\n", true},
		"a lock that nobody wrote more into is removed":      {"", true},
		"a lock that was being written is removed":           {noted[:7], true},
		"a lock with something else is somebody else's":      {"2" + noted[1:] + "\n", false},
		"a lock with more than was noted is somebody's else": {noted + "\n\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := refstest.New(t)
			id := refstest.Objects(t, repo, 1)[0]
			tip := refstest.Tip(t, "run")
			lock := refstest.RefPath(repo, tip+".lock")
			note := filepath.Join(repo.GitDir, "smithers", "locks", "1-deadbeef")
			db := refstest.Open(t, repo, func(o *refs.Options) { o.Patience = shortPatience })
			require.NoError(t, os.MkdirAll(filepath.Dir(note), 0o777))
			require.NoError(t, os.WriteFile(note, []byte("locks\n"+noted+" "+string(tip)+"\nend\n"), 0o666))
			refstest.WriteRef(t, repo, tip+".lock", tt.lock)

			err := db.Apply(t.Context(), refs.Update{Name: tip, New: id})

			assert.NoFileExists(t, note)
			if tt.removed {
				require.NoError(t, err)
				refstest.Want(t, repo, db, tip, id)
				return
			}
			require.ErrorIs(t, err, refs.ErrLocked)
			require.NoError(t, os.Remove(lock))
		})
	}
}

func TestNotesOfTheLivingAndTornNotesAreLeftAlone(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	ids := refstest.Objects(t, repo, 2)
	tip := refstest.Tip(t, "run")
	var other *refs.DB
	tries := 0
	db := refstest.Open(t, repo, func(o *refs.Options) {
		o.Patience = shortPatience
		o.Failpoint = func(name string) error {
			if name != refs.FailRefsLocked {
				return nil
			}
			// While this one has the lock, another finds it in its way.
			tries++
			assert.ErrorIs(t, other.Apply(t.Context(), refs.Update{Name: tip, New: ids[1]}), refs.ErrLocked)
			assert.NoError(t, other.RecoverLocks(t.Context()))
			return nil
		}
	})
	other = refstest.Open(t, repo, func(o *refs.Options) { o.Patience = shortPatience })

	require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, New: ids[0]}))

	assert.Equal(t, 1, tries)
	refstest.Want(t, repo, db, tip, ids[0])
}

func TestRecoverLocksSettlesTornLocks(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	tip := refstest.Tip(t, "run")
	note := filepath.Join(repo.GitDir, "smithers", "locks", "1-deadbeef")
	require.NoError(t, os.MkdirAll(filepath.Dir(note), 0o777))
	require.NoError(t, os.WriteFile(note, []byte("locks\nabc "+string(tip)+"\nend\n"), 0o666))
	refstest.WriteRef(t, repo, tip+".lock", "")
	db := refstest.Open(t, repo, func(o *refs.Options) { o.Patience = shortPatience })

	require.NoError(t, db.RecoverLocks(t.Context()))

	assert.NoFileExists(t, note)
	assert.Empty(t, refstest.Locks(t, repo))
}

// watchedFS tells of each file that is about to be opened.
type watchedFS struct {
	fsx.OS

	opens func(path string)
}

func (w watchedFS) OpenFile(path string, flag int, perm fs.FileMode) (fsx.File, error) {
	w.opens(path)
	return w.OS.OpenFile(path, flag, perm)
}

func TestALockOfTheDeadIsRemovedThoughSomebodyElseLookedAtItAtFirst(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	id := refstest.Objects(t, repo, 1)[0]
	tip := refstest.Tip(t, "run")
	lock := refstest.RefPath(repo, tip+".lock")
	note := filepath.Join(repo.GitDir, "smithers", "locks", "1-deadbeef")
	require.NoError(t, os.MkdirAll(filepath.Dir(note), 0o777))
	require.NoError(t, os.WriteFile(note, []byte("locks\n"+id.String()+" "+string(tip)+"\nend\n"), 0o666))
	refstest.WriteRef(t, repo, tip+".lock", "")
	looker := flock.New(note, flock.SetFlag(os.O_RDWR))
	looks, err := looker.TryLock()
	require.NoError(t, err)
	require.True(t, looks)
	tries := 0
	db := refstest.Open(t, repo, func(o *refs.Options) {
		o.Patience = shortPatience
		o.FS = watchedFS{opens: func(path string) {
			if path != lock {
				return
			}
			if tries++; tries == 2 { // it has looked, and found its owner at work
				assert.NoError(t, looker.Close())
			}
		}}
	})

	require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, New: id}))

	refstest.Want(t, repo, db, tip, id)
	assert.NoFileExists(t, note)
}
