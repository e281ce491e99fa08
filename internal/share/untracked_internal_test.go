package share

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
)

// ending ends a context at the third object that is read.
type ending struct {
	objstoretest.Memory

	end   context.CancelFunc
	reads int
}

func (e *ending) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	if e.reads++; e.reads == 3 {
		e.end()
	}
	return e.Memory.Get(id)
}

func TestLookingForUntrackedFilesEndsWhenItsContextDoes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := &ending{end: cancel}
	below := objstore.TreeEntry{Mode: objstore.ModeFile, ID: e.Add(objstore.Blob, nil)}
	for range 6 { // a million files, which are allowed
		entries := make([]objstore.TreeEntry, 10)
		for i := range entries {
			entries[i] = objstore.TreeEntry{Name: strconv.Itoa(i), Mode: below.Mode, ID: below.ID}
		}
		below = objstore.TreeEntry{Mode: objstore.ModeTree, ID: e.Add(objstore.Tree, objstore.EncodeTree(entries))}
	}
	u := untrackedFinder{objects: e, walked: make(map[folder]bool), files: make(map[string]objstore.ID)}
	require.ErrorIs(t, u.added(ctx, nil, below.ID, ""), context.Canceled)
	assert.Equal(t, 3, e.reads)
}
