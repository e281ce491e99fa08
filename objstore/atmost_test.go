package objstore_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// packOf is a pack of entries that are written by hand.
type packOf struct {
	t     *testing.T
	bytes []byte
	count uint32
}

// add adds an entry of a type, whose base, of a delta, is at an offset. It returns its own.
func (p *packOf) add(kind byte, base int, data []byte) (at int) {
	p.t.Helper()
	p.count++
	at = 12 + len(p.bytes)
	head, rest := kind<<4|byte(len(data)&15), len(data)>>4
	for ; rest > 0; rest >>= 7 {
		p.bytes = append(p.bytes, head|0x80)
		head = byte(rest & 0x7f)
	}
	p.bytes = append(p.bytes, head)
	if base > 0 {
		distance := []byte{byte((at - base) & 0x7f)}
		for rest := (at - base) >> 7; rest > 0; rest >>= 7 {
			rest--
			distance = append([]byte{0x80 | byte(rest&0x7f)}, distance...)
		}
		p.bytes = append(p.bytes, distance...)
	}
	var stream bytes.Buffer
	z, err := zlib.NewWriterLevel(&stream, zlib.BestSpeed)
	require.NoError(p.t, err)
	_, err = z.Write(data)
	require.NoError(p.t, err)
	require.NoError(p.t, z.Close())
	p.bytes = append(p.bytes, stream.Bytes()...)
	return at
}

// into has git take the pack.
func (p *packOf) into(r *repo) {
	p.t.Helper()
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), p.count)
	all := append(head, p.bytes...)
	sum := sha1.Sum(all)
	end := sum[:]
	if testHash() == objstore.SHA256 {
		sum := sha256.Sum256(all)
		end = sum[:]
	}
	_, err := r.run(string(append(all, end...)), "index-pack", "--stdin")
	require.NoError(p.t, err)
}

// delta makes size bytes of a base, by copies of its first 64 KiB or less.
func delta(base, size int) []byte {
	number := func(out []byte, n int) []byte {
		for ; n >= 0x80; n >>= 7 {
			out = append(out, byte(n)|0x80)
		}
		return append(out, byte(n))
	}
	out := number(number(nil, base), size)
	for ; size >= 1<<16; size -= 1 << 16 {
		out = append(out, 0x80)
	}
	if size > 0 {
		out = append(out, 0xb0, byte(size), byte(size>>8))
	}
	return out
}

// It does not run beside others, whose memory it would count.
//
//nolint:paralleltest // see above
func TestWhatIsTooLargeIsNotInflated(t *testing.T) {
	const small, large = 1 << 20, 66 << 20
	r := newRepo(t)
	spaces := []byte(strings.Repeat(" ", large))
	p := &packOf{t: t}
	whole := p.add(3, 0, spaces)
	p.add(6, whole, delta(large, 1000))
	p.add(6, p.add(3, 0, spaces[:small]), delta(small, large-1))
	p.into(r)
	loose, err := objstore.ParseID(r.git("hash-object", "-w", "--stdin"))
	require.NoError(t, err)
	s := r.open()

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, id := range map[string]objstore.ID{
		"a blob": testHash().ID(objstore.Blob, spaces), "a delta of a large blob": testHash().ID(objstore.Blob, spaces[:1000]),
		"a delta that makes a large blob": testHash().ID(objstore.Blob, spaces[:large-1]),
	} {
		_, err := objstore.GetBlob(s, id, small)
		require.ErrorIs(t, err, objstore.ErrCorrupt, name)
		require.ErrorContains(t, err, "too large", name)
	}
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(large/2), "all that was ever allocated")

	_, err = objstore.GetBlob(s, loose, 0)
	require.NoError(t, err)
	data, err := objstore.GetBlob(s, testHash().ID(objstore.Blob, spaces[:small]), small)
	require.NoError(t, err)
	assert.Len(t, data, small)
	_, err = objstore.GetBlob(s, testHash().ID(objstore.Blob, spaces[:small]), small-1)
	require.ErrorIs(t, err, objstore.ErrCorrupt, "also what was read before")
	data, err = objstore.GetBlob(s, testHash().ID(objstore.Blob, spaces), large)
	require.NoError(t, err)
	assert.Len(t, data, large)
}
