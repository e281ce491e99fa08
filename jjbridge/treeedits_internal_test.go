package jjbridge

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// drawFiles draws the files of a tree, with contents that tell them apart. No file is where a folder is.
func drawFiles(t *rapid.T, label string) map[string]treeFile {
	path := rapid.SampledFrom([]string{"a", "a.b", "a/b", "a/c/d", "a/c/e", "ab", "b/a", "b/a.x", "b/a/c", "c"})
	files := make(map[string]treeFile)
	for name, content := range rapid.MapOf(path, rapid.ByteRange(0, 2)).Draw(t, label) {
		files[name] = treeFile{mode: objstore.ModeFile, id: objstore.SHA1.ID(objstore.Blob, []byte{content})}
	}
	maps.DeleteFunc(files, func(file string, _ treeFile) bool {
		for other := range files {
			if strings.HasPrefix(other, file+"/") {
				return true
			}
		}
		return false
	})
	return files
}

// alteredIn returns a list with all files as altered files of tree.
func alteredIn(tree objstore.ID, files map[string]treeFile) gitindex.AlteredFiles {
	known := gitindex.AlteredFiles{Tree: tree}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		known.Files = append(known.Files, snapshot.AlteredFile{Path: path, By: "eol"})
	}
	return known
}

// noObjects has no object.
type noObjects struct{}

func (noObjects) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	return 0, nil, objstore.ErrNotFound
}

func (noObjects) GetAtMost(id objstore.ID, _ int64) (objstore.Kind, []byte, error) {
	return 0, nil, objstore.ErrNotFound
}

func TestAnEditedTreeIsTheTreeOfItsFiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawFiles(t, "before"), drawFiles(t, "after")
		edits := treeEdits{files: maps.Clone(after)}
		for name := range before {
			if _, stays := after[name]; !stays {
				edits.files[name] = treeFile{}
			}
		}
		whole := &treeBuilder{objects: noObjects{}, made: make(map[objstore.ID][]byte)}
		base, err := whole.edited(objstore.ID{}, treeEdits{files: before})
		require.NoError(t, err)
		want, err := whole.edited(objstore.ID{}, treeEdits{files: maps.Clone(after)})
		require.NoError(t, err)

		b := &treeBuilder{objects: whole, made: make(map[objstore.ID][]byte)}
		got, err := b.edited(base, edits)

		require.NoError(t, err)
		require.Equal(t, want, got)
		files, err := b.newFiles(objstore.ID{}, got)
		require.NoError(t, err)
		require.Equal(t, after, files)
		still, err := b.stillAltered(alteredIn(base, before), got)
		require.NoError(t, err)
		var same []snapshot.AlteredFile
		for _, a := range alteredIn(base, before).Files {
			if before[a.Path] == after[a.Path] {
				same = append(same, a)
			}
		}
		require.Equal(t, same, still)
		differ, err := b.newFiles(base, got)
		require.NoError(t, err)
		for name, file := range after {
			again, found := differ[name]
			require.Equal(t, before[name] != file, found, name)
			require.True(t, !found || again == file)
		}
		// The new trees are all that somebody with the objects of base lacks.
		trees, err := b.newTrees(base, got)
		require.NoError(t, err)
		for _, data := range trees {
			require.Contains(t, slices.Collect(maps.Keys(b.made)), objstore.SHA1.ID(objstore.Tree, data))
		}
	})
}

// countingReader counts the objects that are read.
type countingReader struct {
	objstore.Reader
	reads int
}

func (r *countingReader) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	r.reads++
	return r.Reader.Get(id)
}

func TestManyAlteredFilesInAFolderAreComparedWithFewReads(t *testing.T) {
	t.Parallel()
	file := treeFile{mode: objstore.ModeFile, id: objstore.SHA1.ID(objstore.Blob, nil)}
	files := make(map[string]treeFile)
	for i := range 1000 {
		files["a/b/"+strconv.Itoa(i)] = file
	}
	whole := &treeBuilder{objects: noObjects{}, made: make(map[objstore.ID][]byte)}
	before, err := whole.edited(objstore.ID{}, treeEdits{files: files})
	require.NoError(t, err)
	after, err := whole.edited(before, treeEdits{files: map[string]treeFile{"a/b/7": {}, "c": file}})
	require.NoError(t, err)
	counter := &countingReader{Reader: whole}
	b := &treeBuilder{objects: counter, made: make(map[objstore.ID][]byte)}
	known := alteredIn(before, files)

	still, err := b.stillAltered(known, before)

	require.NoError(t, err)
	require.Equal(t, known.Files, still)
	require.Zero(t, counter.reads)

	still, err = b.stillAltered(known, after)

	require.NoError(t, err)
	require.Len(t, still, len(files)-1)
	require.NotContains(t, still, snapshot.AlteredFile{Path: "a/b/7", By: "eol"})
	require.Equal(t, 6, counter.reads) // the root, a and a/b, in both trees

	known.Tree = objstore.ID{}
	still, err = b.stillAltered(known, after)

	require.NoError(t, err)
	require.Empty(t, still)
}

func TestAFolderIsRemovedWithAllEditsInIt(t *testing.T) {
	t.Parallel()
	file := treeFile{mode: objstore.ModeFile, id: objstore.SHA1.ID(objstore.Blob, nil)}
	b := &treeBuilder{objects: noObjects{}, made: make(map[objstore.ID][]byte)}
	base, err := b.edited(objstore.ID{}, treeEdits{files: map[string]treeFile{"a/b": file, "a/c": file, "d": file}})
	require.NoError(t, err)

	got, err := b.edited(base, treeEdits{files: map[string]treeFile{"a/b": {}, "a/e": file}, folders: []string{"a/"}})

	require.NoError(t, err)
	files, err := b.newFiles(objstore.ID{}, got)
	require.NoError(t, err)
	require.Equal(t, map[string]treeFile{"d": file}, files)
}
