package rendered

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
)

func FuzzFrame(f *testing.F) {
	tree := []byte(`{"kind":"element","tag":"t","props":{"id":"a"},"children":[{"kind":"text","text":"x"}]}`)
	m := new(objstoretest.Memory)
	cache := NewCache(8)
	full, err := cache.Write(m, objstore.ID{}, tree, func(tree json.RawMessage) (*Tree, error) { return Parse(tree) })
	require.NoError(f, err)
	_, data, err := m.Get(full)
	require.NoError(f, err)
	f.Add(data)
	delta := encodeDelta([]deltaOp{{op: opSet, path: []step{nameStep(stepText)}, value: "y", nodeID: "a"}})
	f.Add(frameBlob{encoding: encodingDelta, deltas: 1, base: full, payload: delta}.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := decodeFrameBlob(objstore.ID{}, data)
		if err != nil {
			require.Equal(t, frameBlob{}, b)
			return
		}
		require.Equal(t, string(data), string(b.encode()))
	})
}

func FuzzDelta(f *testing.F) {
	tree := `{"kind":"element","tag":"t","props":{"id":"a"},"children":[{"kind":"text","text":"x"}]}`
	f.Add([]byte(tree), []byte(`{"version":1,"ops":[{"op":"set","path":["children",0,"text"],"value":"y","nodeId":"a"},{"op":"remove","path":["children",0]}]}`))
	f.Add([]byte(tree), []byte(`{"version":1,"ops":[{"op":"insert","path":["children",1],"value":`+tree+`},{"op":"set","path":[],"value":null}]}`))
	f.Fuzz(func(t *testing.T, treeText, data []byte) {
		if !jsontext.Valid(treeText) || !jsontext.Valid(data) {
			return
		}
		tree, err := Parse(treeText)
		if err != nil {
			require.Nil(t, tree)
			return
		}
		canonical := tree.Append(nil)
		ops, err := decodeDelta(objstore.ID{}, data)
		if err != nil {
			require.Nil(t, ops)
			return
		}
		require.Equal(t, string(data), string(encodeDelta(ops)))
		next, err := applyDelta(tree, ops)
		if err != nil {
			require.Nil(t, next)
			return
		}
		// Whatever path led there, our own delta leads there too.
		from, err := Parse(canonical)
		require.NoError(t, err)
		got, err := applyDelta(from, diffTrees(from, next))
		require.NoError(t, err)
		assert.Equal(t, string(next.Append(nil)), string(got.Append(nil)))
	})
}
