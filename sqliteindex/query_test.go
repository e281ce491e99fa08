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
