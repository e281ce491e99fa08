package align

import (
	"math/bits"
	"slices"
)

// maxCells is the largest product of two lengths for which common keeps all rows of the table, one bit a cell: 16 MiB.
const maxCells = 1 << 27

// A side is a sequence of numbered keys, and the index of each in the sequence of the caller.
type side struct{ keys, at []int }

func (s *side) add(key, at int) {
	s.keys = append(s.keys, key)
	s.at = append(s.at, at)
}

// cut returns the elements from the index from up to the index to.
func (s side) cut(from, to int) side { return side{s.keys[from:to], s.at[from:to]} }

// reversed returns the elements in reverse order.
func (s side) reversed() side {
	out := side{slices.Clone(s.keys), slices.Clone(s.at)}
	slices.Reverse(out.keys)
	slices.Reverse(out.at)
	return out
}

// common returns a longest common subsequence of two sequences.
//
// It works on 64 cells of the table of lengths at a time, by H. Hyyrö, "Bit-Parallel LCS-length Computation Revisited"
// (AWOCA 2004). If all rows of the table would need more than maxCells bits, it first cuts the sequences where a longest
// common subsequence can be cut, by D. S. Hirschberg, "A linear space algorithm for computing maximal common
// subsequences" (CACM 18, 1975).
func common(a, b side) []Pair {
	n, m := len(a.keys), len(b.keys)
	if n == 0 || m == 0 {
		return nil
	}
	if n == 1 || n <= maxCells/m {
		return traced(a, b)
	}
	half := n / 2
	before := newTable(b).lengths(a.cut(0, half))
	after := newTable(b.reversed()).lengths(a.cut(half, n).reversed())
	best, cut := -1, 0
	for j := range m + 1 {
		if length := before[j] + after[m-j]; length > best {
			best, cut = length, j
		}
	}
	return append(common(a.cut(0, half), b.cut(0, cut)), common(a.cut(half, n), b.cut(cut, m))...)
}

// traced returns a longest common subsequence of a and b. It keeps all rows of the table and walks from the last cell to
// the first.
func traced(a, b side) []Pair {
	t := newTable(b)
	rows := make([]uint64, 0, len(a.keys)*len(t.row))
	for _, key := range a.keys {
		t.next(key)
		rows = append(rows, t.row...)
	}
	// longer reports whether the first i elements of a and the first j elements of b have a longer common subsequence than
	// the first i elements of a and the first j-1 elements of b.
	longer := func(i, j int) bool {
		return i > 0 && rows[(i-1)*len(t.row)+(j-1)/64]>>((j-1)%64)&1 == 0
	}
	var out []Pair
	for i, j := len(a.keys), len(b.keys); i > 0 && j > 0; {
		switch {
		case !longer(i, j):
			j--
		case longer(i-1, j): // then the element of a adds nothing
			i--
		default:
			i, j = i-1, j-1
			out = append(out, Pair{a.at[i], b.at[j]})
		}
	}
	slices.Reverse(out)
	return out
}

// A table computes the rows of the table of lengths of common subsequences, for prefixes of a sequence b. Bit j of a row
// is 0 if the length grows from the first j to the first j+1 elements of b.
type table struct {
	row     []uint64
	places  map[int][]int    // the indices of each key in b
	masks   map[int][]uint64 // the same as bits, for the keys that are so frequent that setting the bits costs more than a row
	scratch []uint64         // zero between calls of next
	columns int
}

// newTable returns the table of b and an empty sequence.
func newTable(b side) *table {
	words := (len(b.keys) + 63) / 64
	t := &table{
		row: make([]uint64, words), places: make(map[int][]int), masks: make(map[int][]uint64),
		scratch: make([]uint64, words), columns: len(b.keys),
	}
	for i := range t.row {
		t.row[i] = ^uint64(0)
	}
	for j, key := range b.keys {
		t.places[key] = append(t.places[key], j)
	}
	for key, places := range t.places {
		if len(places) > words { // at most 64 keys
			t.masks[key] = make([]uint64, words)
			setBits(t.masks[key], places)
		}
	}
	return t
}

// next makes the row that of the sequence with one more key.
func (t *table) next(key int) {
	mask, frequent := t.masks[key]
	if !frequent {
		mask = t.scratch
		setBits(mask, t.places[key])
	}
	var carry uint64
	for w, row := range t.row {
		match := row & mask[w]
		var sum uint64
		sum, carry = bits.Add64(row, match, carry)
		t.row[w] = sum | row&^mask[w]
	}
	if !frequent {
		for _, j := range t.places[key] {
			mask[j/64] = 0
		}
	}
}

// setBits sets the bits with the given numbers.
func setBits(words []uint64, numbers []int) {
	for _, n := range numbers {
		words[n/64] |= 1 << (n % 64)
	}
}

// lengths returns, for each j, the length of the longest common subsequence of a and the first j elements of b.
func (t *table) lengths(a side) []int {
	for _, key := range a.keys {
		t.next(key)
	}
	out := make([]int, t.columns+1)
	for j := range t.columns {
		out[j+1] = out[j] + int(^t.row[j/64]>>(j%64)&1)
	}
	return out
}
