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

	// A collection of at most so many rows and bytes of pages, which has no value apart, is a single page.
	smallRows  = 32
	smallBytes = 8 << 10

	rowsPerPage = 8  // on average
	fanOut      = 16 // children of a directory: one hex digit
	digitBits   = 4
	digits      = "0123456789abcdef"
)

// pagesFor is the number of pages of a collection of that many rows that is not small.
func pagesFor(rows int) int {
	return max(1, (rows+rowsPerPage-1)/rowsPerPage)
}

// hashKey is the hash by which a row finds its page.
func hashKey(key string) uint64 { return xxhash.Sum64String(key) }

// pageOf is the page of a hash among that many pages, by linear hashing: the
// pages are those of the next power of two, of which the ones that do not exist
// yet still share the page that they will be split from.
func pageOf(hash uint64, pages int) int {
	k := bits.Len(uint(pages - 1))
	b := hash & (1<<k - 1)
	if b >= uint64(pages) {
		b &= 1<<(k-1) - 1
	}
	return int(b)
}

// depthFor is the number of hex digits that number n children, at least one.
func depthFor(n int) int {
	depth := 1
	for n > 1<<(digitBits*depth) {
		depth++
	}
	return depth
}

// nodesAt is how many nodes a directory over n children has at a level: level 0
// are the children themselves.
func nodesAt(n, level int) int {
	shift := digitBits * level
	return (n + 1<<shift - 1) >> shift
}
