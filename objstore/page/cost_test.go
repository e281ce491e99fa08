package page_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// depthOf is the number of levels of the page directory of n rows.
func depthOf(n int) int {
	depth, pages := 1, (n+7)/8
	for ; pages > 16; pages = (pages + 15) / 16 {
		depth++
	}
	return depth
}

func TestOneChangedRowCostsItsPath(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		t.Run(strconv.Itoa(n)+" rows", func(t *testing.T) {
			t.Parallel()
			var store countingStore
			built := build(t, &store, nodeRows(n, 100))
			c, err := page.Open(&store, built.ID())
			require.NoError(t, err)
			depth := depthOf(n)

			store.reset()
			next := edit(t, &store, c, map[string]string{nodeKey(n / 2): `"changed"`})
			assert.LessOrEqual(t, store.reads, 1+2*depth, "the page, its directories and their sums")
			assert.LessOrEqual(t, store.adds, 2+2*depth, "those and the collection")
			verified(t, &store, next)

			store.reset()
			_, err = next.Sum()
			require.NoError(t, err)
			assert.Zero(t, store.reads, "Edit knows the sum")
			_, err = c.Sum()
			require.NoError(t, err)
			assert.Equal(t, 2, store.reads, "the topmost directory and its sums")

			store.reset()
			_, _, err = c.Get(nodeKey(n / 2))
			require.NoError(t, err)
			assert.Equal(t, 1+depth, store.reads, "the page and its directories")

			store.reset()
			for delta, err := range page.Diff(c, next) {
				require.NoError(t, err)
				assert.Equal(t, nodeKey(n/2), delta.Key)
			}
			assert.Equal(t, 2*(1+depth), store.reads, "one path on either side")

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

func TestOneMoreRowSplitsAtMostOnePage(t *testing.T) {
	t.Parallel()
	var store countingStore
	c := build(t, &store, nil)
	for n := range 600 {
		store.reset()
		next := edit(t, &store, c, map[string]string{nodeKey(n): nodeValue(n, 30)})
		// Its page, the page that splits and the new one; above them the directories of up to
		// three paths with their sums; rows and the collection.
		assert.LessOrEqual(t, store.adds, 3+3*2*depthOf(n+1)+2, "row %d", n)
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
	root, err := objstore.ReadTree(r, c.ID())
	require.NoError(t, err)
	var ids []objstore.ID
	var walk func(objstore.TreeEntry)
	walk = func(e objstore.TreeEntry) {
		if e.Mode != objstore.ModeTree {
			if e.Name != "sums" {
				ids = append(ids, e.ID)
			}
			return
		}
		entries, err := objstore.ReadTree(r, e.ID)
		require.NoError(t, err)
		for _, child := range entries {
			walk(child)
		}
	}
	pages, ok := objstore.FindEntry(root, "pages")
	require.True(t, ok)
	walk(pages)
	return ids
}

func TestAGrowingValueAddsLittleMoreThanItsGrowth(t *testing.T) {
	t.Parallel()
	const size, growth, frames = 1 << 20, 1 << 10, 20
	whole := text(3, size+growth*frames+2)
	value := func(frame int) string { return whole[:size+growth*frame] + `"` }

	t.Run("in a row", func(t *testing.T) {
		t.Parallel()
		var store countingStore
		rows := nodeRows(50, 100)
		rows[nodeKey(3)] = value(0)
		c := build(t, &store, rows)
		for frame := 1; frame <= frames; frame++ {
			store.reset()
			c = edit(t, &store, c, map[string]string{nodeKey(3): value(frame)})
			assert.Less(t, store.addedBytes, 26<<10, "a chunk is at most 16 KiB")
		}
		verified(t, &store, c)
		assert.Equal(t, 1, valueCount(t, &store, c))
	})
	t.Run("by itself", func(t *testing.T) {
		t.Parallel()
		var store countingStore
		e := page.AddValue(&store, "input", []byte(value(0)))
		store.reset()
		for frame := 1; frame <= frames; frame++ {
			var err error
			e, err = page.ReplaceValue(&store, "input", []byte(value(frame)), e)
			require.NoError(t, err)
		}
		assert.Less(t, store.addedBytes/frames, 12<<10)
		var fresh objstore.Memory
		assert.Equal(t, page.AddValue(&fresh, "input", []byte(value(frames))), e)
		got, err := page.ReadValue(&store, e)
		require.NoError(t, err)
		assert.Equal(t, value(frames), string(got))
	})
}
