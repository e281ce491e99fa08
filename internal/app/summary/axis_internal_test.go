package summary

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestLongGapsAreCutOutOfAnAxis(t *testing.T) {
	t.Parallel()
	a := newAxis(spans{{0, 100}, {100_000, 100_100}}, nil)
	assert.Len(t, a.Gaps, 1)
	assert.Equal(t, Gap{100, 100_000, 500}, a.Gaps[0])
	assert.Equal(t, []int{0, 480, 520, 1000}, []int{a.At(0), a.At(100), a.At(100_000), a.At(100_100)})
	a = newAxis(spans{{0, 100}}, spans{{100, 100_000}})
	assert.Equal(t, []int{0, 960, 1000}, []int{a.At(0), a.At(100), a.At(100_000)}, "a wait is a gap, too")
	rapid.Check(t, func(t *rapid.T) {
		var all spans
		for range rapid.IntRange(1, 8).Draw(t, "spans") {
			from := rapid.Int64Range(0, 1_000_000).Draw(t, "from")
			all = append(all, span{from, from + rapid.Int64Range(0, 100_000).Draw(t, "length")})
		}
		half := len(all) / 2
		a := newAxis(all[:half], all[half:])
		before, x, y := -1, rapid.Int64Range(-10, 1_200_000).Draw(t, "x"), int64(0)
		y = x + rapid.Int64Range(0, 100_000).Draw(t, "later")
		for _, at := range []int{a.At(x), a.At(y)} {
			assert.GreaterOrEqual(t, at, max(before, 0), "later is not left of earlier")
			assert.LessOrEqual(t, at, Whole)
			before = at
		}
		for _, s := range all {
			at, length := a.Bar(s.from, s.to)
			assert.LessOrEqual(t, at+length, Whole+minBar)
			assert.Positive(t, length)
		}
	})
}
