package page_test

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

func TestVerifyingVersionsCostsWhatTheyDifferBy(t *testing.T) {
	t.Parallel()
	for _, n := range []int{300, 3000} {
		t.Run(strconv.Itoa(n)+" rows", func(t *testing.T) {
			t.Parallel()
			var store countingStore
			older := build(t, &store, nodeRows(n, 100))
			newer := edit(t, &store, older, map[string]string{nodeKey(n): nodeValue(n, 100)})
			apart := edit(t, &store, newer, map[string]string{nodeKey(7): "[\n1]"})
			for _, pair := range [][2]*page.Collection{{older, newer}, {newer, older}, {newer, apart}, {apart, newer}} {
				store.reset()
				require.NoError(t, pair[1].VerifySince(pair[0]))
				// Three pages and the directories above them with their sums on either side, and the values' three objects.
				assert.LessOrEqual(t, store.reads, 2*3*(1+2*depthOf(n+1))+3)
			}
			store.reset()
			require.NoError(t, newer.VerifySince(newer))
			assert.Zero(t, store.reads)
		})
	}
}

// Whatever a collection is made of, VerifySince finds it sound where Verify does.
func TestVerifySinceAgreesWithVerify(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var store objstoretest.Memory
		rows := maps.Clone(rapid.MapOfN(keys, values, 20, 250).Draw(t, "rows"))
		known := build(t, &store, rows)
		step := rapid.MapOfN(keys, rapid.OneOf(values, removals), 0, 30).Draw(t, "edit")
		next := edit(t, &store, known, step)
		require.NoError(t, next.VerifySince(known))
		require.NoError(t, known.VerifySince(next))
		require.NoError(t, next.VerifySince(nil))
		if next.Len() == 0 {
			return
		}
		forged, err := page.Open(&store, forge(t, &store, next.ID(), known.ID()))
		if err != nil {
			return
		}
		whole, since := forged.Verify(), forged.VerifySince(known)
		require.Equal(t, whole == nil, since == nil, "Verify: %v; VerifySince: %v", whole, since)
	})
}

// forge changes an object that a collection is made of, and those above it. It draws which: one is left out, doubled,
// exchanged for another, changed, or taken from the other version.
func forge(t *rapid.T, store *objstoretest.Memory, id, other objstore.ID) objstore.ID {
	kind, data, err := store.Get(id)
	require.NoError(t, err)
	var otherData []byte
	if !other.IsZero() {
		otherKind, found, err := store.Get(other)
		require.NoError(t, err)
		if otherKind == kind {
			otherData = found
		}
	}
	if kind == objstore.Blob {
		return store.Add(kind, forgeBlob(t, data, otherData))
	}
	entries, err := objstore.ReadTree(store, id)
	require.NoError(t, err)
	var otherEntries []objstore.TreeEntry
	if otherData != nil {
		otherEntries, err = objstore.ReadTree(store, other)
		require.NoError(t, err)
	}
	at := rapid.IntRange(0, len(entries)-1).Draw(t, "entry")
	counterpart, found := objstore.FindEntry(otherEntries, entries[at].Name)
	switch rapid.IntRange(0, 7).Draw(t, "tree") {
	case 0:
		entries = slices.Delete(entries, at, at+1)
	case 1:
		with := rapid.IntRange(0, len(entries)-1).Draw(t, "with")
		entries[at].ID, entries[with].ID = entries[with].ID, entries[at].ID
	case 2:
		if found {
			entries[at] = counterpart
		} else {
			entries = slices.Delete(entries, at, at+1)
		}
	case 3:
		for _, e := range otherEntries {
			if _, has := objstore.FindEntry(entries, e.Name); !has {
				entries = append(entries, e)
				break
			}
		}
	default:
		entries[at].ID = forge(t, store, entries[at].ID, counterpart.ID)
	}
	return store.Add(objstore.Tree, objstore.EncodeTree(entries))
}

func forgeBlob(t *rapid.T, data, other []byte) []byte {
	lines := bytes.SplitAfter(data, []byte{'\n'})
	at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
	switch rapid.IntRange(0, 3).Draw(t, "blob") {
	case 0:
		return bytes.Join(slices.Delete(lines, at, at+1), nil)
	case 1:
		return bytes.Join(append(lines, lines[at]), nil)
	case 2:
		if other != nil {
			return other
		}
	}
	forged := slices.Clone(data)
	if i := bytes.IndexAny(forged, "0123456789"); i >= 0 {
		forged[i] = '0' + (forged[i]-'0'+1)%10
	}
	return forged
}

// A page that should have been split is the same object as before, and its rows belong elsewhere now.
func TestVerifySinceFindsRowsOnAPageThatWasNotSplit(t *testing.T) {
	t.Parallel()
	var store objstoretest.Memory
	known := build(t, &store, nodeRows(40, 30)) // on 5 pages
	next := edit(t, &store, known, map[string]string{nodeKey(40): nodeValue(40, 30)})
	text := func(c *page.Collection) []string {
		var pages []string
		for _, id := range pageIDs(t, &store, c) {
			data, err := objstore.GetKind(&store, id, objstore.Blob)
			require.NoError(t, err)
			pages = append(pages, string(data))
		}
		return pages
	}
	before, pages := text(known), text(next)
	require.Len(t, pages, 6)
	require.NotContains(t, pages[1], nodeKey(40))
	require.NotEqual(t, before[1], pages[1], "rows have moved to the new page")
	pages[1], pages[5] = before[1], ""
	for line := range strings.Lines(text(next)[5]) {
		if !strings.Contains(before[1], line) {
			pages[5] += line
		}
	}
	forged, err := page.Open(&store, forgery{rows: "41", pages: pages}.write(&store))
	require.NoError(t, err)
	require.ErrorContains(t, forged.Verify(), "row belongs to another page")
	require.ErrorContains(t, forged.VerifySince(known), "row belongs to another page")
}
