package reftable_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/objstore"
)

// TestGitReadsWhatWeAppend creates, moves and deletes refs among refs of git, and lets git rewrite everything.
func TestGitReadsWhatWeAppend(t *testing.T) {
	t.Parallel()
	for name, hash := range algorithms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, hash)
			ids := s.ids(3)
			s.Git("tag", "--annotate", "--message=x", "v1", ids[0].String())
			s.mustAppend(
				reftable.Change{Name: "refs/smithers/b/tip", New: ids[0]},
				reftable.Change{Name: "refs/smithers/a/tip", New: ids[1]},
			)
			s.want("refs/smithers/a/tip", ids[1])
			s.wantSame(t)
			s.mustAppend(
				reftable.Change{Name: "refs/smithers/a/tip", Old: ids[1], New: ids[2]},
				reftable.Change{Name: "refs/smithers/a/1", New: ids[2]},
				reftable.Change{Name: "refs/smithers/b/tip", Old: ids[0]},
			)
			s.want("refs/smithers/b/tip", objstore.ID{})
			s.want("refs/smithers/a/tip", ids[2])
			s.wantSame(t)
			s.wantSound(t)
			for _, args := range [][]string{{"refs", "optimize", "--auto"}, {"pack-refs", "--all"}, {"gc", "--quiet"}} {
				s.mustAppend(reftable.Change{Name: "refs/smithers/c/" + args[0], New: ids[0]})
				s.Git(args...)
				s.wantSame(t)
			}
			s.Git("update-ref", "refs/smithers/a/tip", ids[0].String(), ids[2].String())
			s.mustAppend(reftable.Change{Name: "refs/smithers/a/tip", Old: ids[0], New: ids[1]})
			s.wantSame(t)
			s.wantNoLitter()
			s.Git("fsck", "--strict")
		})
	}
}

// TestManyAppendsKeepTheStackSmall appends and deletes refs, as many as several merges need, and git compares everything.
func TestManyAppendsKeepTheStackSmall(t *testing.T) {
	t.Parallel()
	for name, hash := range algorithms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, hash)
			ids := s.ids(2)
			tip, old := "refs/smithers/a/tip", objstore.ID{}
			opts := s.options()
			opts.Sync = false
			most := 0
			for i := range 1_200 {
				changes := []reftable.Change{
					{Name: tip, Old: old, New: ids[i%2]},
					{Name: fmt.Sprintf("refs/smithers/a/%d", i), New: ids[i%2]},
				}
				if old = ids[i%2]; i%3 == 2 {
					changes = append(changes, reftable.Change{Name: fmt.Sprintf("refs/smithers/a/%d", i-1), Old: ids[(i-1)%2]})
				}
				view, err := s.Append(t.Context(), changes, opts)
				require.NoError(t, err)
				most = max(most, strings.Count(view.Text(), "\n"))
			}
			assert.LessOrEqual(t, most, 24)
			assert.Greater(t, most, 8)
			s.want("refs/smithers/a/1198", objstore.ID{})
			s.want("refs/smithers/a/1199", ids[1])
			s.wantNoLitter()
			s.wantSame(t)
		})
	}
}

// TestTablesOfManySizesAreMerged appends tables from the biggest to the smallest, which is what keeps most tables on the list.
func TestTablesOfManySizesAreMerged(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	id := s.ids(1)[0]
	opts := s.options()
	opts.Sync = false
	most, n := 0, 0
	for _, count := range []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9_000, 3_000, 1_000, 333, 111, 37, 12, 4, 1, 1, 1, 1, 700, 1, 1, 1, 1} {
		changes := make([]reftable.Change, count)
		for i := range changes {
			n++
			changes[i] = reftable.Change{Name: fmt.Sprintf("refs/many/%06d", n), New: id}
		}
		view, err := s.Append(t.Context(), changes, opts)
		require.NoError(t, err)
		most = max(most, strings.Count(view.Text(), "\n"))
	}
	assert.LessOrEqual(t, most, 24)
	s.wantNoLitter()
	s.wantSame(t)
}

// TestAllRefsCanBeDeleted: the merge of the lowest tables drops the deletions, and then the list has no table.
func TestAllRefsCanBeDeleted(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	id := s.ids(1)[0]
	s.Damaged() // without HEAD, there is nothing to check at the end
	require.NoError(t, os.WriteFile(s.List(), nil, 0o666))
	for _, name := range s.files() {
		if name != "tables.list" {
			require.NoError(t, os.Remove(filepath.Join(s.dir, name)))
		}
	}
	for range 40 {
		s.mustAppend(reftable.Change{Name: "refs/x/a", New: id})
		s.mustAppend(reftable.Change{Name: "refs/x/a", Old: id})
		s.want("refs/x/a", objstore.ID{})
		assert.LessOrEqual(t, s.tables(), 16)
		assert.Empty(t, s.Git("for-each-ref"))
	}
	s.wantNoLitter()
}

// TestTablesWithReflogsAreLeftAlone, and so are tables that git is merging now.
func TestTablesWithReflogsAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	ids := s.ids(1)
	s.Git("update-ref", "--create-reflog", "refs/x/logged", ids[0].String())
	logged := s.look().Text()
	add := func(from, to int) {
		for i := from; i < to; i++ {
			s.mustAppend(reftable.Change{Name: fmt.Sprintf("refs/y/%d", i), New: ids[0]})
		}
	}
	add(0, 10)
	newest := strings.Fields(s.look().Text())
	merging := filepath.Join(s.dir, newest[len(newest)-1])
	require.NoError(t, os.WriteFile(merging+".lock", nil, 0o666))
	add(10, 40)
	assert.True(t, strings.HasPrefix(s.look().Text(), strings.Join(newest, "\n")+"\n"))
	assert.LessOrEqual(t, s.tables(), 24+len(newest))
	require.NoError(t, os.Remove(merging+".lock"))
	add(40, 60)
	assert.True(t, strings.HasPrefix(s.look().Text(), logged))
	assert.NotContains(t, s.look().Text(), newest[len(newest)-1])
	has, err := s.look().HasLog("refs/x/logged\x00")
	require.NoError(t, err)
	assert.True(t, has)
	s.wantSame(t)
}

// TestARefThatHasMovedIsNotOverwritten, and neither is a symbolic ref.
func TestARefThatHasMovedIsNotOverwritten(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	ids := s.ids(2)
	s.Git("symbolic-ref", "refs/x/symbolic", "refs/heads/main")
	s.mustAppend(reftable.Change{Name: "refs/x/a", New: ids[0]})
	before := s.look().Text()
	for _, change := range []reftable.Change{
		{Name: "refs/x/a", New: ids[1]},
		{Name: "refs/x/a", Old: ids[1], New: ids[0]},
		{Name: "refs/x/a", Old: ids[1]},
		{Name: "refs/x/none", Old: ids[0], New: ids[1]},
		{Name: "refs/x/symbolic", New: ids[0]},
	} {
		_, err := s.Append(t.Context(), []reftable.Change{{Name: "refs/w", New: ids[0]}, change}, s.options())
		var mismatch *reftable.MismatchError
		require.ErrorAs(t, err, &mismatch)
		require.ErrorIs(t, err, reftable.ErrMismatch)
		assert.Equal(t, change.Name, mismatch.Name)
		assert.Equal(t, mismatch.Expected, change.Old)
		found, _, err := s.look().Get(change.Name)
		require.NoError(t, err)
		assert.Equal(t, found, mismatch.Found)
	}
	assert.Equal(t, before, s.look().Text())
	s.wantNoLitter()
}

// TestARefIsNoFolderOfAnother: tables accept refs/x/a beside refs/x/a/b, and git does not.
func TestARefIsNoFolderOfAnother(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	id := s.ids(1)[0]
	create := func(name string) reftable.Change { return reftable.Change{Name: name, New: id} }
	remove := func(name string) reftable.Change { return reftable.Change{Name: name, Old: id} }
	s.Git("update-ref", "refs/x/a", id.String())
	s.mustAppend(create("refs/x/b/c/d"), create("refs/x/a.b"), create("refs/x/b-/c"))
	for _, changes := range [][]reftable.Change{
		{create("refs/x/a/b")},
		{create("refs/x/a/b/c")},
		{create("refs/x/b")},
		{create("refs/x/b/c")},
		{create("refs/x")},
		{create("refs/y"), create("refs/y/z")},
		{create("refs/y/z/1"), create("refs/y/z")},
		{create("refs/x/b"), remove("refs/x/a")},
	} {
		_, err := s.Append(t.Context(), changes, s.options())
		var obstructed *reftable.ObstructedError
		require.ErrorAs(t, err, &obstructed, changes)
		require.ErrorIs(t, err, reftable.ErrObstructed)
	}
	s.wantSame(t)
	s.mustAppend(remove("refs/x/a"), create("refs/x/a/b"))
	s.mustAppend(create("refs/x/b"), remove("refs/x/b/c/d"))
	s.mustAppend(remove("refs/x/b"))
	s.mustAppend(create("refs/x/b/c"))
	s.wantSame(t)
}

// TestAppendsThatNoTableCanHaveAreErrors.
func TestAppendsThatNoTableCanHaveAreErrors(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	id := s.ids(1)[0]
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, changes := range [][]reftable.Change{
		nil,
		{{Name: "", New: id}},
		{{Name: strings.Repeat("x", 1<<20), New: id}},
		{{Name: "refs/x/a", New: id}, {Name: "refs/x/a", New: id}},
		{{Name: "refs/x/a", New: objstore.SHA256.EmptyBlob()}},
	} {
		_, err := s.Append(t.Context(), changes, s.options())
		require.Error(t, err)
	}
	_, err := s.Append(ended, []reftable.Change{{Name: "refs/x/a", New: id}}, s.options())
	require.ErrorIs(t, err, context.Canceled)
	_, err = reftable.Open(filepath.Join(s.dir, "none"), s.hash).Append(t.Context(), []reftable.Change{{Name: "refs/x/a", New: id}}, s.options())
	require.ErrorIs(t, err, reftable.ErrAbsent)
	s.wantNoLitter()
}

// TestTheGuardAndReadyRunUnderTheLock, and their errors end the append.
func TestTheGuardAndReadyRunUnderTheLock(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	id, stop := s.ids(1)[0], errors.New("stop")
	before := s.look().Text()
	for _, fails := range []string{"guard", "ready", ""} {
		opts, calls := s.options(), []string(nil)
		call := func(name string) error {
			calls = append(calls, name)
			assert.FileExists(t, s.List()+".lock")
			assert.Equal(t, before, s.look().Text())
			if name == fails {
				return stop
			}
			return nil
		}
		opts.Guard = func(view *reftable.View) error {
			assert.Equal(t, before, view.Text())
			return call("guard")
		}
		opts.Ready = func() error { return call("ready") }
		_, err := s.Append(t.Context(), []reftable.Change{{Name: "refs/x/a", New: id}}, opts)
		if fails == "" {
			require.NoError(t, err)
			assert.Equal(t, []string{"guard", "ready"}, calls)
			s.want("refs/x/a", id)
		} else {
			require.ErrorIs(t, err, stop)
			s.want("refs/x/a", objstore.ID{})
		}
		s.wantNoLitter()
	}
}

// TestALockOfAnotherProcessIsWaitedFor, as long as the patience lasts.
func TestALockOfAnotherProcessIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	change := []reftable.Change{{Name: "refs/x/a", New: s.ids(1)[0]}}
	require.NoError(t, os.WriteFile(s.List()+".lock", nil, 0o666))
	for _, patience := range []time.Duration{0, 20 * time.Millisecond} {
		opts := s.options()
		opts.Patience = patience
		_, err := s.Append(t.Context(), change, opts)
		var locked *reftable.LockedError
		require.ErrorAs(t, err, &locked)
		require.ErrorIs(t, err, reftable.ErrLocked)
		assert.Equal(t, s.List()+".lock", locked.Path)
		assert.NoFileExists(t, opts.Proof)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := s.Append(ctx, change, s.options())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	time.AfterFunc(50*time.Millisecond, func() { _ = os.Remove(s.List() + ".lock") })
	s.mustAppend(change...)
	s.wantNoLitter()
}

// TestTheLockOfADeadProcessIsKnownByItsProof kills an append that merges at each of its writes. Nothing that was acknowledged is lost, and
// after RemoveDead git can write. A lock of git stays.
func TestTheLockOfADeadProcessIsKnownByItsProof(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	id := s.ids(1)[0]
	for step, alive := 0, false; !alive; step++ {
		s.Git("pack-refs", "--all")
		for i := range 15 {
			s.mustAppend(reftable.Change{Name: fmt.Sprintf("refs/x%d/%d", step, i), New: id})
		}
		opts, dead, done := s.options(), fsxtest.New(t, s.GitDir), 0
		dead.Fail(func(fsxtest.Op) fsxtest.Fault {
			if done++; done > step { // the process is dead: it does nothing more
				return fsxtest.Fault{Err: syscall.EIO}
			}
			return fsxtest.Fault{}
		})
		opts.FS = dead
		_, err := reftable.Open(s.dir, s.hash).Append(t.Context(), []reftable.Change{{Name: fmt.Sprintf("refs/new/%d", step), New: id}}, opts)
		_, locked := os.Stat(s.List() + ".lock")
		removed, removeErr := s.RemoveDead(fsx.OS{}, opts.Proof)
		require.NoError(t, removeErr)
		assert.Equal(t, locked == nil, removed)
		assert.NoFileExists(t, opts.Proof)
		s.Git("update-ref", fmt.Sprintf("refs/git/%d", step), id.String(), "")
		assert.Equal(t, 15, strings.Count(s.Git("for-each-ref", fmt.Sprintf("refs/x%d", step))+"\n", "\n"))
		alive = err == nil
		require.False(t, alive && step < 12)
	}
	for i := range 20 {
		s.mustAppend(reftable.Change{Name: fmt.Sprintf("refs/y/%d", i), New: id})
	}
	s.wantNoLock()

	// In a copy of the folder, the link is a file of its own.
	text := []byte(s.look().Text())
	for _, dead := range []bool{true, false} {
		list := string(text)
		if dead {
			list += "0x1-0x1-1.ref\n"
		}
		require.NoError(t, os.WriteFile(s.List()+".lock", []byte(list), 0o666))
		require.NoError(t, os.WriteFile(s.options().Proof, []byte(list), 0o666))
		removed, err := s.RemoveDead(fsx.OS{}, s.options().Proof)
		require.NoError(t, err)
		assert.Equal(t, dead, removed)
	}
	require.NoError(t, os.Remove(s.List()+".lock"))

	require.NoError(t, os.WriteFile(s.List()+".lock", nil, 0o666))
	require.NoError(t, os.WriteFile(s.options().Proof, nil, 0o666))
	removed, err := s.RemoveDead(fsx.OS{}, s.options().Proof)
	require.NoError(t, err)
	assert.False(t, removed)
	assert.FileExists(t, s.List()+".lock")
	require.NoError(t, os.Remove(s.List()+".lock"))
	s.wantNoLock()
}

// TestAFailedWriteLeavesTheStackAsItWas lets each write of an append fail as on a full disk, once with half of its bytes written. The refs
// are as before, and nothing is left behind.
func TestAFailedWriteLeavesTheStackAsItWas(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	id := s.ids(1)[0]
	for i := range 13 { // the append merges
		s.mustAppend(reftable.Change{Name: fmt.Sprintf("refs/x/%d", i), New: id})
	}
	for step, done := 0, false; !done; step++ {
		before := s.look().Text()
		full, count := fsxtest.New(t, s.GitDir), 0
		moved := false
		full.Fail(func(op fsxtest.Op) fsxtest.Fault {
			moved = moved || op.Kind == fsxtest.Remove && count > 8
			if count++; count == step+1 && op.Kind != fsxtest.Remove {
				return fsxtest.Fault{Err: syscall.ENOSPC, Short: true}
			}
			return fsxtest.Fault{}
		})
		opts := s.options()
		opts.FS = full
		name := fmt.Sprintf("refs/x/new%d", step)
		_, err := s.Append(t.Context(), []reftable.Change{{Name: name, New: id}}, opts)
		rec, _, getErr := s.look().Get(name)
		require.NoError(t, getErr)
		if err == nil {
			assert.Equal(t, id, rec.ID)
		} else if rec.ID.IsZero() {
			assert.Equal(t, before, s.look().Text())
			s.wantNoLitter()
		}
		done = count <= step
		assert.NoFileExists(t, s.List()+".lock")
	}
	for i := range 20 {
		s.mustAppend(reftable.Change{Name: fmt.Sprintf("refs/y/%d", i), New: id})
	}
	s.wantNoLitter()
	s.wantSame(t)
}

// TestAPowerCutLosesNoAcknowledgedRef cuts the power after each op of appends that merge, on disks that keep more or less. With late names,
// the last appends may be missing, and nothing else.
func TestAPowerCutLosesNoAcknowledgedRef(t *testing.T) {
	t.Parallel()
	for _, names := range []bool{true, false} {
		s := newStack(t, objstore.SHA1)
		id := s.ids(1)[0]
		kept := []string{"refs/heads/main"}
		for i := range 10 {
			kept = append(kept, fmt.Sprintf("refs/x/%d", i))
			s.mustAppend(reftable.Change{Name: kept[i+1], New: id})
		}
		disk := fsxtest.New(t, s.dir)
		for i := 10; i < 16; i++ {
			name := fmt.Sprintf("refs/x/%d", i)
			_, err := s.Append(t.Context(), []reftable.Change{{Name: name, New: id}}, reftable.Options{FS: disk, Sync: true, SyncNames: names})
			require.NoError(t, err)
			if names {
				disk.Mark(name)
			}
		}
		folder, n := t.TempDir(), 0
		for op, left := range disk.Replay(nil) {
			if op.Kind == fsxtest.Mark {
				kept = append(kept, op.Path)
			}
			for _, cut := range fsxtest.Cuts() {
				n++
				dir := filepath.Join(folder, strconv.Itoa(n))
				require.NoError(t, left.WriteTo(dir, cut))
				view, err := reftable.Open(dir, s.hash).Look()
				require.NoError(t, err, "%v after %v", cut, op)
				for _, name := range kept {
					if _, found, err := view.Get(name); err != nil || !found {
						t.Errorf("%s is lost by a cut of %v after %v: %v", name, cut, op, err)
					}
				}
			}
		}
	}
}

// TestALockThatAPowerCutLeavesHasItsProof cuts the power after each op of an append, on disks that keep more or less. Otherwise nobody could know that
// the lock is dead, and no ref of the repository could move.
func TestALockThatAPowerCutLeavesHasItsProof(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	id := s.ids(1)[0]
	disk, opts := fsxtest.New(t, s.GitDir), s.options()
	opts.FS = disk
	_, err := s.Append(t.Context(), []reftable.Change{{Name: "refs/x/0", New: id}}, opts)
	require.NoError(t, err)
	folder, n, locked := t.TempDir(), 0, 0
	for op, left := range disk.Replay(nil) {
		for _, cut := range fsxtest.Cuts() {
			n++
			dir := filepath.Join(folder, strconv.Itoa(n))
			require.NoError(t, left.WriteTo(dir, cut))
			after := reftable.Open(filepath.Join(dir, filepath.Base(s.dir)), s.hash)
			if _, err := os.Lstat(after.List() + ".lock"); err == nil {
				locked++
				assert.True(t, after.IsDead(filepath.Join(dir, filepath.Base(opts.Proof))), "%v after %v", cut, op)
			}
		}
	}
	assert.Positive(t, locked)
}
