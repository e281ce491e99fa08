package refstest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// Opener opens the refs of a repository with a patience of some milliseconds, and closes them at the end of the
// test.
type Opener func(t testing.TB, repo *repotest.Repo) *refs.DB

var zero objstore.ID

// Run runs all tests of this package against the refs that open opens.
func Run(t *testing.T, open Opener) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Opener, bool){
		"moves refs that are where they are expected":   testMoves,
		"refuses refs that are elsewhere":               testConflicts,
		"is all or nothing":                             testAllOrNothing,
		"refuses broken refs, which can be removed":     testBroken,
		"refuses names that git cannot hold both of":    testObstructed,
		"waits for locks and leaves them alone":         testLocked,
		"has one winner when many want to move one ref": testRace,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("in files", func(t *testing.T) { t.Parallel(); test(t, open, false) })
			t.Run("packed", func(t *testing.T) { t.Parallel(); test(t, open, true) })
		})
	}
	t.Run("refuses updates that say nothing", func(t *testing.T) { t.Parallel(); testMalformed(t, open) })
	t.Run("obeys the context", func(t *testing.T) { t.Parallel(); testContext(t, open) })
	t.Run("does not care where it is", func(t *testing.T) { t.Parallel(); testPlaces(t, open) })
	t.Run("runs the hook", func(t *testing.T) { t.Parallel(); testHook(t, open) })
	t.Run("writes the reflogs that git would", func(t *testing.T) { t.Parallel(); testReflog(t, open) })
}

// fixture is a repository with a run that has one frame. The refs of the run are in files or packed.
type fixture struct {
	repo       *repotest.Repo
	db         *refs.DB
	ids        []objstore.ID
	tip, frame refs.Name // the refs of the tip and of frame 0, both at ids[0]
	next       refs.Name // the name of the ref for frame 1, which does not exist
}

// newFixture returns a fixture in a new repository. If packed is true, the refs of the run are packed.
func newFixture(t *testing.T, open Opener, packed bool) *fixture {
	t.Helper()
	repo := New(t)
	f := &fixture{
		repo: repo, ids: Objects(t, repo, 10),
		tip: Tip(t, "run"), frame: Frame(t, "run", 0), next: Frame(t, "run", 1),
	}
	repo.Git("update-ref", string(f.tip), f.ids[0].String())
	repo.Git("update-ref", string(f.frame), f.ids[0].String())
	if packed {
		repo.Git("pack-refs", "--all", "--prune")
	}
	f.db = open(t, repo)
	return f
}

// testMoves checks that Apply creates, moves and deletes refs, as db and git see them.
func testMoves(t *testing.T, open Opener, packed bool) {
	f := newFixture(t, open, packed)
	ctx := t.Context()

	require.NoError(t, f.db.Apply(ctx,
		refs.Update{Name: f.tip, Old: f.ids[0], New: f.ids[1]}, refs.Update{Name: f.next, New: f.ids[1]}))
	Want(t, f.repo, f.db, f.tip, f.ids[1])
	Want(t, f.repo, f.db, f.frame, f.ids[0])
	Want(t, f.repo, f.db, f.next, f.ids[1])

	require.NoError(t, f.db.Apply(ctx, refs.Update{Name: f.tip, Old: f.ids[1], New: f.ids[1]}), "to where it is")
	other := Frame(t, "Other/run", 7)
	require.NoError(t, f.db.Apply(ctx, refs.Update{Name: other, New: f.ids[2]}), "in a folder that has to be made")
	Want(t, f.repo, f.db, other, f.ids[2])

	require.NoError(t, f.db.Apply(ctx,
		refs.Update{Name: f.tip, Old: f.ids[1], New: f.ids[2]}, refs.Update{Name: f.frame, Old: f.ids[0]}))
	Want(t, f.repo, f.db, f.tip, f.ids[2])
	Want(t, f.repo, f.db, f.frame, zero)
	require.NoError(t, f.db.Apply(ctx, refs.Update{Name: f.frame, New: f.ids[3]}), "where one was deleted")
	Want(t, f.repo, f.db, f.frame, f.ids[3])
}

// testConflicts checks that Apply changes nothing and returns a *refs.ConflictError if a ref does not have
// its expected value.
func testConflicts(t *testing.T, open Opener, packed bool) {
	f := newFixture(t, open, packed)
	for name, tt := range map[string]struct {
		update refs.Update
		actual objstore.ID
	}{
		"create one that exists":                   {refs.Update{Name: f.tip, New: f.ids[1]}, f.ids[0]},
		"create one that exists as it should be":   {refs.Update{Name: f.tip, New: f.ids[0]}, f.ids[0]},
		"move one that is elsewhere":               {refs.Update{Name: f.tip, Old: f.ids[2], New: f.ids[1]}, f.ids[0]},
		"move one that is there already":           {refs.Update{Name: f.tip, Old: f.ids[2], New: f.ids[0]}, f.ids[0]},
		"move one that does not exist":             {refs.Update{Name: f.next, Old: f.ids[0], New: f.ids[1]}, zero},
		"delete one that is elsewhere":             {refs.Update{Name: f.frame, Old: f.ids[2]}, f.ids[0]},
		"delete one that does not exist":           {refs.Update{Name: f.next, Old: f.ids[2]}, zero},
		"move one in a folder that does not exist": {refs.Update{Name: Frame(t, "x", 0), Old: f.ids[2], New: f.ids[1]}, zero},
	} {
		t.Run(name, func(t *testing.T) {
			err := f.db.Apply(t.Context(), tt.update)
			require.ErrorIs(t, err, refs.ErrConflict)
			var conflict *refs.ConflictError
			require.ErrorAs(t, err, &conflict)
			assert.Equal(t, &refs.ConflictError{Name: tt.update.Name, Expected: tt.update.Old, Actual: tt.actual}, conflict)
			Want(t, f.repo, f.db, tt.update.Name, tt.actual)
		})
	}
}

// testAllOrNothing checks that Apply makes none of its updates, and leaves no lock, if one of them conflicts.
func testAllOrNothing(t *testing.T, open Opener, packed bool) {
	f := newFixture(t, open, packed)
	good := refs.Update{Name: f.tip, Old: f.ids[0], New: f.ids[1]}
	bad := refs.Update{Name: f.frame, New: f.ids[1]}
	for _, updates := range [][]refs.Update{{good, bad}, {bad, good}} {
		err := f.db.Apply(t.Context(), updates...)
		var conflict *refs.ConflictError
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, f.frame, conflict.Name)
		Want(t, f.repo, f.db, f.tip, f.ids[0])
		Want(t, f.repo, f.db, f.frame, f.ids[0])
		assert.Empty(t, Locks(t, f.repo))
	}
}

// testBroken checks that Resolve and Apply refuse a broken ref, and that RemoveBroken removes its file but
// keeps sound and symbolic refs.
func testBroken(t *testing.T, open Opener, packed bool) {
	f := newFixture(t, open, packed)
	ctx := t.Context()
	underneath := zero
	if packed {
		underneath = f.ids[0]
	}
	contents := map[string]string{
		"empty":          "",
		"garbage":        "garbage\n",
		"no line feed":   f.ids[1].String(),
		"two line feeds": f.ids[1].String() + "\n\n",
		"too short":      f.ids[1].String()[:39] + "\n",
		"the zero id":    zero.String() + "\n",
	}
	if repotest.RefFormat() != "files" {
		contents, underneath = nil, f.ids[0]
	}
	for name, content := range contents {
		WriteRef(t, f.repo, f.frame, content)
		_, err := f.db.Resolve(ctx, f.frame)
		require.ErrorIs(t, err, refs.ErrBroken, name)
		for _, old := range []objstore.ID{zero, f.ids[0]} {
			err := f.db.Apply(ctx, refs.Update{Name: f.frame, Old: old, New: f.ids[1]})
			var broken *refs.BrokenError
			require.ErrorAs(t, err, &broken, name)
			assert.Equal(t, f.frame, broken.Name)
			assert.Equal(t, RefPath(f.repo, f.frame), broken.Path)
		}
		require.NoError(t, f.db.RemoveBroken(ctx, f.frame), name)
		Want(t, f.repo, f.db, f.frame, underneath)
	}
	require.NoError(t, f.db.Apply(ctx, refs.Update{Name: f.frame, Old: underneath, New: f.ids[4]}))
	Want(t, f.repo, f.db, f.frame, f.ids[4])

	require.NoError(t, f.db.RemoveBroken(ctx, f.frame), "a good ref is left alone")
	Want(t, f.repo, f.db, f.frame, f.ids[4])
	require.NoError(t, f.db.RemoveBroken(ctx, Frame(t, "none", 0)), "so is none")

	f.repo.Git("symbolic-ref", string(f.next), string(f.tip))
	assert.ErrorIs(t, f.db.Apply(ctx, refs.Update{Name: f.next, New: f.ids[1]}), refs.ErrBroken)
	assert.ErrorIs(t, f.db.Apply(ctx, refs.Update{Name: f.next, Old: f.ids[0], New: f.ids[1]}), refs.ErrBroken)
	assert.ErrorIs(t, f.db.RemoveBroken(ctx, f.next), refs.ErrBroken, "somebody wanted a symbolic ref")
	assert.Equal(t, string(f.tip), f.repo.Git("symbolic-ref", string(f.next)))
	Want(t, f.repo, f.db, f.tip, f.ids[0])
}

// testObstructed checks that Apply refuses a ref whose name cannot exist beside that of another ref, and that
// empty folders are no obstacle.
func testObstructed(t *testing.T, open Opener, packed bool) {
	f := newFixture(t, open, packed)
	ctx := t.Context()
	f.repo.Git("update-ref", "refs/smithers/above", f.ids[0].String())
	f.repo.Git("update-ref", "refs/smithers/below/1/x/y", f.ids[0].String())
	if packed {
		f.repo.Git("pack-refs", "--all", "--prune")
	}
	for _, name := range []refs.Name{Frame(t, "above", 0), Frame(t, "below", 1)} {
		err := f.db.Apply(ctx, refs.Update{Name: f.tip, Old: f.ids[0], New: f.ids[1]}, refs.Update{Name: name, New: f.ids[1]})
		require.ErrorIs(t, err, refs.ErrObstructed, name)
		_, err = f.db.Resolve(ctx, name)
		require.ErrorIs(t, err, refs.ErrNotFound, name)
		Want(t, f.repo, f.db, f.tip, f.ids[0])
		assert.Empty(t, Locks(t, f.repo))
	}
	// Empty folders, which git sometimes leaves behind, do not obstruct a ref.
	if repotest.RefFormat() == "files" {
		require.NoError(t, os.MkdirAll(filepath.Join(RefPath(f.repo, f.next), "a", "b"), 0o777))
	}
	require.NoError(t, f.db.Apply(ctx, refs.Update{Name: f.next, New: f.ids[1]}))
	Want(t, f.repo, f.db, f.next, f.ids[1])
}

// testLocked checks that Apply returns refs.ErrLocked, and changes nothing, while another program holds the
// lock of a ref.
func testLocked(t *testing.T, open Opener, packed bool) {
	f := newFixture(t, open, packed)
	ctx := t.Context()
	lock := LockPath(f.repo, f.next)
	require.NoError(t, os.MkdirAll(filepath.Dir(lock), 0o777))
	require.NoError(t, os.WriteFile(lock, nil, 0o666))
	move := refs.Update{Name: f.tip, Old: f.ids[0], New: f.ids[1]}

	err := f.db.Apply(ctx, move, refs.Update{Name: f.next, New: f.ids[1]})

	require.ErrorIs(t, err, refs.ErrLocked)
	assert.Contains(t, err.Error(), lock)
	assert.Equal(t, []string{lock}, Locks(t, f.repo), "somebody else's lock stays, ours do not")
	Want(t, f.repo, f.db, f.tip, f.ids[0])
	err = f.db.Apply(ctx, refs.Update{Name: f.next, Old: f.ids[2], New: f.ids[1]})
	assert.ErrorIs(t, err, refs.ErrConflict, "no need to wait for a ref that is elsewhere")

	require.NoError(t, os.Remove(lock))
	require.NoError(t, f.db.Apply(ctx, move, refs.Update{Name: f.next, New: f.ids[1]}))
}

// testMalformed checks that invalid names, updates without values and two updates of one ref are errors.
func testMalformed(t *testing.T, open Opener) {
	repo := New(t)
	db, ids := open(t, repo), Objects(t, repo, 2)
	ctx := t.Context()
	for _, name := range []refs.Name{
		"", "refs/heads/main", "refs/smithers/run", "refs/smithers/run/x", "refs/smithers/run/01", "refs/smithers/_tip/",
		"refs/smithers/_tip/../../../HEAD", "refs/smithers/../1", "refs/smithers//1", "refs/smithers/run/1.lock",
	} {
		assert.ErrorIs(t, db.Apply(ctx, refs.Update{Name: name, New: ids[0]}), refs.ErrMalformed, name)
		assert.ErrorIs(t, db.RemoveBroken(ctx, name), refs.ErrMalformed, name)
		_, err := db.Resolve(ctx, name)
		assert.ErrorIs(t, err, refs.ErrMalformed, name)
	}
	assert.NoError(t, db.Apply(ctx), "no update at all is done at once")
	tip := Tip(t, "run")
	assert.Error(t, db.Apply(ctx, refs.Update{Name: tip}))
	assert.Error(t, db.Apply(ctx, refs.Update{Name: tip, New: ids[0]}, refs.Update{Name: tip, New: ids[0]}))
	Want(t, repo, db, tip, zero)
}

// testContext checks that Apply obeys an ended context, and that only Close makes later calls of Apply fail.
func testContext(t *testing.T, open Opener) {
	f := newFixture(t, open, false)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	move := refs.Update{Name: f.tip, Old: f.ids[0], New: f.ids[1]}

	require.ErrorIs(t, f.db.Apply(ended, move), context.Canceled)
	Want(t, f.repo, f.db, f.tip, f.ids[0])

	lock := LockPath(f.repo, f.tip)
	require.NoError(t, os.MkdirAll(filepath.Dir(lock), 0o777))
	require.NoError(t, os.WriteFile(lock, nil, 0o666))
	short, cancel := context.WithTimeout(t.Context(), 1)
	defer cancel()
	require.ErrorIs(t, f.db.Apply(short, move), context.DeadlineExceeded)
	require.NoError(t, os.Remove(lock))

	require.NoError(t, f.db.Apply(t.Context(), move), "a context that has ended does no lasting harm")
	require.NoError(t, f.db.Close())
	require.Error(t, f.db.Apply(t.Context(), refs.Update{Name: f.tip, Old: f.ids[1], New: f.ids[2]}), "after Close")
	require.NoError(t, f.db.Close(), "closing twice")
	Want(t, f.repo, f.db, f.tip, f.ids[1])
}

// testPlaces checks that refs can be moved in a bare repository and from a linked worktree.
func testPlaces(t *testing.T, open Opener) {
	t.Run("a bare repository", func(t *testing.T) {
		t.Parallel()
		repo := New(t, repotest.Bare)
		db, ids, tip := open(t, repo), Objects(t, repo, 1), Tip(t, "run")
		require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, New: ids[0]}))
		Want(t, repo, db, tip, ids[0])
	})
	t.Run("a linked worktree", func(t *testing.T) {
		t.Parallel()
		repo := New(t, repotest.Commit)
		linked := filepath.Join(filepath.Dir(repo.Dir), "linked")
		repo.Git("worktree", "add", "--quiet", linked)
		main, ids, tip := open(t, repo), Objects(t, repo, 1), Tip(t, "run")
		inLinked := *repo
		inLinked.Dir = linked
		db := open(t, &inLinked)
		require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, New: ids[0]}))
		Want(t, repo, main, tip, ids[0])
	})
}

// testHook checks that Apply runs the hook reference-transaction: from its usual folder, from a folder in core.hooksPath and, with a git that
// knows such hooks, from the configuration.
func testHook(t *testing.T, open Opener) {
	for name, hook := range map[string]string{
		"in its usual place":   ".git/hooks/reference-transaction",
		"elsewhere":            "my/hooks/reference-transaction",
		"in the configuration": "my/program",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := New(t)
			path := filepath.Join(repo.Dir, filepath.FromSlash(hook))
			switch name {
			case "elsewhere":
				repo.Git("config", "core.hooksPath", "my/hooks")
			case "in the configuration":
				repo.UseNewerGit()
				repo.Git("config", "hook.log.event", "reference-transaction")
				repo.Git("config", "hook.log.command", "'"+path+"'")
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
			log := filepath.Join(repo.Home, "log")
			script := "#!/bin/sh\necho $1 >>'" + log + "'\ncat >>'" + log + "'\n"
			require.NoError(t, os.WriteFile(path, []byte(script), 0o777))
			db, ids, tip := open(t, repo), Objects(t, repo, 1), Tip(t, "run")

			require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, New: ids[0]}))

			logged, err := os.ReadFile(log)
			require.NoError(t, err)
			line := strings.Repeat("0", len(ids[0].String())) + " " + ids[0].String() + " " + string(tip) + "\n"
			assert.Contains(t, string(logged), "prepared\n"+line)
			assert.Contains(t, string(logged), "committed\n"+line)
		})
	}
}

// testReflog checks that Apply writes a reflog if git's configuration asks for it, and continues an existing
// one.
func testReflog(t *testing.T, open Opener) {
	repo := New(t)
	repo.Git("config", "core.logAllRefUpdates", "always")
	db, ids, tip := open(t, repo), Objects(t, repo, 2), Tip(t, "run")
	require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, New: ids[0]}))

	repo.Git("config", "core.logAllRefUpdates", "true")
	later := open(t, repo)
	require.NoError(t, later.Apply(t.Context(), refs.Update{Name: tip, Old: ids[0], New: ids[1]}))

	logged := repo.Git("rev-parse", string(tip)+"@{0}", string(tip)+"@{1}")
	assert.Equal(t, ids[1].String()+"\n"+ids[0].String(), logged, "git goes on with a reflog that exists")
}
