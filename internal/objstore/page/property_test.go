package page_test

import (
	"fmt"
	"maps"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
)

// Few keys, so that edits meet; more pages than one directory holds in some cases.
var (
	keys    = rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("k%d", rapid.IntRange(0, 400).Draw(t, "key")) })
	numbers = rapid.Custom(func(t *rapid.T) string { return strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "value")) })
	values  = rapid.OneOf(
		numbers,
		rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("[\n%d]", rapid.IntRange(0, 2).Draw(t, "value")) }),
		rapid.Custom(func(t *rapid.T) string { return text(rapid.Uint64Range(0, 2).Draw(t, "seed"), 17000) }),
	)
	removals = rapid.Just("")
	// The others are about as many short rows as there can be on a single page.
	someRows  = rapid.OneOf(rapid.MapOfN(keys, values, 0, 200), rapid.MapOfN(keys, numbers, 20, 40))
	someEdits = rapid.OneOf(
		rapid.SliceOfN(rapid.MapOfN(keys, rapid.OneOf(values, removals), 0, 60), 1, 6),
		rapid.SliceOfN(rapid.MapOfN(keys, rapid.OneOf(numbers, removals), 0, 15), 1, 6),
	)
)

// apply makes an edit on plain rows.
func apply(rows, edit map[string]string) {
	for key, value := range edit {
		if value == "" {
			delete(rows, key)
		} else {
			rows[key] = value
		}
	}
}

func TestAnyPathToTheSameRowsGivesTheSameID(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var store objstoretest.Memory
		rows := maps.Clone(someRows.Draw(t, "rows"))
		c := build(t, &store, rows)
		for i, step := range someEdits.Draw(t, "edits") {
			before, beforeRows := c, maps.Clone(rows)
			c = edit(t, &store, c, step)
			apply(rows, step)
			require.Equal(t, rows, contents(t, c), "after edit %d", i)
			require.Len(t, rows, c.Len())
			require.Equal(t, maps.Equal(rows, beforeRows), c.ID() == before.ID())
		}
		var fresh objstoretest.Memory
		scratch := build(t, &fresh, rows)
		require.Equal(t, scratch.ID(), c.ID())
		require.NoError(t, c.Verify())
	})
}

func TestApplyingADiffGivesTheOtherCollection(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var left, right objstoretest.Memory
		from, to := someRows.Draw(t, "from"), someRows.Draw(t, "to")
		if rapid.Bool().Draw(t, "near") {
			to = maps.Clone(from)
			apply(to, rapid.MapOfN(keys, rapid.OneOf(values, removals), 0, 5).Draw(t, "edit"))
		}
		a, b := build(t, &left, from), build(t, &right, to)
		var patch []page.Change
		last := ""
		for delta, err := range page.Diff(a, b) {
			require.NoError(t, err)
			require.Less(t, last, delta.Key, "in the order of keys")
			last = delta.Key
			require.Equal(t, from[delta.Key], string(delta.From))
			require.Equal(t, to[delta.Key], string(delta.To))
			require.NotEqual(t, delta.From, delta.To)
			patch = append(patch, page.Change{Key: delta.Key, Value: delta.To})
		}
		patched, err := a.Edit(&left, patch)
		require.NoError(t, err)
		require.Equal(t, b.ID(), patched.ID())
	})
}
