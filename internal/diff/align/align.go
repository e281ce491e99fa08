// Package align finds which elements of two sequences belong together. It knows nothing of runs, and does no I/O.
package align

// None is the index of an element that a side does not have.
const None = -1

// A Pair is a row of an alignment: the index of an element in the first sequence, and the index of the element in the
// second sequence that belongs to it. One of them is None if only the other sequence has the element.
type Pair struct{ A, B int }

// Sequences aligns two sequences of keys. Two elements can only belong together if they have the same key. The number of
// pairs with two elements is as large as possible without changing the order of either sequence: they are a longest
// common subsequence. Every element of a and b is in exactly one pair. Elements that only a has come before elements
// that only b has at the same place.
//
// The time is proportional to len(a) × len(b) / 64 at most, and proportional to the length if the sequences differ little
// at one place. The memory for two sequences of 10,000 elements is below 20 MB, and grows with the length beyond that.
func Sequences[K comparable](a, b []K) []Pair {
	var common []Pair
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		common = append(common, Pair{head, head})
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	common = append(common, middle(a[head:len(a)-tail], b[head:len(b)-tail], head)...)
	for i := range tail {
		common = append(common, Pair{len(a) - tail + i, len(b) - tail + i})
	}
	return fill(common, len(a), len(b))
}

// middle returns the common subsequence of two sequences that begin and end with different keys. offset is added to
// all indices. middle leaves out the elements whose key only one of the sequences has before it searches.
func middle[K comparable](a, b []K, offset int) []Pair {
	numbers := make(map[K]int, len(b)) // the keys of b, numbered
	for _, key := range b {
		if _, ok := numbers[key]; !ok {
			numbers[key] = len(numbers)
		}
	}
	var left, right side
	inBoth := make([]bool, len(numbers))
	for i, key := range a {
		if number, ok := numbers[key]; ok {
			left.add(number, i+offset)
			inBoth[number] = true
		}
	}
	for i, key := range b {
		if number := numbers[key]; inBoth[number] {
			right.add(number, i+offset)
		}
	}
	return common(left, right)
}

// fill returns the pairs of common, and between them the elements that only one sequence has. lenA and lenB are the
// lengths of the sequences.
func fill(common []Pair, lenA, lenB int) []Pair {
	out := make([]Pair, 0, lenA+lenB-len(common))
	var at Pair
	for _, next := range append(common, Pair{lenA, lenB}) {
		for ; at.A < next.A; at.A++ {
			out = append(out, Pair{at.A, None})
		}
		for ; at.B < next.B; at.B++ {
			out = append(out, Pair{None, at.B})
		}
		if next.A < lenA {
			out = append(out, next)
		}
		at = Pair{next.A + 1, next.B + 1}
	}
	return out
}

// Unordered aligns two sequences of keys as Sequences does, and then joins elements that have the same key and are at
// different places, such as steps that ran side by side. It joins them only if each sequence has the key once. The
// joined pair is at the place of its element in a.
func Unordered[K comparable](a, b []K) []Pair {
	pairs := Sequences(a, b)
	countA, countB := counts(a), counts(b)
	moved := make(map[K]int) // the index in b
	for _, p := range pairs {
		if p.A == None && countA[b[p.B]] == 1 && countB[b[p.B]] == 1 {
			moved[b[p.B]] = p.B
		}
	}
	if len(moved) == 0 {
		return pairs
	}
	out := pairs[:0]
	for _, p := range pairs {
		if p.A == None {
			if _, ok := moved[b[p.B]]; ok {
				continue
			}
		}
		if p.B == None {
			if at, ok := moved[a[p.A]]; ok {
				p.B = at
			}
		}
		out = append(out, p)
	}
	return out
}

// counts returns how often each key is in a sequence.
func counts[K comparable](keys []K) map[K]int {
	out := make(map[K]int, len(keys))
	for _, key := range keys {
		out[key]++
	}
	return out
}
