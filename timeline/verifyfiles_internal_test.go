package timeline

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// counting counts how often each object is read.
type counting struct {
	objstore.Memory

	reads map[objstore.ID]int
}

func (c *counting) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	c.reads[id]++
	return c.Memory.Get(id)
}

func TestEachCapturedObjectIsReadOnce(t *testing.T) {
	t.Parallel()
	c := &counting{reads: make(map[objstore.ID]int)}
	file := func(name, text string) objstore.TreeEntry {
		return objstore.TreeEntry{Name: name, Mode: objstore.ModeFile, ID: c.Add(objstore.Blob, []byte(text))}
	}
	tree := func(entries ...objstore.TreeEntry) objstore.ID {
		return c.Add(objstore.Tree, objstore.EncodeTree(entries))
	}
	shared := objstore.TreeEntry{Name: "shared", Mode: objstore.ModeTree, ID: tree(file("a", "1"), file("b", "1"))}
	v := newFileVerifier(c)
	for _, root := range []objstore.ID{tree(shared), tree(shared, file("c", "2")), tree(shared)} {
		require.NoError(t, v.captured(&snapshot.VCS{Tree: root}))
	}
	assert.Len(t, c.reads, 5)
	for id, n := range c.reads {
		assert.Equal(t, 1, n, id)
	}
}
