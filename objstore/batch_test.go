package objstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
)

func TestWritersKeepTheContract(t *testing.T) {
	t.Parallel()
	t.Run("Memory", func(t *testing.T) {
		t.Parallel()
		objstoretest.Run(t, func(*testing.T) (objstore.Writer, func() objstore.Reader) {
			m := &objstoretest.Memory{}
			return m, func() objstore.Reader { return m }
		})
	})
	for name, policy := range map[string]objstore.FsyncPolicy{"Durable": objstore.Durable, "Relaxed": objstore.Relaxed} {
		t.Run("Store "+name, func(t *testing.T) {
			t.Parallel()
			objstoretest.Run(t, func(t *testing.T) (objstore.Writer, func() objstore.Reader) {
				t.Helper()
				r := newRepo(t)
				b := r.open(func(o *objstore.Options) { o.Fsync = policy }).Begin()
				return b, func() objstore.Reader {
					require.NoError(t, b.Commit(t.Context(), nil))
					return r.open()
				}
			})
		})
	}
}

func TestGitReadsWhatABatchWrote(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := r.open()
	c := newChain(40)
	for range 5 {
		c.capture(r, s)
	}
	r.fsck()
	assert.Equal(t, "5", r.git("rev-list", "--count", tipRef))
	assert.Equal(t, string(pageOf(4, 4)), r.git("show", "refs/smithers/_tip/abc:state/0/4")+"\n")
	for _, pack := range r.packs(".pack") {
		r.git("index-pack", "--strict", "-o", filepath.Join(t.TempDir(), "again.idx"), r.packPath(pack))
		r.git("verify-pack", r.packPath(strings.TrimSuffix(pack, ".pack")+".idx"))
	}
	assert.Len(t, r.packs(".pack"), 5)
	assert.Empty(t, r.packs(".keep"))
}

func TestABatchWritesTheIndexThatGitWouldWrite(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	newChain(40).capture(r, r.open())
	pack := r.packs(".pack")[0]
	again := filepath.Join(t.TempDir(), "again.idx")
	r.git("index-pack", "-o", again, r.packPath(pack))
	want, err := os.ReadFile(again)
	require.NoError(t, err)
	got, err := os.ReadFile(r.packPath(strings.TrimSuffix(pack, ".pack") + ".idx"))
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestTheFirstObjectOfAPackIsTheCommit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	c := newChain(3)
	c.capture(r, r.open())
	out := r.git("verify-pack", "-v", r.packPath(r.packs(".idx")[0]))
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) == 5 && fields[4] == "12" {
			assert.Equal(t, []string{c.tip.String(), "commit"}, fields[:2])
			return
		}
	}
	t.Fatalf("no object at offset 12:\n%s", out)
}

func TestPackFilesAreReadOnly(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	newChain(3).capture(r, r.open())
	for _, name := range r.packs(".pack", ".idx") {
		info, err := os.Stat(r.packPath(name))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o444), info.Mode()&0o222|info.Mode()&0o444, name)
	}
}

func TestAnEmptyBatchOnlyRunsThen(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	ran := false
	require.NoError(t, r.open().Begin().Commit(t.Context(), func() error { ran = true; return nil }))
	assert.True(t, ran)
	assert.Empty(t, r.packs(""))
	assert.NoDirExists(t, r.options().TempDir)
}

func TestThePackIsKeptFromGCWhileThenRuns(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := r.open()
	c := newChain(3)
	b := s.Begin()
	id := c.step(b)
	require.NoError(t, b.Commit(t.Context(), func() error {
		assert.Len(t, r.packs(".keep"), 1)
		r.git("gc", "--prune=now", "-q")
		return r.moveTip(id)()
	}))
	assert.Empty(t, r.packs(".keep"))
	c.requireAll(t, r.open())
	r.fsck()
}

func TestWhatIsFlushedIsKeptFromGCUntilItIsReleased(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	b := r.open().Begin()
	first := b.Add(objstore.Blob, []byte("one"))
	assert.EqualValues(t, 3, b.Bytes())
	release, err := b.Flush(t.Context())
	require.NoError(t, err)
	assert.Zero(t, b.Bytes())
	assert.Zero(t, b.Len())
	r.git("gc", "--quiet", "--prune=now")
	_, data, err := b.Get(first)
	require.NoError(t, err, "it can be read through the batch")
	assert.Equal(t, "one", string(data))
	b.Add(objstore.Blob, []byte("two"))
	require.NoError(t, b.Commit(t.Context(), func() error {
		assert.Len(t, r.packs(".pack"), 2)
		return nil
	}))
	assert.Len(t, r.packs(".keep"), 1)
	release()
	assert.Empty(t, r.packs(".keep"))
}

func TestWhenThenFails(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := r.open()
	b := s.Begin()
	id := b.Add(objstore.Blob, []byte("unwanted"))
	conflict := errors.New("the tip has moved")
	require.ErrorIs(t, b.Commit(t.Context(), func() error { return conflict }), conflict)
	assert.Empty(t, r.packs(".keep"), "the pack is no longer kept")
	_, _, err := r.open().Get(id)
	require.NoError(t, err, "the objects stay until git gc collects them")
	assert.Zero(t, b.Len(), "the batch is empty")
	b.Add(objstore.Blob, []byte("next"))
	require.NoError(t, b.Commit(t.Context(), nil), "and may be used again")
}

func TestWhenThenPanicsThePackIsLetGo(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	b := r.open().Begin()
	b.Add(objstore.Blob, []byte("x"))
	assert.Panics(t, func() { _ = b.Commit(t.Context(), func() error { panic("bug") }) })
	assert.Empty(t, r.packs(".keep"))
}

func TestAFailedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	for _, test := range []struct {
		point string
		stays []string
	}{
		{"after-pack-temp", nil},
		{"after-pack-rename", []string{".pack"}},
		{"after-idx-rename", []string{".idx", ".pack"}},
		{"before-refs", []string{".idx", ".pack"}},
	} {
		t.Run(test.point, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			failing := true
			s := r.open(func(o *objstore.Options) {
				o.Failpoint = func(name string) error {
					if failing && name == test.point {
						return full
					}
					return nil
				}
			})
			b := s.Begin()
			id := b.Add(objstore.Blob, []byte("x"))
			require.ErrorIs(t, b.Commit(t.Context(), func() error { t.Error("then ran"); return nil }), syscall.ENOSPC)
			var suffixes []string
			for _, name := range r.packs("") {
				suffixes = append(suffixes, filepath.Ext(name))
			}
			assert.Equal(t, test.stays, suffixes)
			leftovers, err := filepath.Glob(filepath.Join(r.options().TempDir, "unfinished-*"))
			require.NoError(t, err)
			assert.Empty(t, leftovers)

			failing = false
			require.NoError(t, b.Commit(t.Context(), nil), "the same batch may be tried again")
			_, _, err = r.open().Get(id)
			require.NoError(t, err)
		})
	}
}

func TestAnEndedContextWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	b := r.open().Begin()
	b.Add(objstore.Blob, []byte("x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.Commit(ctx, nil), ctx.Err())
	assert.Empty(t, r.packs(""))
	assert.Equal(t, 1, b.Len())
}

func TestAReadOnlyRepositoryIsTold(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	file := filepath.Join(r.dir, "not-a-directory")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	b := r.open(func(o *objstore.Options) { o.TempDir = filepath.Join(file, "tmp") }).Begin()
	b.Add(objstore.Blob, []byte("x"))
	assert.ErrorIs(t, b.Commit(t.Context(), nil), syscall.ENOTDIR)
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for rule, opts := range map[string]objstore.Options{
		"no object directory":            {TempDir: "/x/tmp"},
		"no temporary directory":         {ObjectsDir: "/x/objects"},
		"temporary directory in objects": {ObjectsDir: "/x/objects", TempDir: "/x/objects/pack/tmp"},
		"temporary directory is objects": {ObjectsDir: "/x/objects", TempDir: "/x/objects"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			_, err := objstore.Open(opts)
			assert.Error(t, err)
		})
	}
}

func TestTemporaryFilesOfDeadProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	tmp := r.options().TempDir
	require.NoError(t, os.MkdirAll(tmp, 0o777))
	old := time.Now().Add(-2 * time.Hour)
	files := map[string]struct {
		made time.Time
		want bool
	}{
		"unfinished-4194399-1.pack": {old, false},       // no process has this number
		"unfinished-4194399-2.pack": {time.Now(), true}, // it may be of another machine
		"unfinished-1-1.pack":       {old, true},        // the process is alive
		"somebody-elses":            {old, true},
	}
	for name, f := range files {
		require.NoError(t, os.WriteFile(filepath.Join(tmp, name), nil, 0o666))
		require.NoError(t, os.Chtimes(filepath.Join(tmp, name), f.made, f.made))
	}
	newChain(1).capture(r, r.open())
	for name, f := range files {
		_, err := os.Stat(filepath.Join(tmp, name))
		assert.Equal(t, f.want, err == nil, name)
	}
}

func TestAClosedStoreIsRefused(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := r.open()
	b := s.Begin()
	b.Add(objstore.Blob, []byte("x"))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, b.Commit(t.Context(), nil), objstore.ErrClosed)
	_, _, err := s.Get(testHash().ID(objstore.Blob, nil))
	require.ErrorIs(t, err, objstore.ErrClosed)
	_, err = s.Merge(t.Context())
	require.ErrorIs(t, err, objstore.ErrClosed)
	_, err = s.NeedsMerge()
	require.ErrorIs(t, err, objstore.ErrClosed)
}
