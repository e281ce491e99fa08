package verify

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// counting counts how often each object is read.
type counting struct {
	objstoretest.Memory

	reads map[objstore.ID]int
}

func (c *counting) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	c.reads[id]++
	return c.Memory.Get(id)
}

func TestEachCapturedObjectIsReadOnce(t *testing.T) {
	t.Parallel()
	c := &counting{reads: make(map[objstore.ID]int)}
	file := func(name, text string) objstore.TreeEntry {
		return objstore.TreeEntry{Name: name, Mode: objstore.ModeFile, ID: c.Add(objstore.Blob, []byte(text))}
	}
	tree := func(entries ...objstore.TreeEntry) objstore.ID {
		return c.Add(objstore.Tree, objstore.EncodeTree(entries))
	}
	shared := objstore.TreeEntry{Name: "shared", Mode: objstore.ModeTree, ID: tree(file("a", "1"), file("b", "1"))}
	v := newFileVerifier(c)
	for _, root := range []objstore.ID{tree(shared), tree(shared, file("c", "2")), tree(shared)} {
		require.NoError(t, v.captured(t.Context(), &snapshot.VCS{Tree: root}))
	}
	assert.Len(t, c.reads, 5)
	for id, n := range c.reads {
		assert.Equal(t, 1, n, id)
	}
}

// nested is a tree of levels of folders that have one and the same folder ten times.
func nested(w objstore.Writer, levels int) objstore.ID {
	below := objstore.TreeEntry{Mode: objstore.ModeFile, ID: w.Add(objstore.Blob, []byte("x"))}
	for range levels {
		entries := make([]objstore.TreeEntry, 10)
		for i := range entries {
			entries[i] = objstore.TreeEntry{Name: strconv.Itoa(i), Mode: below.Mode, ID: below.ID}
		}
		below = objstore.TreeEntry{Mode: objstore.ModeTree, ID: w.Add(objstore.Tree, objstore.EncodeTree(entries))}
	}
	return below.ID
}

func TestCapturedTreesAreMeasuredAsTheyAreChecked(t *testing.T) {
	t.Parallel()
	c := &counting{reads: make(map[objstore.ID]int)}
	v := newFileVerifier(c)
	v.onlyTrees = true
	require.NoError(t, v.captured(t.Context(), &snapshot.VCS{Tree: nested(c, 6)}), "a million files")
	require.ErrorIs(t, v.captured(t.Context(), &snapshot.VCS{Tree: nested(c, 7)}), objstore.ErrTreeSize)
	require.ErrorIs(t, v.captured(t.Context(), &snapshot.VCS{Tree: nested(c, 10)}), objstore.ErrTreeSize)
	assert.Len(t, c.reads, 10)
	for id, n := range c.reads {
		assert.Equal(t, 1, n, id)
	}
}

func TestWhatIsTooDeepInOneRunMayBeSoundInAnother(t *testing.T) {
	t.Parallel()
	var m objstoretest.Memory
	sound := objstore.TreeEntry{Name: "a", Mode: objstore.ModeTree, ID: m.Add(objstore.Tree, nil)}
	for range 100 {
		sound.ID = m.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{sound}))
	}
	deep := sound
	for range objstore.MaxTreeDepth {
		deep.ID = m.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{deep}))
	}
	v := newFileVerifier(&m)
	require.ErrorIs(t, v.captured(t.Context(), &snapshot.VCS{Tree: deep.ID}), objstore.ErrTreeSize)
	require.NoError(t, v.captured(t.Context(), &snapshot.VCS{Tree: sound.ID}))
	require.ErrorIs(t, v.captured(t.Context(), &snapshot.VCS{Tree: deep.ID}), objstore.ErrTreeSize, "now that what is below is known")
}

// Each tree of a few of them inside each other may be within the bounds, and all of them are in memory at once.
func TestWideTreesInsideEachOtherAreRefusedBeforeTheyFillTheMemory(t *testing.T) {
	t.Parallel()
	if !repotest.Soaks() {
		t.Skip("takes half a gigabyte of memory")
	}
	const wide = 500_000
	c := &counting{reads: make(map[objstore.ID]int)}
	file := c.Add(objstore.Blob, nil)
	entries := make([]objstore.TreeEntry, 0, wide+1)
	for i := range wide {
		entries = append(entries, objstore.TreeEntry{Name: fmt.Sprintf("%06d", i), Mode: objstore.ModeFile, ID: file})
	}
	tree := c.Add(objstore.Tree, objstore.EncodeTree(entries))
	for range 2 * objstore.MaxTreePaths / wide {
		tree = c.Add(objstore.Tree, objstore.EncodeTree(append(entries, objstore.TreeEntry{Name: "z", Mode: objstore.ModeTree, ID: tree})))
	}
	v := newFileVerifier(c)
	v.onlyTrees = true
	require.ErrorIs(t, v.captured(t.Context(), &snapshot.VCS{Tree: tree}), objstore.ErrTreeSize)
	assert.LessOrEqual(t, len(c.reads), objstore.MaxTreePaths/wide)
	clear(c.reads)
	_, err := objstore.NewTreeMeter(c).Added(t.Context(), tree)
	require.ErrorIs(t, err, objstore.ErrTreeSize)
	assert.LessOrEqual(t, len(c.reads), objstore.MaxTreePaths/wide)
}

func TestWhatIsWrongFarDownIsToldInAFewWords(t *testing.T) {
	t.Parallel()
	var m, elsewhere objstoretest.Memory
	missing := elsewhere.Add(objstore.Tree, objstore.EncodeTree(nil))
	at := objstore.TreeEntry{Name: strings.Repeat("a", 4000), Mode: objstore.ModeTree, ID: missing}
	for range 2000 {
		at.ID = m.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{at}))
	}
	err := newFileVerifier(&m).captured(t.Context(), &snapshot.VCS{Tree: at.ID})
	require.ErrorIs(t, err, objstore.ErrNotFound)
	assert.Less(t, len(err.Error()), 20_000)
}

func TestWhatIsWrongIsToldWithEachOfItsPaths(t *testing.T) {
	t.Parallel()
	var m, elsewhere objstoretest.Memory
	missing := elsewhere.Add(objstore.Blob, []byte("x"))
	folder := func(name string, mode objstore.Mode, id objstore.ID) objstore.ID {
		return m.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{{Name: name, Mode: mode, ID: id}}))
	}
	shared := folder("b", objstore.ModeTree, folder("c", objstore.ModeFile, missing))
	v := newFileVerifier(&m)
	for range 2 {
		for _, name := range []string{"a", "other"} {
			err := v.captured(t.Context(), &snapshot.VCS{Tree: folder(name, objstore.ModeTree, shared)})
			require.ErrorIs(t, err, objstore.ErrNotFound)
			assert.Contains(t, err.Error(), `"`+name+`/b/c"`)
		}
	}
}

func TestWalksOverTreesEndWhenTheirContextDoes(t *testing.T) {
	t.Parallel()
	var m objstoretest.Memory
	tree := nested(&m, 6)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := newFileVerifier(&m)
	require.ErrorIs(t, v.captured(ctx, &snapshot.VCS{Tree: tree}), context.Canceled)
	require.NoError(t, v.captured(t.Context(), &snapshot.VCS{Tree: tree}), "nothing is remembered of a walk that was cut off")
	_, err := files.ChangedFiles(ctx, &m, objstore.ID{}, tree, "")
	require.ErrorIs(t, err, context.Canceled)
	_, err = files.ChangedFiles(ctx, &m, objstore.ID{}, tree, "0/1/2")
	require.ErrorIs(t, err, context.Canceled)
}

func TestNoMoreChangesAreListedThanATreeMayHave(t *testing.T) {
	t.Parallel()
	var m objstoretest.Memory
	bomb := nested(&m, 10)
	for _, pair := range [][2]objstore.ID{{bomb, {}}, {{}, bomb}} {
		_, err := files.ChangedFiles(t.Context(), &m, pair[0], pair[1], "")
		require.ErrorIs(t, err, objstore.ErrTreeSize)
		_, err = files.ChangedFiles(t.Context(), &m, pair[0], pair[1], "0/1")
		require.ErrorIs(t, err, objstore.ErrTreeSize)
		found, err := files.ChangedFiles(t.Context(), &m, pair[0], pair[1], "0/1/2/3/4/5/6/7")
		require.NoError(t, err)
		assert.Len(t, found, 100)
	}
}
