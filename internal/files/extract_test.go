package files_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
)

func TestExtractWritesFilesAsTheTreeHasThem(t *testing.T) {
	t.Parallel()
	var objects objstoretest.Memory
	blob := func(text string) objstore.ID { return objects.Add(objstore.Blob, []byte(text)) }
	tree := func(entries ...objstore.TreeEntry) objstore.ID {
		return objects.Add(objstore.Tree, objstore.EncodeTree(entries))
	}
	top := tree(
		objstore.TreeEntry{Name: "deep", Mode: objstore.ModeTree, ID: tree(
			objstore.TreeEntry{Name: "er", Mode: objstore.ModeTree, ID: tree(objstore.TreeEntry{Name: "crlf", Mode: objstore.ModeFile, ID: blob("a\r\n")})},
		)},
		objstore.TreeEntry{Name: "link", Mode: objstore.ModeSymlink, ID: blob("../outside")},
		objstore.TreeEntry{Name: "module", Mode: objstore.ModeCommit, ID: blob("a commit")},
		objstore.TreeEntry{Name: "run", Mode: objstore.ModeExecutable, ID: blob("#!/bin/sh\n")},
	)
	dir := t.TempDir()
	require.NoError(t, files.Extract(t.Context(), &objects, top, dir))
	data, err := os.ReadFile(filepath.Join(dir, "deep", "er", "crlf"))
	require.NoError(t, err)
	assert.Equal(t, "a\r\n", string(data))
	target, err := os.Readlink(filepath.Join(dir, "link"))
	require.NoError(t, err)
	assert.Equal(t, "../outside", target)
	info, err := os.Stat(filepath.Join(dir, "run"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&0o100)
	assert.DirExists(t, filepath.Join(dir, "module"))

	require.NoError(t, files.Extract(t.Context(), &objects, objstore.SHA1.EmptyTree(), t.TempDir()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, files.Extract(ctx, &objects, top, t.TempDir()))
}

// A tree from elsewhere may have a link and, below the same name, a file.
func TestExtractWritesNothingOutside(t *testing.T) {
	t.Parallel()
	var objects objstoretest.Memory
	outside := t.TempDir()
	blob := objects.Add(objstore.Blob, []byte("x"))
	link := objstore.TreeEntry{Name: "a", Mode: objstore.ModeSymlink, ID: objects.Add(objstore.Blob, []byte(outside))}
	below := objects.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{{Name: "file", Mode: objstore.ModeFile, ID: blob}}))
	top := objects.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{link, {Name: "a", Mode: objstore.ModeTree, ID: below}}))
	require.Error(t, files.Extract(t.Context(), &objects, top, t.TempDir()))
	names, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, names)
}
