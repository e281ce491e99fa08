package snapshot_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// countedReads counts what is read from a store.
type countedReads struct {
	objstoretest.Memory

	reads atomic.Int64
}

func (c *countedReads) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	c.reads.Add(1)
	return c.Memory.Get(id)
}

// verifyReads is how many objects are read to verify states one after the other.
func verifyReads(t testing.TB, store *countedReads, states [][]objstore.TreeEntry, sound *snapshot.Sound) int64 {
	t.Helper()
	store.reads.Store(0)
	for _, parts := range states {
		state, err := snapshot.OpenState(store, parts)
		require.NoError(t, err)
		require.NoError(t, state.Verify(sound))
	}
	return store.reads.Load()
}

// Verifying each state of a run that receives signals, finishes nodes and stores outputs costs what changes from one
// to the next, however much is there.
func TestVerifyingStatesIsLinearInTheirChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(i int) []snapshot.Change{
		"signals": func(i int) []snapshot.Change {
			return []snapshot.Change{signal(someSignal(int64(i), fmt.Sprint("s", i)))}
		},
		"nodes": func(i int) []snapshot.Change { return many1(i, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := new(countedReads)
			state := stateWith(t, store, change(0)...)
			var ids [][]objstore.TreeEntry
			for i := range 800 {
				next, err := state.Edit(store, change(i+1))
				require.NoError(t, err)
				state = next
				ids = append(ids, state.Parts())
			}
			slices.Reverse(ids)
			first, second := ids[400:], ids[:400]
			few, many := verifyReads(t, store, first, new(snapshot.Sound)), verifyReads(t, store, second, new(snapshot.Sound))
			assert.Less(t, many, 2*few, "400 entries on 400 others cost about what they cost on none")
		})
	}
}

// A state whose collections are all known costs the trees that lead to them.
func TestVerifyPassesOverWhatIsKnownToBeSound(t *testing.T) {
	t.Parallel()
	store := new(countedReads)
	parts := stateWith(t, store, append(many(100), signal(someSignal(0, "go")))...).Parts()
	sound := new(snapshot.Sound)
	require.Greater(t, verifyReads(t, store, [][]objstore.TreeEntry{parts}, sound), int64(30))
	assert.LessOrEqual(t, verifyReads(t, store, [][]objstore.TreeEntry{parts}, sound), int64(8))
}

// What is found wrong with a state's signals does not depend on which states were verified before.
func TestSignalsAreNumberedFromZeroWhateverWasVerifiedBefore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		store := new(objstoretest.Memory)
		var good []snapshot.Change
		for i := range rapid.IntRange(30, 40).Draw(rt, "signals") {
			good = append(good, signal(someSignal(int64(i), fmt.Sprint("s", i))))
		}
		sound := new(snapshot.Sound)
		require.NoError(rt, stateWith(rt, store, good...).Verify(sound))

		// Others, with the numbers of their own, one of which may be wrong.
		n := rapid.IntRange(30, 40).Draw(rt, "others")
		wrong, by := rapid.IntRange(0, n-1).Draw(rt, "wrong"), rapid.IntRange(-3, 3).Draw(rt, "by")
		renamed := rapid.IntRange(0, n).Draw(rt, "renamed")
		var rows []page.Change
		for i := range n {
			name, seq := fmt.Sprint("s", i), i
			if i >= renamed {
				name = fmt.Sprint("t", i)
			}
			if i == wrong {
				seq = max(0, i+by)
			}
			rows = append(rows, page.Change(snapshot.EncodeSignal(someSignal(int64(seq), name))))
		}
		signals, err := snapshot.EmptyState().Signals().Edit(store, rows)
		require.NoError(rt, err)
		others, err := snapshot.OpenState(store, []objstore.TreeEntry{signals.Entry("signals")})
		require.NoError(rt, err)
		alone, after := others.Verify(nil), others.Verify(sound)
		require.Equal(rt, alone == nil, after == nil, "alone: %v; after others: %v", alone, after)
		require.Equal(rt, alone == nil, max(0, wrong+by) == wrong)
	})
}
