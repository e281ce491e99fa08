package sqliteindex

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/objstore"
)

func TestDigestStandsForASet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.MapOfN(rapid.StringMatching(`[a-z0-9]{1,8}`), rapid.Byte(), 0, 20).Draw(t, "tips")
		id := func(b byte) objstore.ID { return objstore.SHA1.ID(objstore.Blob, []byte{b}) }
		refs := make([]string, 0, len(members))
		for ref := range members {
			refs = append(refs, ref)
		}
		var one, other digest
		for _, ref := range refs {
			one.add(ref, id(members[ref]))
		}
		for _, ref := range rapid.Permutation(refs).Draw(t, "order") {
			other.add(ref, id(members[ref]))
		}
		require.Equal(t, one, other, "whatever the order")

		parsed, err := parseDigest(one.bytes())
		require.NoError(t, err)
		require.Equal(t, one, parsed)

		for _, ref := range refs {
			other.remove(ref, id(members[ref]))
			other.add(ref, id(members[ref]+1))
			require.NotEqual(t, one, other)
			other.remove(ref, id(members[ref]+1))
			other.add(ref, id(members[ref]))
			require.Equal(t, one, other, "what was taken away and put back")
		}
		for _, ref := range refs {
			other.remove(ref, id(members[ref]))
		}
		require.Equal(t, digest{}, other)
	})
}

func TestParseDigestRejectsOtherLengths(t *testing.T) {
	t.Parallel()
	for _, stored := range [][]byte{nil, make([]byte, 31), make([]byte, 33)} {
		_, err := parseDigest(stored)
		assert.ErrorIs(t, err, errDamaged)
	}
}
