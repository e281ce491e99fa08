package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// manyIDs returns n different ids.
func manyIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("call_%d", i)
	}
	return ids
}

func TestAFrameHasTheIDsThatItsWriterGaveIt(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	given := []string{"ns/b", "a", "ns/b", "A"}
	frame := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{IDs: given, Silent: true}})
	assert.Equal(t, []string{"A", "a", "ns/b"}, frame.IDs)
	assert.Equal(t, []string{"ns/b", "a", "ns/b", "A"}, given, "the caller's own are as they were")
	read, err := snapshot.ReadEntry(c.store, frame.ID)
	require.NoError(t, err)
	assert.Equal(t, frame.IDs, read.IDs)

	assert.Empty(t, c.append(t, snapshot.Draft{}).IDs, "an entry that is no frame has none")
	assert.Empty(t, c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}}).IDs, "the next frame does not take them over")

	most := append(manyIDs(snapshot.MaxIDs-1), strings.Repeat("é", snapshot.MaxID/2))
	assert.Len(t, c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{IDs: append(most, most...), Silent: true}}).IDs, snapshot.MaxIDs)
}

func TestIDsBeyondTheLimitsAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ids  []string
		want string
	}{
		"too many":      {manyIDs(snapshot.MaxIDs + 1), "the frame has 65 ids, the maximum is 64"},
		"one too large": {[]string{"a", strings.Repeat("x", snapshot.MaxID+1)}, "an id of the frame has 513 bytes, the maximum is 512"},
	} {
		m := new(objstoretest.Memory)
		w := &countingWriter{Memory: m}
		_, err := snapshot.Append(w, nil, nil, snapshot.Draft{
			Frame: &snapshot.FrameDraft{State: many(3), IDs: tc.ids},
			Run:   func(r *snapshot.Run) { r.ID, r.Status = "run", snapshot.RunRunning },
		})
		require.ErrorIs(t, err, snapshot.ErrLimit, name)
		require.ErrorContains(t, err, tc.want, name)
		assert.Zero(t, w.added, name)
	}
}

// countingWriter counts the objects that are added.
type countingWriter struct {
	*objstoretest.Memory

	added int
}

func (w *countingWriter) Add(kind objstore.Kind, data []byte) objstore.ID {
	w.added++
	return w.Memory.Add(kind, data)
}

func TestAnExtensionKeepsTheIDsOfItsFrames(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	from := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{IDs: []string{"at"}, Silent: true}})
	c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{IDs: []string{"call"}, Silent: true}})
	fork := c.extend(t, "fork", 1, from.ID)
	seen := map[int64][]string{}
	for _, e := range entries(t, fork) {
		if e.Frame != snapshot.NoFrame {
			assert.True(t, e.IsView())
			seen[e.Frame] = e.IDs
		}
	}
	assert.Equal(t, map[int64][]string{1: {"call"}}, seen)
}
