package tree

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/snapshot"
)

// ran is an attempt; one that has not ended has an end of 0.
func ran(node string, iteration, attempt int, start, end int64) snapshot.Attempt {
	a := snapshot.Attempt{NodeID: node, Iteration: iteration, Attempt: attempt, StartedAtMs: start}
	if end > 0 {
		a.FinishedAtMs = new(end)
	}
	return a
}

func TestNeedsByTime(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		attempts []snapshot.Attempt
		want     map[string][]string
	}{
		"one after the other": {
			[]snapshot.Attempt{ran("c", 0, 1, 30, 40), ran("a", 0, 1, 10, 20), ran("b", 0, 1, 20, 30)},
			map[string][]string{"a": {}, "b": {"a"}, "c": {"b"}},
		},
		"beside each other": {
			[]snapshot.Attempt{ran("a", 0, 1, 10, 20), ran("p2", 0, 1, 21, 25), ran("p1", 0, 1, 22, 30), ran("b", 0, 1, 31, 40)},
			map[string][]string{"a": {}, "p1": {"a"}, "p2": {"a"}, "b": {"p1", "p2"}},
		},
		"a retry counts": {
			[]snapshot.Attempt{ran("a", 0, 1, 10, 12), ran("a", 0, 2, 20, 30), ran("b", 0, 1, 15, 25), ran("c", 0, 1, 30, 31)},
			map[string][]string{"a": {}, "b": {}, "c": {"a", "b"}},
		},
		"one that has not ended is needed by none": {
			[]snapshot.Attempt{ran("a", 0, 1, 10, 0), ran("b", 0, 1, 10, 20), ran("c", 0, 1, 30, 0)},
			map[string][]string{"a": {}, "b": {}, "c": {"b"}},
		},
		"one of whose attempts one has not ended": {
			[]snapshot.Attempt{ran("a", 0, 1, 10, 12), ran("a", 0, 2, 13, 0), ran("c", 0, 1, 30, 0)},
			map[string][]string{"a": {}, "c": {}},
		},
		"in a loop the first iteration counts": {
			[]snapshot.Attempt{
				ran("write", 1, 1, 30, 35), ran("verify", 1, 1, 36, 40), ran("write", 0, 1, 10, 15), ran("verify", 0, 1, 16, 20),
				ran("ship", 0, 1, 41, 42),
			},
			map[string][]string{"write": {}, "verify": {"write"}, "ship": {"verify"}},
		},
		"within one millisecond": {
			[]snapshot.Attempt{ran("a", 0, 1, 10, 10), ran("b", 0, 1, 10, 10), ran("c", 0, 1, 10, 10)},
			map[string][]string{"a": {}, "b": {"a"}, "c": {"b"}},
		},
		"one that ends when another begins and ends": {
			[]snapshot.Attempt{ran("a", 0, 1, 10, 10), ran("z", 0, 1, 5, 10)},
			map[string][]string{"z": {}, "a": {"z"}},
		},
		"nothing": {nil, map[string][]string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, NeedsByTime(tt.attempts))
		})
	}
}
