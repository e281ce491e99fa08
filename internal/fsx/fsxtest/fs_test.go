package fsxtest_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
)

const newFile = os.O_WRONLY | os.O_CREATE | os.O_EXCL

// create makes a file with content, and syncs it or not.
func create(t *testing.T, files fsx.FS, path, content string, sync bool) {
	t.Helper()
	f, err := files.OpenFile(path, newFile, 0o666)
	require.NoError(t, err)
	_, err = f.Write([]byte(content))
	require.NoError(t, err)
	if sync {
		require.NoError(t, f.Sync())
	}
	require.NoError(t, f.Close())
}

// left is what is in a folder after a cut: content by path.
func left(t *testing.T, disk *fsxtest.Disk, cut fsxtest.Cut) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "left")
	require.NoError(t, disk.WriteTo(dir, cut))
	return content(t, dir)
}

func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[path[len(dir)+1:]] = string(data)
		return err
	}))
	return found
}

func TestACutLeavesWhatItsNameSays(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "old"), []byte("old"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(root, "removed"), []byte("old"), 0o666))
	files := fsxtest.New(t, root)
	at := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }

	create(t, files, at("safe"), "safe", true)
	require.NoError(t, files.SyncDir(root))
	create(t, files, at("named"), "lost", false)
	create(t, files, at("synced"), "bytes", true)
	require.NoError(t, files.Remove(at("removed")))
	require.NoError(t, files.MkdirAll(at("a/b"), 0o777))
	require.NoError(t, files.Rename(at("synced"), at("a/b/moved")))
	require.NoError(t, files.SyncDir(at("a/b")))
	require.NoError(t, files.Link(at("safe"), at("linked")))

	now := files.Now()
	for cut, want := range map[fsxtest.Cut]map[string]string{
		fsxtest.Everything: {"old": "old", "safe": "safe", "linked": "safe", "named": "lost", "a/b/moved": "bytes"},
		fsxtest.Durable:    {"old": "old", "safe": "safe", "removed": "old"},
		fsxtest.Names:      {"old": "old", "safe": "safe", "linked": "safe", "named": "", "a/b/moved": "bytes"},
		fsxtest.Removals:   {"old": "old", "safe": "safe"},
	} {
		assert.Equal(t, want, left(t, now, cut), cut)
	}
	assert.Equal(t, content(t, root), left(t, now, fsxtest.Everything), "it was really done")
	assert.Equal(t, now.Sum(fsxtest.Durable), files.Now().Sum(fsxtest.Durable))
	assert.NotEqual(t, now.Sum(fsxtest.Durable), now.Sum(fsxtest.Names))
}

func TestAReplayGoesThroughEveryOp(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files := fsxtest.New(t, root)
	create(t, files, filepath.Join(root, "one"), "1", true)
	files.Mark("here")
	require.NoError(t, files.SyncDir(root))

	var ops []string
	var durable []int
	for op, disk := range files.Replay(nil) {
		ops = append(ops, op.String())
		durable = append(durable, len(left(t, disk, fsxtest.Durable)))
	}
	assert.Equal(t, []string{" ", "create one", "write one", "sync one", "mark here", "syncdir ."}, ops)
	assert.Equal(t, []int{0, 0, 0, 0, 0, 1}, durable)

	for _, disk := range files.Replay(fsxtest.Op.IsSync) {
		assert.Empty(t, left(t, disk, fsxtest.Durable), "no fsync was done")
	}
}

func TestAFaultIsReturnedAndNothingIsDone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files := fsxtest.New(t, root)
	path := filepath.Join(root, "one")
	files.Fail(func(fsxtest.Op) fsxtest.Fault { return fsxtest.Fault{Err: syscall.ENOSPC} })
	_, err := files.OpenFile(path, newFile, 0o666)
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.NoFileExists(t, path)
	files.Fail(nil)
	create(t, files, path, "1", false)
	files.Fail(func(op fsxtest.Op) fsxtest.Fault {
		if op.Kind == fsxtest.Remove && op.Path == "one" {
			return fsxtest.Fault{Err: syscall.EIO}
		}
		return fsxtest.Fault{}
	})
	require.ErrorIs(t, files.Remove(path), syscall.EIO)
	assert.FileExists(t, path)
	assert.Equal(t, content(t, root), left(t, files.Now(), fsxtest.Everything))
}

func TestAWriteCanBeShortOrWrong(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files := fsxtest.New(t, root)
	f, err := files.OpenFile(filepath.Join(root, "one"), newFile, 0o666)
	require.NoError(t, err)
	files.Fail(func(fsxtest.Op) fsxtest.Fault { return fsxtest.Fault{Err: syscall.ENOSPC, Short: true} })
	n, err := f.Write([]byte("half"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.Equal(t, 2, n)
	files.Fail(func(fsxtest.Op) fsxtest.Fault { return fsxtest.Fault{Flip: true} })
	n, err = f.WriteAt([]byte("a"), 0)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	files.Fail(nil)
	_, err = io.WriteString(f, "!")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Equal(t, map[string]string{"one": "`a!"}, content(t, root))
	assert.Equal(t, content(t, root), left(t, files.Now(), fsxtest.Everything))
}
