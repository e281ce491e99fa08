package jjbridge

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
)

// tenfold is a tree of levels of folders that have one and the same folder ten times, and
// the files of leaf at the end.
func tenfold(w objstore.Writer, levels int, leaf ...objstore.TreeEntry) objstore.ID {
	id := w.Add(objstore.Tree, objstore.EncodeTree(leaf))
	for range levels {
		entries := make([]objstore.TreeEntry, 10)
		for i := range entries {
			entries[i] = objstore.TreeEntry{Name: strconv.Itoa(i), Mode: objstore.ModeTree, ID: id}
		}
		id = w.Add(objstore.Tree, objstore.EncodeTree(entries))
	}
	return id
}

func TestIgnoreFilesOfFoldersThatHaveNoneAreNotLookedForTwice(t *testing.T) {
	t.Parallel()
	var m objstoretest.Memory
	file := objstore.TreeEntry{Name: ignoreFile, Mode: objstore.ModeFile, ID: m.Add(objstore.Blob, []byte("*.log\n"))}
	plain := objstore.TreeEntry{Name: "plain", Mode: objstore.ModeTree, ID: tenfold(&m, 10)}
	root := m.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{
		file, plain, {Name: "some", Mode: objstore.ModeTree, ID: tenfold(&m, 1, file)},
	}))
	dir := t.TempDir()
	require.NoError(t, writeIgnoreFiles(t.Context(), &m, dir, root))
	found, err := filepath.Glob(filepath.Join(dir, "some", "*", ignoreFile))
	require.NoError(t, err)
	assert.Len(t, found, 10)
	assert.FileExists(t, filepath.Join(dir, ignoreFile))
	assert.NoDirExists(t, filepath.Join(dir, "plain"))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, writeIgnoreFiles(ctx, &m, filepath.Join(dir, "none"), root), context.Canceled)
	assert.NoDirExists(t, filepath.Join(dir, "none"))
	require.NoError(t, os.RemoveAll(dir))
}
