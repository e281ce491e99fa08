package objstore

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestALargeIndexComesIntoMemoryAfterManyLookups and says the same before and afterwards.
func TestALargeIndexComesIntoMemoryAfterManyLookups(t *testing.T) {
	t.Parallel()
	entries := make([]indexEntry, indexWholeMax/SHA1.indexEntrySize()+1)
	for i := range entries {
		entries[i] = indexEntry{id: SHA1.ID(Blob, binary.BigEndian.AppendUint32(nil, uint32(i))), offset: int64(i) + packHeadSize}
	}
	path := filepath.Join(t.TempDir(), "pack-x.idx")
	require.NoError(t, os.WriteFile(path, encodeIndex(entries, someID(1)), 0o600))
	x, err := openIndex(SHA1, path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.close() })
	require.Nil(t, x.memory())
	for i, e := range entries[:1000] {
		offset, found, err := x.find(e.id)
		require.NoError(t, err)
		require.True(t, found, i)
		require.Equal(t, e.offset, offset, i)
	}
	_, found, err := x.find(SHA1.ID(Blob, []byte("absent")))
	require.NoError(t, err)
	assert.False(t, found)
	assert.Len(t, x.memory(), int(x.size))
}

// TestACursorReadsNeighborsOnce in either direction.
func TestACursorReadsNeighborsOnce(t *testing.T) {
	t.Parallel()
	data := make([]byte, 3*windowSize+5)
	for i := range data {
		data[i] = byte(i * 7 / 5)
	}
	file := &countedReader{data: data}
	c := &packCursor{} // one, not a pool: sync.Pool drops what it is given at the garbage collector's will
	for _, offset := range []int64{100, 50, 300, readAhead - 1, 2*windowSize + 3, int64(len(data)) - 1, 2 * windowSize, 100} {
		c.use(file, int64(len(data)))
		c.seek(offset)
		got, err := c.ahead.ReadByte()
		require.NoError(t, err)
		assert.Equal(t, data[offset], got, offset)
	}
	assert.Equal(t, 5, file.reads)
	c.use(file, int64(len(data)))
	c.seek(int64(len(data)))
	_, err := c.ahead.ReadByte()
	require.Error(t, err)
}

// countedReader counts the reads of data.
type countedReader struct {
	data  []byte
	reads int
}

// ReadAt implements io.ReaderAt.
func (r *countedReader) ReadAt(p []byte, off int64) (int, error) {
	r.reads++
	n := copy(p, r.data[off:])
	if n < len(p) {
		return n, os.ErrDeadlineExceeded // an error that matters only if nothing was read
	}
	return n, nil
}
