package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The bytes are for ever: other clones compare their ids.
const tombstoneVector = `tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904
author git-smithers <git-smithers@localhost.invalid> 1767323045 +0000
committer git-smithers <git-smithers@localhost.invalid> 1767323045 +0000

run pruned

Smithers-Format: 2
Smithers-Gone: triage-1
Smithers-Tip: 83baae61804e65cc73a7201a7252750c76066a30
Smithers-Time: 1767323045678
`

func TestATombstoneIsTheCommitThatTheFormatSays(t *testing.T) {
	t.Parallel()
	tip, err := objstore.ParseID("83baae61804e65cc73a7201a7252750c76066a30")
	require.NoError(t, err)
	stone := snapshot.Tombstone{Run: "triage-1", Tip: tip, AtMs: 1767323045678}
	store := new(objstoretest.Memory)
	id, err := stone.Add(store)
	require.NoError(t, err)
	assert.Equal(t, tombstoneVector, string(snapshot.EncodeTombstone(stone)))
	read, err := snapshot.ReadTombstone(store, id)
	require.NoError(t, err)
	assert.Equal(t, stone, read)
}

func TestWhateverATombstoneSaysComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stone := snapshot.Tombstone{
			Run:  rapid.StringN(1, 40, 200).Draw(t, "run"),
			Tip:  objstore.SHA1.ID(objstore.Blob, rapid.SliceOf(rapid.Byte()).Draw(t, "tip")),
			AtMs: rapid.Int64Range(0, 1<<42).Draw(t, "at"),
		}
		data := snapshot.EncodeTombstone(stone)
		read, err := snapshot.DecodeTombstone(objstore.SHA1.ID(objstore.Commit, data), data)
		require.NoError(t, err)
		assert.Equal(t, stone, read)
	})
}

func TestWhatIsNoTombstoneIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		data string
		want error
	}{
		"nothing":       {"", objstore.ErrCorrupt},
		"a later one":   {"tree x\n\nrun pruned\n\nSmithers-Format: 3\n", snapshot.ErrNewerFormat},
		"without a tip": {tombstoneVector[:len(tombstoneVector)-len("Smithers-Time: 1767323045678\n")-5], objstore.ErrCorrupt},
		"with more":     {tombstoneVector + "\n", objstore.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := snapshot.DecodeTombstone(objstore.SHA1.ID(objstore.Commit, []byte(tt.data)), []byte(tt.data))
			assert.ErrorIs(t, err, tt.want)
		})
	}
	_, err := snapshot.Tombstone{Run: "x"}.Add(new(objstoretest.Memory))
	assert.ErrorIs(t, err, snapshot.ErrInvalid)
}
