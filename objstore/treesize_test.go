package objstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
)

// counting counts the reads of a Memory.
type counting struct {
	objstoretest.Memory

	reads int
}

func (c *counting) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	c.reads++
	return c.Memory.Get(id)
}

// nest is a tree of levels of trees, each of which has the one below under names.
func nest(w objstore.Writer, levels int, names ...string) objstore.ID {
	below := objstore.TreeEntry{Mode: objstore.ModeFile, ID: w.Add(objstore.Blob, []byte("x"))}
	for range levels {
		var entries []objstore.TreeEntry
		for _, name := range names {
			below.Name = name
			entries = append(entries, below)
		}
		below = objstore.TreeEntry{Mode: objstore.ModeTree, ID: w.Add(objstore.Tree, objstore.EncodeTree(entries))}
	}
	return below.ID
}

func TestATreeIsMeasuredByAllItsPaths(t *testing.T) {
	t.Parallel()
	var m objstoretest.Memory
	file := objstore.TreeEntry{Name: "file", Mode: objstore.ModeFile, ID: m.Add(objstore.Blob, nil)}
	inner := m.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{file}))
	outer := m.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{
		{Name: "a", Mode: objstore.ModeTree, ID: inner}, {Name: "bc", Mode: objstore.ModeTree, ID: inner}, file,
	}))
	size, err := objstore.NewTreeMeter(&m).Added(t.Context(), outer)
	require.NoError(t, err)
	paths := []string{"a", "a/file", "bc", "bc/file", "file"}
	assert.Equal(t, objstore.TreeSize{Paths: 5, Bytes: int64(len(strings.Join(paths, ""))), Depth: 1}, size)
	require.NoError(t, size.Check(outer))

	size, err = objstore.NewTreeMeter(&m).Added(t.Context(), outer, inner)
	require.NoError(t, err)
	assert.Equal(t, int64(4), size.Paths, "what both have is not counted")
	size, err = objstore.NewTreeMeter(&m).Added(t.Context(), outer, outer)
	require.NoError(t, err)
	assert.Zero(t, size)
}

func TestEachTreeIsReadOnceHoweverManyPathsLeadToIt(t *testing.T) {
	t.Parallel()
	c := new(counting)
	bomb := nest(c, 10, strings.Split("0123456789", "")...)
	m := objstore.NewTreeMeter(c)
	size, err := m.Added(t.Context(), bomb)
	require.NoError(t, err)
	require.ErrorIs(t, size.Check(bomb), objstore.ErrTreeSize)
	assert.Equal(t, 10, c.reads)
	_, err = m.Added(t.Context(), nest(c, 11, strings.Split("0123456789", "")...))
	require.NoError(t, err)
	assert.Equal(t, 11, c.reads, "only what is new")

	require.ErrorIs(t, objstore.CheckChanges(t.Context(), c, objstore.ID{}, bomb), objstore.ErrTreeSize)
	require.ErrorIs(t, objstore.CheckChanges(t.Context(), c, bomb, objstore.ID{}), objstore.ErrTreeSize)
	require.NoError(t, objstore.CheckChanges(t.Context(), c, bomb, bomb))
}

func TestTheBoundsOfATree(t *testing.T) {
	t.Parallel()
	var m objstoretest.Memory
	var million []string
	for i := range 1000 {
		million = append(million, fmt.Sprintf("%0100d", i))
	}
	long := m.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{
		{Name: strings.Repeat("a", 2<<20), Mode: objstore.ModeTree, ID: nest(&m, 1, million...)},
	}))
	for name, c := range map[string]struct {
		tree objstore.ID
		why  string
	}{
		"a million files":     {nest(&m, 2, million...), ""},
		"a thousand million":  {nest(&m, 3, million...), "more than 4000000 files"},
		"long paths":          {long, "bytes together"},
		"as deep as may be":   {nest(&m, objstore.MaxTreeDepth+1, "a"), ""},
		"one deeper":          {nest(&m, objstore.MaxTreeDepth+2, "a"), "nested more than 2000"},
		"deeper than a stack": {nest(&m, 30_000, "a"), "nested more than 2000"},
	} {
		size, err := objstore.NewTreeMeter(&m).Added(t.Context(), c.tree)
		if err == nil {
			err = size.Check(c.tree)
		}
		if c.why == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, objstore.ErrTreeSize, name)
		assert.ErrorContains(t, err, c.why, name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := objstore.NewTreeMeter(&m).Added(ctx, nest(&m, 2, "a"))
	require.ErrorIs(t, err, context.Canceled)
}

func TestModesAreWhatGitTakesThemFor(t *testing.T) {
	t.Parallel()
	m := objstoretest.Memory{Algorithm: testHash()}
	blob := m.Add(objstore.Blob, nil)
	raw := string(objstore.EncodeTree([]objstore.TreeEntry{{Name: "x", Mode: objstore.ModeFile, ID: blob}}))
	for as, want := range map[string]objstore.Mode{
		"40755": objstore.ModeTree, "040000": objstore.ModeTree, "100664": objstore.ModeFile, "100600": objstore.ModeFile,
		"100775": objstore.ModeExecutable, "120777": objstore.ModeSymlink, "160000": objstore.ModeCommit, "0": objstore.ModeCommit,
	} {
		data := []byte(strings.Replace(raw, "100644", as, 1))
		entries, err := objstore.DecodeForeignTree(testHash().ID(objstore.Tree, data), data)
		require.NoError(t, err, as)
		assert.Equal(t, want, entries[0].Mode, as)
	}
}
