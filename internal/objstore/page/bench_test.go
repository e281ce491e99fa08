package page_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// An edit of one row of 500 bytes; the time includes the hashing of what it writes.
func BenchmarkEditOneRow(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var store objstoretest.Memory
			c := build(b, &store, nodeRows(n, 500))
			edits := [2][]page.Change{
				changes(map[string]string{nodeKey(n / 2): nodeValue(1, 500)}),
				changes(map[string]string{nodeKey(n / 2): nodeValue(2, 500)}),
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				next, err := c.Edit(&store, edits[i%2])
				require.NoError(b, err)
				c = next
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			all := changes(nodeRows(n, 500))
			b.ReportAllocs()
			for b.Loop() {
				var store objstoretest.Memory
				c, err := page.Open(&store, objstore.ID{})
				require.NoError(b, err)
				_, err = c.Edit(&store, all)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkOpenAndReadRows(b *testing.B) {
	for _, size := range []int{100, 500} {
		b.Run("1000x"+strconv.Itoa(size), func(b *testing.B) {
			var store objstoretest.Memory
			id := build(b, &store, nodeRows(1000, size)).ID()
			b.ReportAllocs()
			for b.Loop() {
				c, err := page.Open(&store, id)
				require.NoError(b, err)
				for _, err := range c.Rows() {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkDiffOfAdjacent(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var store objstoretest.Memory
			from := build(b, &store, nodeRows(n, 500))
			to := edit(b, &store, from, map[string]string{nodeKey(n / 2): nodeValue(1, 500)})
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range page.Diff(from, to) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// A value of 1 MB in chunks that grows or shrinks by 1 KB; every other page is
// searched for another row with the value that is let go of.
func BenchmarkGrowingValue(b *testing.B) {
	for _, rows := range []int{10, 1000, 10000} {
		b.Run(strconv.Itoa(rows), func(b *testing.B) {
			var store objstoretest.Memory
			c := build(b, &store, nodeRows(rows, 100))
			whole := text(1, 1<<20+1<<10)
			sizes := [2]int{1 << 20, 1<<20 + 1<<10 - 1}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				next, err := c.Edit(&store, changes(map[string]string{nodeKey(3): whole[:sizes[i%2]] + `"`}))
				require.NoError(b, err)
				c = next
			}
		})
	}
}
