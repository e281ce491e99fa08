package objstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

const (
	indexHeadSize = 8
	fanOutSize    = 256 * 4
	indexTableAt  = indexHeadSize + fanOutSize

	// indexWholeMax is the size in bytes up to which an index is read completely and its checksum
	// is verified. A lookup in a larger index reads only the bytes that it needs.
	indexWholeMax = 1 << 20
	// indexKeptMax is the size in bytes up to which an index comes into memory once its lookups have cost as much as
	// the whole: keptAfter bytes each.
	indexKeptMax = 64 << 20
	keptAfter    = 8 << 10

	// largeOffset is the bit that marks a 32-bit offset as a position in the table of 64-bit
	// offsets.
	largeOffset = 1 << 31
)

// indexEntrySize returns the number of bytes that an index has for an object: the id, the CRC-32 and the offset.
func (a Algorithm) indexEntrySize() int64 { return int64(a) + 4 + 4 }

// indexTailSize returns the number of bytes at the end of an index: the checksums of the pack and of the index.
func (a Algorithm) indexTailSize() int64 { return 2 * int64(a) }

// indexed returns the number of objects in an index of so many bytes. Offsets of 64 bits count as parts of objects.
func (a Algorithm) indexed(size int64) int64 {
	return (size - indexTableAt - a.indexTailSize()) / a.indexEntrySize()
}

// indexMagic is the start of a version 2 index: the signature and the version.
var indexMagic = [indexHeadSize]byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}

// errIndex is wrapped by every error about a malformed index.
var errIndex = errors.New("malformed index")

// indexEntry is the entry of one object in a pack's index.
type indexEntry struct {
	id     ID
	crc    uint32 // CRC-32 of the entry's bytes in the pack
	offset int64  // of the entry in the pack file
}

// encodeIndex returns the bytes of the version 2 index of a pack. packSum is the checksum of the pack.
// encodeIndex sorts entries by id in place; no two entries may have the same id.
func encodeIndex(entries []indexEntry, packSum ID) []byte {
	a := packSum.Algorithm()
	slices.SortFunc(entries, func(a, b indexEntry) int { return a.id.Compare(b.id) })
	out := make([]byte, 0, indexTableAt+int64(len(entries))*a.indexEntrySize()+a.indexTailSize())
	out = append(out, indexMagic[:]...)
	// The tables follow: fan-out, ids, CRC-32s, offsets, and offsets of 64 bits.
	var fan [256]uint32
	for _, e := range entries {
		fan[e.id.sum[0]]++
	}
	var total uint32
	for _, n := range fan {
		total += n
		out = binary.BigEndian.AppendUint32(out, total)
	}
	for _, e := range entries {
		out = e.id.AppendTo(out)
	}
	for _, e := range entries {
		out = binary.BigEndian.AppendUint32(out, e.crc)
	}
	var large []int64
	for _, e := range entries {
		offset := uint32(e.offset)
		// An offset of 2^31 or more is stored in the last table. The entry then holds its position in the last
		// table, marked with largeOffset.
		if e.offset >= largeOffset {
			offset = largeOffset | uint32(len(large))
			large = append(large, e.offset)
		}
		out = binary.BigEndian.AppendUint32(out, offset)
	}
	for _, offset := range large {
		out = binary.BigEndian.AppendUint64(out, uint64(offset))
	}
	out = packSum.AppendTo(out)
	return a.Sum(out).AppendTo(out)
}

// index finds objects in a pack's index. It is safe for concurrent use.
type index struct {
	fan     [256]uint32 // for each byte b, the number of ids whose first byte is at most b
	count   int64       // number of objects
	large   int64       // number of 64-bit offsets
	packSum ID
	size    int64 // of the index in bytes
	idSize  int64 // of an id in bytes

	whole []byte                 // all bytes; nil if file is set
	file  *os.File               // the open file of a large index; nil if whole is set
	finds atomic.Int64           // number of lookups in file
	kept  atomic.Pointer[[]byte] // all bytes of file, after many lookups
}

// parseIndex decodes a complete index and verifies its checksum and the order of its ids. The returned index
// keeps data, so the caller must not change data afterwards. If data is malformed, the error wraps errIndex.
func parseIndex(a Algorithm, data []byte) (*index, error) {
	x := &index{size: int64(len(data)), idSize: int64(a), whole: data}
	if err := x.readLayout(); err != nil {
		return nil, err
	}
	body := data[:len(data)-a.Size()]
	if sum := a.Sum(body); !bytes.Equal(sum.sum[:sum.size], data[len(body):]) {
		return nil, fmt.Errorf("%w: wrong checksum", errIndex)
	}
	for i := range x.count {
		if id := data[indexTableAt+i*x.idSize:][:x.idSize]; i > 0 &&
			bytes.Compare(data[indexTableAt+(i-1)*x.idSize:][:x.idSize], id) >= 0 {
			return nil, fmt.Errorf("%w: ids out of order", errIndex)
		}
	}
	return x, nil
}

// openIndex opens the index file at path. It reads an index of at most indexWholeMax bytes completely and
// verifies it. A larger index stays open until close, and openIndex verifies only its head and its size. The
// error wraps fs.ErrNotExist if the file is missing, and errIndex if the index is malformed.
func openIndex(a Algorithm, path string) (_ *index, err error) {
	f, err := fsx.OpenShared(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	keep := false
	defer func() {
		if !keep {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() <= indexWholeMax {
		data := make([]byte, info.Size())
		if _, err := io.ReadFull(f, data); err != nil {
			return nil, fmt.Errorf("%w: %w", errIndex, err)
		}
		return parseIndex(a, data)
	}
	x := &index{size: info.Size(), idSize: int64(a), file: f}
	if err := x.readLayout(); err != nil {
		return nil, err
	}
	keep = true
	return x, nil
}

// close closes the file of a large index. It does nothing for an index in memory.
func (x *index) close() error {
	if x.file == nil {
		return nil
	}
	return x.file.Close()
}

// part returns size bytes of the index from offset. The caller must not change the returned bytes. The error
// wraps errIndex if the index has fewer bytes.
func (x *index) part(offset, size int64) ([]byte, error) {
	if offset < 0 || size < 0 || size > x.size-offset {
		return nil, fmt.Errorf("%w: truncated", errIndex)
	}
	if whole := x.memory(); whole != nil {
		return whole[offset : offset+size], nil
	}
	b := make([]byte, size)
	if _, err := x.file.ReadAt(b, offset); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: truncated", errIndex)
		}
		return nil, err
	}
	return b, nil
}

// memory returns all bytes of the index if they are in memory, and otherwise nil.
func (x *index) memory() []byte {
	if kept := x.kept.Load(); kept != nil {
		return *kept
	}
	return x.whole
}

// keep reads a large index into memory if there were many lookups. After an error, lookups go on in the file.
func (x *index) keep() {
	if x.file == nil || x.size > indexKeptMax || x.finds.Add(1) != x.size/keptAfter {
		return
	}
	if all, err := x.part(0, x.size); err == nil {
		x.kept.Store(&all)
	}
}

// readLayout reads the head, the fan-out table and the pack's checksum into x. The error wraps errIndex if the
// head or the fan-out table is malformed, or if the index has the wrong size for its number of objects.
func (x *index) readLayout() error {
	head, err := x.part(0, indexTableAt)
	if err != nil {
		return err
	}
	if [indexHeadSize]byte(head[:indexHeadSize]) != indexMagic {
		return fmt.Errorf("%w: not a version 2 index", errIndex)
	}
	for i := range x.fan {
		x.fan[i] = binary.BigEndian.Uint32(head[indexHeadSize+4*i:])
		if i > 0 && x.fan[i] < x.fan[i-1] {
			return fmt.Errorf("%w: fan-out out of order", errIndex)
		}
	}
	x.count = int64(x.fan[255])
	a := Algorithm(x.idSize) //nolint:gosec // 20 or 32
	extra := x.size - indexTableAt - x.count*a.indexEntrySize() - a.indexTailSize()
	if extra < 0 || extra%8 != 0 || extra/8 > x.count {
		return fmt.Errorf("%w: wrong size for %d objects", errIndex, x.count)
	}
	x.large = extra / 8
	tail, err := x.part(x.size-a.indexTailSize(), x.idSize)
	if err != nil {
		return err
	}
	x.packSum, err = IDFromBytes(tail)
	return err
}

// find returns the offset of an object's entry in the pack file. found is false if the index does
// not list the object. The error wraps errIndex if the index is malformed.
func (x *index) find(id ID) (offset int64, found bool, err error) {
	x.keep()
	// The ids with the same first byte as id have the numbers lo to hi-1.
	lo, hi := int64(0), int64(x.fan[id.sum[0]])
	if id.sum[0] > 0 {
		lo = int64(x.fan[id.sum[0]-1])
	}
	// A large index is not in memory. A binary search reads one id in each step, until a single read can fetch
	// the remaining few ids.
	const few = 64
	for x.memory() == nil && hi-lo > few {
		mid := (lo + hi) / 2
		b, err := x.part(indexTableAt+mid*x.idSize, x.idSize)
		if err != nil {
			return 0, false, err
		}
		if bytes.Compare(b, id.sum[:x.idSize]) <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	ids, err := x.part(indexTableAt+lo*x.idSize, (hi-lo)*x.idSize)
	if err != nil {
		return 0, false, err
	}
	i, found := sort.Find(int(hi-lo), func(i int) int {
		return bytes.Compare(id.sum[:x.idSize], ids[int64(i)*x.idSize:][:x.idSize])
	})
	if !found {
		return 0, false, nil
	}
	offset, err = x.offset(lo + int64(i))
	return offset, err == nil, err
}

// offset returns the offset in the pack file of the object with number i. Objects are numbered from 0 in the
// order of their ids. The error wraps errIndex if the index is malformed.
func (x *index) offset(i int64) (int64, error) {
	// The offsets follow the ids and the CRC-32s of four bytes each.
	offsetsAt := indexTableAt + x.count*(x.idSize+4)
	b, err := x.part(offsetsAt+4*i, 4)
	if err != nil {
		return 0, err
	}
	small := binary.BigEndian.Uint32(b)
	if small < largeOffset {
		return int64(small), nil
	}
	// Without the bit largeOffset, the entry is the position in the table of 64-bit offsets.
	at := int64(small - largeOffset)
	if at >= x.large {
		return 0, fmt.Errorf("%w: no such 64-bit offset", errIndex)
	}
	if b, err = x.part(offsetsAt+4*x.count+8*at, 8); err != nil {
		return 0, err
	}
	offset := binary.BigEndian.Uint64(b)
	// No pack is that large. The limit keeps sums with an offset from overflowing an int64.
	if offset >= 1<<62 {
		return 0, fmt.Errorf("%w: offset out of range", errIndex)
	}
	return int64(offset), nil
}

// all returns every entry, sorted by id. The error wraps errIndex if the index is malformed.
func (x *index) all() ([]indexEntry, error) {
	ids, err := x.part(indexTableAt, x.count*x.idSize)
	if err != nil {
		return nil, err
	}
	crcs, err := x.part(indexTableAt+x.count*x.idSize, x.count*4)
	if err != nil {
		return nil, err
	}
	entries := make([]indexEntry, x.count)
	for i := range x.count {
		id, err := IDFromBytes(ids[i*x.idSize:][:x.idSize])
		if err != nil {
			return nil, err
		}
		offset, err := x.offset(i)
		if err != nil {
			return nil, err
		}
		entries[i] = indexEntry{id: id, crc: binary.BigEndian.Uint32(crcs[4*i:]), offset: offset}
	}
	return entries, nil
}
