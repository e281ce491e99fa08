package sqliteindex_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/refs"
)

func TestLookupFindsARunByItsRef(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("x", 300)
	for _, run := range []string{"plain", "With/Slash", long} {
		w.start(t, run, 1)
	}
	x := w.index(t)
	synced(t, x)
	for _, run := range []string{"plain", "With/Slash", long} {
		component, err := refs.EscapeRun(run)
		require.NoError(t, err)
		row, ok, err := x.Lookup(t.Context(), component)
		require.NoError(t, err)
		require.True(t, ok)
		assert.Equal(t, run, row.RunID)
	}
	_, ok, err := x.Lookup(t.Context(), "nothing")
	require.NoError(t, err)
	assert.False(t, ok)
}

func TestRunsWithPrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, run := range []string{"a", "ab", "abc", "a_c", "a%", "axc", "b", "é"} {
		w.start(t, run, 1)
	}
	x := w.index(t)
	synced(t, x)
	for _, tc := range []struct {
		name, prefix string
		limit        int
		want         []string
	}{
		{"the empty prefix is everybody's", "", 0, []string{"a", "a%", "a_c", "ab", "abc", "axc", "b", "é"}},
		{"a run is its own prefix", "ab", 0, []string{"ab", "abc"}},
		{"an underscore stands for itself", "a_", 0, []string{"a_c"}},
		{"a percent sign stands for itself", "a%", 0, []string{"a%"}},
		{"a letter of two bytes", "é", 0, []string{"é"}},
		{"a byte that no text holds", "\xff", 0, nil},
		{"such a byte after others", "a\xff", 0, nil},
		{"nothing begins so", "z", 0, nil},
		{"the limit keeps the first", "a", 2, []string{"a", "a%"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := x.RunsWithPrefix(t.Context(), tc.prefix, tc.limit)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}
