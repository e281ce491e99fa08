package objstore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
)

func FuzzDecodeTree(f *testing.F) {
	id := testHash().ID(objstore.Blob, nil)
	f.Add([]byte{})
	f.Add(objstore.EncodeTree([]objstore.TreeEntry{
		{Name: "a", Mode: objstore.ModeTree, ID: id},
		{Name: "a.b", Mode: objstore.ModeFile, ID: id},
		{Name: "b", Mode: objstore.ModeSymlink, ID: id},
		{Name: "c", Mode: objstore.ModeCommit, ID: id},
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := objstore.DecodeTree(id, data)
		if err != nil {
			require.ErrorIs(t, err, objstore.ErrCorrupt)
			require.Nil(t, entries)
			return
		}
		require.Equal(t, string(data), string(objstore.EncodeTree(entries)))
	})
}

func TestDecodeTreeAcceptsOnlyWhatGitWrites(t *testing.T) {
	t.Parallel()
	id := testHash().ID(objstore.Blob, nil)
	raw := string(id.Bytes())
	for rule, data := range map[string]string{
		"a mode without a leading zero": "040000 a\x00" + raw,
		"a mode of octal digits":        "100648 a\x00" + raw,
		"a mode":                        " a\x00" + raw,
		"a name":                        "100644 \x00" + raw,
		"a name without a slash":        "100644 a/b\x00" + raw,
		"a whole id":                    "100644 a\x00" + raw[:19],
		"an id that is not zero":        "100644 a\x00" + string(make([]byte, 20)),
		"names in order":                "100644 b\x00" + raw + "100644 a\x00" + raw,
		"each name once":                "100644 a\x00" + raw + "100644 a\x00" + raw,
		"each name once, apart":         "100644 a\x00" + raw + "100644 a-\x00" + raw + "40000 a\x00" + raw,
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			_, err := objstore.DecodeTree(id, []byte(data))
			assert.ErrorIs(t, err, objstore.ErrCorrupt)
		})
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("0000000000000000000000000000000000000000")
	f.Add("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
	f.Add("473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := objstore.ParseID(text)
		if err != nil {
			require.ErrorIs(t, err, objstore.ErrMalformedID)
			require.Zero(t, id)
			return
		}
		if id.IsZero() {
			return
		}
		require.Equal(t, text, id.String())
		again, err := objstore.IDFromBytes(id.Bytes())
		require.NoError(t, err)
		require.Equal(t, id, again)
		marshalled, err := id.MarshalText()
		require.NoError(t, err)
		var back objstore.ID
		require.NoError(t, back.UnmarshalText(marshalled))
		require.Equal(t, id, back)
	})
}

func TestGetKindRefusesAnotherKind(t *testing.T) {
	t.Parallel()
	var m objstoretest.Memory
	id := m.Add(objstore.Blob, []byte("x"))
	_, err := objstore.GetKind(&m, id, objstore.Tree)
	require.ErrorIs(t, err, objstore.ErrCorrupt)
	assert.ErrorContains(t, err, "is a blob, expected a tree")
}

func TestTreeEntriesAreInGitsOrder(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	b := r.open().Begin()
	id := b.Add(objstore.Blob, nil)
	empty := b.Add(objstore.Tree, nil)
	var entries []objstore.TreeEntry
	for _, name := range []string{"a", "a-b", "a0", "ab", "a.b", "b", "A", "é"} {
		entries = append(entries,
			objstore.TreeEntry{Name: name, Mode: objstore.ModeTree, ID: empty},
			objstore.TreeEntry{Name: name + "!", Mode: objstore.ModeFile, ID: id})
	}
	tree := b.Add(objstore.Tree, objstore.EncodeTree(entries))
	require.NoError(t, b.Commit(t.Context(), nil))
	r.fsck()
	got, err := objstore.ReadTree(b, tree)
	require.NoError(t, err)
	assert.Len(t, got, len(entries))
	found, ok := objstore.FindEntry(got, "a.b")
	assert.True(t, ok)
	assert.Equal(t, empty, found.ID)
}
