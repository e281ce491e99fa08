package sqliteindex_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

func TestLinesAreRememberedByTheirTrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(t, "run", 2)
	x := w.index(t)
	synced(t, x)
	var trees [3]objstore.ID
	for i := range trees {
		var err error
		trees[i], err = objstore.ParseID(strings.Repeat(strconv.Itoa(i+1), 40))
		require.NoError(t, err)
	}
	one, two, three := trees[0], trees[1], trees[2]
	known := sqliteindex.TreePair{From: one, To: two}
	counted := map[sqliteindex.TreePair]sqliteindex.Lines{known: {Added: 3, Removed: 1}}

	got, err := x.Lines(t.Context(), []sqliteindex.TreePair{known})
	require.NoError(t, err)
	assert.Empty(t, got)

	require.NoError(t, x.RememberLines(t.Context(), counted))
	require.NoError(t, x.RememberLines(t.Context(), counted), "twice is once")
	got, err = x.Lines(t.Context(), []sqliteindex.TreePair{known, {From: two, To: one}, {From: two, To: three}})
	require.NoError(t, err)
	assert.Equal(t, counted, got, "the other way round is another pair")

	// They outlive the runs, and are no flaw of the index.
	w.dropTip(t, "run")
	synced(t, x)
	got, err = x.Lines(t.Context(), []sqliteindex.TreePair{known})
	require.NoError(t, err)
	assert.Equal(t, counted, got)
	require.NoError(t, x.Close())
	flaws, err := sqliteindex.Check(t.Context(), w.options())
	require.NoError(t, err)
	assert.Empty(t, flaws)
}
