package page_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// small is the number of short rows up to which a collection is a single page.
const small = 32

// depthOf is the number of levels of the page directory of n short rows.
func depthOf(n int) int {
	if n <= small {
		return 0
	}
	depth, pages := 1, (n+7)/8
	for ; pages > 16; pages = (pages + 15) / 16 {
		depth++
	}
	return depth
}

func TestOneChangedRowCostsItsPath(t *testing.T) {
	t.Parallel()
	for _, n := range []int{33, 100, 1000, 10000} {
		t.Run(strconv.Itoa(n)+" rows", func(t *testing.T) {
			t.Parallel()
			var store countingStore
			built := build(t, &store, nodeRows(n, 100))
			c, err := page.Open(&store, built.ID())
			require.NoError(t, err)
			depth := depthOf(n)

			store.reset()
			next := edit(t, &store, c, map[string]string{nodeKey(n / 2): `"changed"`})
			assert.Equal(t, depth, store.reads, "the page and the directories below the top, which Open has read")
			assert.Equal(t, 2+depth, store.adds, "the page, its directories and the empty file")
			verified(t, &store, next)

			store.reset()
			_, _, err = c.Get(nodeKey(n / 2))
			require.NoError(t, err)
			assert.Equal(t, depth, store.reads, "the page and the directories below the top")

			store.reset()
			for delta, err := range page.Diff(c, next) {
				require.NoError(t, err)
				assert.Equal(t, nodeKey(n/2), delta.Key)
			}
			assert.Equal(t, 2*depth, store.reads, "one path on either side")

			store.reset()
			for _, err := range page.Diff(c, c) {
				require.NoError(t, err)
				assert.Fail(t, "differs from itself")
			}
			again := edit(t, &store, next, map[string]string{nodeKey(n / 2): nodeValue(n/2, 100)})
			assert.Equal(t, c.ID(), again.ID())
			store.reset()
			for _, err := range page.Diff(c, again) {
				require.NoError(t, err)
				assert.Fail(t, "equal collections differ")
			}
			assert.Zero(t, store.reads, "equal collections are not read")
		})
	}
}

func TestFewRowsAreOneObject(t *testing.T) {
	t.Parallel()
	var store countingStore
	c := build(t, &store, nil)
	for n := range small {
		store.reset()
		next := edit(t, &store, c, map[string]string{nodeKey(n): nodeValue(n, 30)})
		assert.Equal(t, 1, store.adds)
		assert.Zero(t, store.reads, "a collection has its only page")
		opened, err := page.Open(&store, next.ID())
		require.NoError(t, err)
		assert.Equal(t, 1, store.reads)
		assert.Equal(t, n+1, opened.Len())
		for delta, err := range page.Diff(c, opened) {
			require.NoError(t, err)
			assert.Equal(t, nodeKey(n), delta.Key)
		}
		assert.Equal(t, 1, store.reads)
		assert.Equal(t, objstore.TreeEntry{Name: "nodes", Mode: objstore.ModeFile, ID: next.ID()}, next.Entry("nodes"))
		c = next
	}
	verified(t, &store, c)
}

// What makes a collection a tree of pages: a row, a byte, a value stored apart.
func TestACollectionIsOnePageAsLongAsItIsSmall(t *testing.T) {
	t.Parallel()
	filler := func(size int) string { return `"` + strings.Repeat("x", size-len("[\"long\",\"\"]\n")) + `"` }
	tests := map[string]struct {
		rows map[string]string // of a single page
		more map[string]string // and of a tree, with these
	}{
		"a row more":         {nodeRows(32, 30), map[string]string{nodeKey(32): nodeValue(32, 30)}},
		"a byte more":        {map[string]string{"long": filler(8 << 10)}, map[string]string{"long": filler(8<<10 + 1)}},
		"a value of lines":   {nodeRows(3, 30), map[string]string{nodeKey(1): "[\n1]"}},
		"a value of its own": {nodeRows(3, 30), map[string]string{nodeKey(1): filler(17000)}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var store objstoretest.Memory
			few := build(t, &store, tc.rows)
			assert.Equal(t, objstore.ModeFile, few.Entry("").Mode)
			many := edit(t, &store, few, tc.more)
			assert.Equal(t, objstore.ModeTree, many.Entry("").Mode)
			verified(t, &store, many)
			whole := maps.Clone(tc.rows)
			back := maps.Clone(tc.more)
			for key, value := range tc.more {
				whole[key] = value
				back[key] = tc.rows[key]
			}
			assert.Equal(t, build(t, &store, whole).ID(), many.ID())
			again := edit(t, &store, many, back)
			verified(t, &store, again)
			assert.Equal(t, few.ID(), again.ID())
			assert.Equal(t, few.Entry(""), again.Entry(""))
		})
	}
}

func TestOneMoreRowSplitsAtMostOnePage(t *testing.T) {
	t.Parallel()
	var store countingStore
	c := build(t, &store, nodeRows(small+1, 30))
	for n := small + 1; n < 600; n++ {
		store.reset()
		next := edit(t, &store, c, map[string]string{nodeKey(n): nodeValue(n, 30)})
		// Its page, the page that splits and the new one; above them the directories of up to
		// three paths; the empty file.
		assert.LessOrEqual(t, store.adds, 3+3*depthOf(n+1)+1, "row %d", n)
		before, after := pageIDs(t, &store, c), pageIDs(t, &store, next)
		changed := 0
		for i := range after {
			if i >= len(before) || before[i] != after[i] {
				changed++
			}
		}
		assert.LessOrEqual(t, changed, 3, "row %d", n)
		store.reset()
		count := 0
		for delta, err := range page.Diff(c, next) {
			require.NoError(t, err)
			assert.Equal(t, nodeKey(n), delta.Key, "rows that only moved are not reported")
			assert.Nil(t, delta.From)
			count++
		}
		assert.Equal(t, 1, count)
		c = next
	}
	assert.Equal(t, build(t, &store, nodeRows(600, 30)).ID(), c.ID())
	verified(t, &store, c)
}

// pageIDs lists the pages of a collection in order.
func pageIDs(t testing.TB, r objstore.Reader, c *page.Collection) []objstore.ID {
	t.Helper()
	if c.Len() == 0 {
		return nil
	}
	if c.Entry("").Mode != objstore.ModeTree {
		return []objstore.ID{c.ID()}
	}
	root, err := objstore.ReadTree(r, c.ID())
	require.NoError(t, err)
	var ids []objstore.ID
	var walk func(objstore.TreeEntry)
	walk = func(e objstore.TreeEntry) {
		if e.Mode != objstore.ModeTree {
			ids = append(ids, e.ID)
			return
		}
		entries, err := objstore.ReadTree(r, e.ID)
		require.NoError(t, err)
		for _, child := range entries {
			walk(child)
		}
	}
	for _, e := range root {
		if len(e.Name) == 1 { // not the number of rows, nor the values
			walk(e)
		}
	}
	return ids
}

func TestAGrowingValueAddsLittleMoreThanItsGrowth(t *testing.T) {
	t.Parallel()
	const size, growth, frames = 1 << 20, 1 << 10, 100
	whole := text(3, size+growth*frames+2)
	value := func(frame int) string { return whole[:size+growth*frame] + `"` }

	t.Run("in a row", func(t *testing.T) {
		t.Parallel()
		var store countingStore
		rows := nodeRows(50, 100)
		rows[nodeKey(3)] = value(0)
		c := build(t, &store, rows)
		sum := 0
		for frame := 1; frame <= frames; frame++ {
			store.reset()
			c = edit(t, &store, c, map[string]string{nodeKey(3): value(frame)})
			sum += store.addedBytes
			assert.Less(t, store.addedBytes, 160<<10, "a part is at most 128 KiB")
			assert.Less(t, store.adds, 40)
		}
		assert.Less(t, sum/frames, 8<<10, "a chunk, its part once, and trees")
		verified(t, &store, c)
		assert.Equal(t, 1, valueCount(t, &store, c))
	})
	t.Run("by itself", func(t *testing.T) {
		t.Parallel()
		var store countingStore
		e := stored(t, &store, "input", []byte(value(0)))
		store.reset()
		for frame := 1; frame <= frames; frame++ {
			var err error
			e, err = page.ReplaceValue(&store, "input", []byte(value(frame)), e)
			require.NoError(t, err)
		}
		assert.Less(t, store.addedBytes/frames, 6<<10)
		var fresh objstoretest.Memory
		assert.Equal(t, stored(t, &fresh, "input", []byte(value(frames))), e)
		got, err := page.ReadValue(&store, e)
		require.NoError(t, err)
		assert.Equal(t, value(frames), string(got))
	})
}

// stored stores a value that replaces nothing.
func stored(t require.TestingT, w objstore.Writer, name string, value []byte) objstore.TreeEntry {
	e, err := page.ReplaceValue(w, name, value, objstore.TreeEntry{})
	require.NoError(t, err)
	return e
}
