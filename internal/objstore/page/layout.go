package page

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

const (
	// MaxRows is the largest number of rows of a collection.
	MaxRows = 1 << 24
	// MaxKey is the largest size of a key in bytes.
	MaxKey = 4096
	// MaxValue is the largest size of a value in bytes.
	MaxValue = 1 << 28

	// A collection of at most smallRows rows and smallBytes bytes, without values stored apart, is a single
	// page.
	smallRows  = 32
	smallBytes = 8 << 10

	rowsPerPage = 8  // on average
	fanOut      = 16 // children of a directory: one hex digit
	digitBits   = 4
	digits      = "0123456789abcdef"
)

// pagesFor returns the number of pages of a collection with the given number of rows that is stored as a tree
// of pages. The result is at least 1.
func pagesFor(rows int) int {
	return max(1, (rows+rowsPerPage-1)/rowsPerPage)
}

// hashKey returns the hash that decides the page of a row.
func hashKey(key string) uint64 { return xxhash.Sum64String(key) }

// pageOf returns the number of the page for the rows whose key has the given hash. pages is the number of
// pages, at least 1. The rule is linear hashing. Let 2^k be the smallest power of two that is at least pages:
// the low k bits of the hash are the number of the page. If this page does not exist yet, its rows are still on
// the page from which it will be split. The number of that page is the low k-1 bits.
func pageOf(hash uint64, pages int) int {
	k := bits.Len(uint(pages - 1))
	b := hash & (1<<k - 1)
	if b >= uint64(pages) {
		b &= 1<<(k-1) - 1
	}
	return int(b)
}

// depthFor returns the number of hex digits that are needed to number n pages, but at least 1. This is also the
// number of levels of directories above the pages.
func depthFor(n int) int {
	depth := 1
	for n > 1<<(digitBits*depth) {
		depth++
	}
	return depth
}

// nodesAt returns the number of nodes at a level above n pages. The nodes of level 0 are the pages, and the
// nodes of a higher level are directories.
func nodesAt(n, level int) int {
	shift := digitBits * level
	return (n + 1<<shift - 1) >> shift
}

// widthAt returns the number of children of the directory at p, in a collection with the given number of pages.
func widthAt(pages int, p position) int {
	return min(fanOut, nodesAt(pages, p.level-1)-p.index*fanOut)
}
