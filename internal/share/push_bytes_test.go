package share_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
)

// packs are the packs of a repository, with their sizes.
func packs(t testing.TB, repo *repotest.Repo) map[string]int64 {
	t.Helper()
	found := make(map[string]int64)
	require.NoError(t, filepath.WalkDir(filepath.Join(repo.GitDir, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // git's maintenance of its own accord moves files
		}
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".idx") || strings.HasSuffix(path, ".rev") {
			return err
		}
		if info, err := entry.Info(); err == nil {
			found[path] = info.Size()
		}
		return nil
	}))
	return found
}

// added is how many bytes of objects came to a repository since before.
func added(t testing.TB, repo *repotest.Repo, before map[string]int64) int64 {
	t.Helper()
	var sum int64
	for path, size := range packs(t, repo) {
		if _, known := before[path]; !known {
			sum += size
		}
	}
	return sum
}

func TestCodeThatTheRemoteHasIsNotMoved(t *testing.T) {
	t.Parallel()
	const written, most = 4 << 20, 100 << 10
	origin := newOrigin(t)
	mine := newClone(t, origin)
	blob := make([]byte, written/4)
	for _, name := range []string{"a.bin", "b.bin", "dir/c.bin", "dir/d.bin"} {
		_, _ = rand.Read(blob)
		mine.Write(name, string(blob))
	}
	mine.Git("add", ".")
	mine.Git("commit", "--quiet", "--message=code")
	mine.Git("push", "--quiet", "origin", "main")
	theirs := newClone(t, origin)
	mine.reopen()
	mine.Write("changed.txt", "by a task\n")
	run, err := mine.store.Create(t.Context(), snapshot.Run{ID: "run", Workflow: "flow", Status: snapshot.RunRunning}, snapshot.Draft{
		Subject: "started", VCS: mine.capture().VCS,
	})
	require.NoError(t, err)
	mine.goOn(run, 20)

	before := packs(t, origin)
	_, err = mine.sharer.Push(t.Context(), share.PushRequest{Confirm: answering(true, new([]string))})
	require.NoError(t, err)
	assert.Less(t, added(t, origin, before), int64(most), "bytes that were pushed")

	before = packs(t, theirs.Repo)
	_, err = theirs.sharer.Fetch(t.Context(), share.FetchRequest{})
	require.NoError(t, err)
	assert.Less(t, added(t, theirs.Repo, before), int64(most), "bytes that were fetched")
	data, err := os.ReadFile(filepath.Join(mine.Dir, "a.bin"))
	require.NoError(t, err)
	copied := filepath.Join(theirs.Home, "copy")
	_, err = files.Checkout(context.Background(), theirs.store, files.CheckoutRequest{From: "run", Dir: copied})
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(copied, "a.bin"))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(data, got), "the files come back byte for byte")
}
