package reftable

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
)

const (
	// blockTarget is the number of bytes from which a block of a new table is full. It is git's size of blocks.
	blockTarget = 4 << 10
	// restartEvery is the number of records of a new block from one whole key to the next.
	restartEvery = 16
)

// encode returns a table with entries, which must be sorted by their names. first and last are the numbers of its oldest
// and its newest transaction. The table has no reflogs, its blocks are not aligned, and two blocks have an index.
func encode(hash objstore.Algorithm, entries []entry, first, last uint64) []byte {
	header := append([]byte(magic), 1, 0, 0, 0) // version 1, without a size of blocks
	header = binary.BigEndian.AppendUint64(header, first)
	header = binary.BigEndian.AppendUint64(header, last)
	if hash == objstore.SHA256 {
		header[4] = 2
		header = append(header, "s256"...)
	}
	refs, index := builder{out: bytes.Clone(header)}, builder{}
	index.begin(indexBlock)
	for i, e := range entries {
		if i == 0 || len(refs.out)-refs.start > blockTarget {
			refs.finish(&index)
			refs.begin(refBlock)
		}
		refs.add(e.Name, e.value)
		refs.number(e.index - first)
		refs.out = e.Peeled.AppendTo(e.ID.AppendTo(refs.out))
		if e.Target != "" {
			refs.number(uint64(len(e.Target)))
			refs.out = append(refs.out, e.Target...)
		}
	}
	refs.finish(&index)
	positions := make([]byte, 5*8)
	out := refs.out
	if refs.start > 0 {
		binary.BigEndian.PutUint64(positions, uint64(len(out)))
		index.finish(nil)
		out = append(out, index.out...)
	}
	footer := append(header, positions...)
	return append(append(out, footer...), binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(footer))...)
}

// builder appends blocks to out.
type builder struct {
	out         []byte
	start, head int // offsets of the block, which is 0 for the first block of a table, and behind its kind
	last        string
	restarts    []byte
	records     int
}

// begin begins a block.
func (b *builder) begin(kind byte) {
	if b.records > 0 {
		b.start = len(b.out)
	}
	b.last, b.records, b.restarts = "", 0, nil
	b.out = append(b.out, kind, 0, 0, 0)
	b.head = len(b.out)
}

// add appends the key of a record. The caller then appends the value.
func (b *builder) add(key string, value byte) {
	shared := 0
	if b.records%restartEvery == 0 {
		b.restarts = append(b.restarts, bits24(len(b.out)-b.start)...)
	} else {
		for shared < min(len(key), len(b.last)) && key[shared] == b.last[shared] {
			shared++
		}
	}
	b.records, b.last = b.records+1, key
	b.number(uint64(shared))
	b.number(uint64(len(key)-shared)<<3 | uint64(value))
	b.out = append(b.out, key[shared:]...)
}

// number appends a number, seven bits a byte, the highest first. Each byte but the last has another bit, and counts one more.
func (b *builder) number(v uint64) {
	digits := []byte{byte(v & 0x7f)}
	for v >>= 7; v > 0; v = (v - 1) >> 7 {
		digits = append(digits, 0x80|byte((v-1)&0x7f))
	}
	slices.Reverse(digits)
	b.out = append(b.out, digits...)
}

// finish ends the block, if there is one, and adds it to index, if index is not nil.
func (b *builder) finish(index *builder) {
	if b.records == 0 {
		return
	}
	b.out = append(b.out, b.restarts...)
	b.out = binary.BigEndian.AppendUint16(b.out, uint16(len(b.restarts)/3))
	copy(b.out[b.head-3:], bits24(len(b.out)-b.start))
	if index != nil {
		index.add(b.last, 0)
		index.number(uint64(b.start))
	}
}

// bits24 returns a number as three bytes.
func bits24(v int) []byte { return []byte{byte(v >> 16), byte(v >> 8), byte(v)} }
