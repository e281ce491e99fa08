package page_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// tail returns the tree of a part that is cut by hand after the given numbers of bytes.
func tail(part string, cuts ...int) func(objstore.Writer) objstore.TreeEntry {
	return func(w objstore.Writer) objstore.TreeEntry {
		var tree []objstore.TreeEntry
		start := 0
		for i, end := range append(cuts, len(part)) {
			name := strconv.FormatInt(int64(i/16), 16) + strconv.FormatInt(int64(i%16), 16)
			tree = append(tree, file(name, w.Add(objstore.Blob, []byte(part[start:end]))))
			start = end
		}
		return folder("", w.Add(objstore.Tree, objstore.EncodeTree(tree)))
	}
}

// piece returns the bytes of a part or a chunk, or of all chunks of a tail.
func piece(t *testing.T, r objstore.Reader, e objstore.TreeEntry) string {
	t.Helper()
	if e.Mode == objstore.ModeFile {
		data, err := objstore.GetKind(r, e.ID, objstore.Blob)
		require.NoError(t, err)
		return string(data)
	}
	var joined strings.Builder
	for _, child := range children(t, r, e.ID) {
		joined.WriteString(piece(t, r, child))
	}
	return joined.String()
}

func children(t *testing.T, r objstore.Reader, id objstore.ID) []objstore.TreeEntry {
	t.Helper()
	entries, err := objstore.ReadTree(r, id)
	require.NoError(t, err)
	return entries
}

func TestALargeValueIsPartsAndATail(t *testing.T) {
	t.Parallel()
	var store objstoretest.Memory
	value := text(1, 300_000)
	e := stored(t, &store, "", []byte(value))
	parts := children(t, &store, e.ID)
	var joined strings.Builder
	for i, part := range parts {
		assert.Equal(t, strconv.FormatInt(int64(i), 16), part.Name)
		bytes := piece(t, &store, part)
		joined.WriteString(bytes)
		if i < len(parts)-1 {
			assert.Equal(t, objstore.ModeFile, part.Mode)
			assert.Greater(t, len(bytes), 32<<10)
			assert.LessOrEqual(t, len(bytes), 128<<10)
		}
	}
	assert.Equal(t, value, joined.String())
	last := parts[len(parts)-1]
	require.Equal(t, objstore.ModeTree, last.Mode)
	chunks := children(t, &store, last.ID)
	for i, chunk := range chunks {
		size := len(piece(t, &store, chunk))
		assert.LessOrEqual(t, size, 8<<10)
		assert.True(t, size > 2<<10 || i == len(chunks)-1)
	}
}

// A reader accepts a value in one form alone.
func TestAValueIsReadOnlyInTheFormInWhichItIsWritten(t *testing.T) {
	t.Parallel()
	var store objstoretest.Memory
	value := text(1, 300_000)
	whole := children(t, &store, stored(t, &store, "", []byte(value)).ID)
	require.Greater(t, len(whole), 2)
	last := len(whole) - 1
	first, second := piece(t, &store, whole[0]), piece(t, &store, whole[1])
	end := piece(t, &store, whole[last])
	set := func(at int, e objstore.TreeEntry) []objstore.TreeEntry {
		e.Name = whole[at].Name
		changed := slices.Clone(whole)
		changed[at] = e
		return changed
	}
	plain := func(data string) objstore.TreeEntry { return file("", store.Add(objstore.Blob, []byte(data))) }
	tests := map[string][]objstore.TreeEntry{
		"a tail before the end":     set(0, tail(first, 6000, 12000, 18000, 24000, 30000)(&store)),
		"the last part as one blob": set(last, plain(end)),
		"a tail cut elsewhere":      set(last, tail(end, 5000, 10000)(&store)),
		"a tail of one chunk":       set(last, tail(end[:5000])(&store)),
		"a tail with short names":   set(last, chunked(end, 5000)(&store)),
		"a part cut elsewhere":      set(1, plain(second[:len(second)-1])),
		"a part that is too long":   set(0, plain(first+first+first+first)),
		"an executable part":        set(0, objstore.TreeEntry{Mode: objstore.ModeExecutable, ID: whole[0].ID}),
		"an empty part":             set(0, plain("")),
		"parts that end too early":  whole[:last],
		"another name":              append(slices.Clone(whole[:last]), file("f", whole[0].ID)),
		"one part below a tree":     {folder("0", whole[last].ID)},
		"a level without need":      {folder("0", store.Add(objstore.Tree, objstore.EncodeTree(whole))), folder("1", whole[last].ID)},
	}
	for name, tree := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := page.ReadValue(&store, folder("", store.Add(objstore.Tree, objstore.EncodeTree(tree))))
			require.ErrorIs(t, err, objstore.ErrCorrupt)
		})
	}
	t.Run("a short last part is no tail", func(t *testing.T) {
		t.Parallel()
		value := first + end[:5000]
		e := stored(t, &store, "", []byte(value))
		parts := children(t, &store, e.ID)
		assert.Equal(t, objstore.ModeFile, parts[1].Mode)
		got, err := page.ReadValue(&store, e)
		require.NoError(t, err)
		assert.Equal(t, value, string(got))
		parts[1] = tail(end[:5000], 3000)(&store)
		parts[1].Name = "1"
		_, err = page.ReadValue(&store, folder("", store.Add(objstore.Tree, objstore.EncodeTree(parts))))
		require.ErrorIs(t, err, objstore.ErrCorrupt)
	})
}

// A value that is replaced is few objects, so that each compresses well.
func TestAReplacedValueIsFewObjects(t *testing.T) {
	t.Parallel()
	var store countingStore
	stored(t, &store, "", []byte(text(5, 1<<20)))
	assert.Less(t, store.adds, 60)
}

func TestTheStartOfAValueIsReadAlone(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 16 << 10, 16<<10 + 1, 100_000, 300_000, 5_000_000} {
		var store objstoretest.Memory
		value := text(1, size)
		e := stored(t, &store, "", []byte(value))
		start, err := page.ReadStart(&store, e)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(value, string(start)))
		assert.GreaterOrEqual(t, len(start), min(size, 2<<10), size)
		assert.LessOrEqual(t, len(start), 128<<10)
	}

	var store objstoretest.Memory
	at := folder("0", store.Add(objstore.Tree, nil))
	_, err := page.ReadStart(&store, at)
	require.ErrorAs(t, err, new(*objstore.CorruptError))
	at = file("0", store.Add(objstore.Blob, []byte("deep")))
	for range 50 {
		at = folder("0", store.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{at})))
	}
	_, err = page.ReadStart(&store, at)
	require.ErrorAs(t, err, new(*objstore.CorruptError))
}
