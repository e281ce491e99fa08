package align

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drawn returns an alignment as text: the common keys, those of a alone after -, and those of b alone after +.
func drawn(a, b string, pairs []Pair) string {
	var out strings.Builder
	for _, p := range pairs {
		switch {
		case p.B == None:
			fmt.Fprintf(&out, "-%c", a[p.A])
		case p.A == None:
			fmt.Fprintf(&out, "+%c", b[p.B])
		default:
			out.WriteByte(a[p.A])
		}
	}
	return out.String()
}

func TestSequencesAreAligned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""},
		{"abc", "abc", "abc"},
		{"abc", "", "-a-b-c"},
		{"", "abc", "+a+b+c"},
		{"abc", "xyz", "-a-b-c+x+y+z"},
		{"abcde", "abxde", "ab-c+xde"},
		{"abde", "abcde", "ab+cde"},
		{"aab", "ab", "a-ab"},
		{"abab", "ababab", "abab+a+b"},
	} {
		assert.Equal(t, c.want, drawn(c.a, c.b, Sequences([]byte(c.a), []byte(c.b))), "%q, %q", c.a, c.b)
	}
}

func TestMovedElementsAreJoined(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{"abcd", "acbd", "abcd"},
		{"abc", "cab", "abc"},
		{"abcx", "cab+", "abc-x++"},
		{"aba", "baa", "-ab+aa"}, // a is there twice, so nothing says which is which
	} {
		assert.Equal(t, c.want, drawn(c.a, c.b, Unordered([]byte(c.a), []byte(c.b))), "%q, %q", c.a, c.b)
	}
}

// slowLength returns the length of the longest common subsequence by the definition.
func slowLength[K comparable](a, b []K) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			up := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j], up)
			}
			diagonal = up
		}
	}
	return row[len(b)]
}

// checkAlignment checks that pairs have each element once, in order, and as many common ones as there can be.
func checkAlignment(t *testing.T, a, b []byte, pairs []Pair) {
	t.Helper()
	var at Pair
	both := 0
	for _, p := range pairs {
		require.False(t, p.A == None && p.B == None)
		if p.A != None {
			require.Equal(t, at.A, p.A)
			at.A++
		}
		if p.B != None {
			require.Equal(t, at.B, p.B)
			at.B++
		}
		if p.A != None && p.B != None {
			require.Equal(t, a[p.A], b[p.B])
			both++
		}
	}
	require.Equal(t, Pair{len(a), len(b)}, at, "every element is in the alignment")
	require.Equal(t, slowLength(a, b), both, "%q, %q", a, b)
}

func randomKeys(r *rand.Rand, longest, kinds int) []byte {
	keys := make([]byte, r.IntN(longest+1))
	for i := range keys {
		keys[i] = byte('a' + r.IntN(kinds))
	}
	return keys
}

func TestAlignmentsAreTheLongest(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		kinds := 1 + r.IntN(26)
		a, b := randomKeys(r, 200, kinds), randomKeys(r, 200, kinds)
		checkAlignment(t, a, b, Sequences(a, b))
	}
}

// A cut sequence and a whole one have common subsequences of one length, so the small table of tests stands for a large one.
func TestCuttingLosesNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		kinds := 1 + r.IntN(8)
		a, b := randomKeys(r, 150, kinds), randomKeys(r, 150, kinds)
		left, right := sideOf(a), sideOf(b)
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		half := len(a) / 2
		before, after := newTable(right).lengths(left.cut(0, half)), newTable(right.reversed()).lengths(left.cut(half, len(a)).reversed())
		for j := range len(b) + 1 {
			assert.Equal(t, slowLength(a[:half], b[:j]), before[j])
			assert.Equal(t, slowLength(a[half:], b[j:]), after[len(b)-j])
		}
	}
}

func sideOf(keys []byte) side {
	var s side
	for i, key := range keys {
		s.add(int(key), i)
	}
	return s
}

// 12,000 × 12,000 elements are more than maxCells, so the sequences are cut.
func TestLongSequencesAreAligned(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string]int{"of few kinds": 3, "of many kinds": 5000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(5, 6))
			a, b := make([]int, 12_000), make([]int, 12_000)
			for i := range a {
				a[i], b[i] = r.IntN(kinds), r.IntN(kinds)
			}
			pairs := Sequences(a, b)
			both := 0
			for _, p := range pairs {
				if p.A != None && p.B != None {
					require.Equal(t, a[p.A], b[p.B])
					both++
				}
			}
			assert.Equal(t, slowLength(a, b), both)
		})
	}
}

func FuzzSequences(f *testing.F) {
	f.Add([]byte("abcabba"), []byte("cbabac"))
	f.Add([]byte(""), []byte("a"))
	f.Add([]byte(strings.Repeat("ab", 64)), []byte(strings.Repeat("ba", 65)))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if len(a) > 1000 || len(b) > 1000 {
			return
		}
		checkAlignment(t, a, b, Sequences(a, b))
	})
}

func BenchmarkSequences(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, kinds := range []int{2, 100, 10_000} {
		x, y := make([]int, 10_000), make([]int, 10_000)
		for i := range x {
			x[i], y[i] = r.IntN(kinds), r.IntN(kinds)
		}
		b.Run(fmt.Sprintf("10,000 of %d kinds", kinds), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Sequences(x, y)
			}
		})
	}
}
