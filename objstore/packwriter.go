package objstore

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"
)

// packWriter writes a pack, one entry after another. It must be used by one goroutine at a time.
type packWriter struct {
	hash    Algorithm
	out     *bufio.Writer
	sum     hash.Hash
	offset  int64        // of the next entry in the pack
	count   int          // number of entries that the head of the pack claims
	entries []indexEntry // the entries added so far
	deflate deflater
	scratch []byte // memory of the last entry, for reuse
}

// start begins a pack in w with exactly count entries. It returns an error if w fails or a pack cannot have
// count entries. A packWriter may be started again after finish or after an error.
func (p *packWriter) start(w io.Writer, count int) error {
	if int64(count) > 1<<31 {
		return fmt.Errorf("a pack cannot hold %d objects", count)
	}
	p.sum = p.hash.begin()
	w = io.MultiWriter(w, p.sum)
	if p.out == nil {
		p.out = bufio.NewWriterSize(w, 64<<10)
	} else {
		p.out.Reset(w)
	}
	p.offset, p.count = packHeadSize, count
	p.entries = slices.Grow(p.entries[:0], count)
	_, err := p.out.Write(binary.BigEndian.AppendUint32(packMagic[:8:8], uint32(count)))
	return err
}

// addObject adds an object in full, not as a delta. id must be the id of o.
func (p *packWriter) addObject(id ID, o object) error {
	entry := appendEntryHead(p.scratch[:0], entryHead{kind: uint8(o.kind), size: int64(len(o.data))}, p.offset)
	entry, err := p.deflate.appendObject(entry, o.kind, o.data)
	if err != nil {
		return err
	}
	p.scratch = entry
	return p.addEntry(id, entry, nil, 0)
}

// addStream adds an object of size bytes in full, not as a delta. id must be the id of the object. addStream
// deflates the bytes while it reads r to the end. r must have exactly size bytes; addStream does not check
// this.
func (p *packWriter) addStream(id ID, kind Kind, size int64, r io.Reader) error {
	out := &crcWriter{w: p.out}
	if _, err := out.Write(appendEntryHead(p.scratch[:0], entryHead{kind: uint8(kind), size: size}, p.offset)); err != nil {
		return err
	}
	if err := p.deflate.copy(out, r); err != nil {
		return err
	}
	p.entries = append(p.entries, indexEntry{id: id, offset: p.offset, crc: out.sum})
	p.offset += out.size
	return nil
}

// addEntry adds the entry of the object with the given id. The entry is already encoded: prefix, followed by
// size bytes that addEntry reads from rest. rest may be nil if size is 0.
func (p *packWriter) addEntry(id ID, prefix []byte, rest io.Reader, size int64) error {
	e := indexEntry{id: id, offset: p.offset, crc: crc32.ChecksumIEEE(prefix)}
	if _, err := p.out.Write(prefix); err != nil {
		return err
	}
	if size > 0 {
		crc := crcWriter{w: p.out, sum: e.crc}
		if _, err := io.CopyN(&crc, rest, size); err != nil {
			return err
		}
		e.crc = crc.sum
	}
	p.entries = append(p.entries, e)
	p.offset += int64(len(prefix)) + size
	return nil
}

// crcWriter passes bytes on to w. It counts the bytes and computes their CRC-32.
type crcWriter struct {
	w    io.Writer
	sum  uint32 // CRC-32
	size int64
}

// Write writes b to c.w. It adds b to the checksum c.sum, and the length of b to c.size.
func (c *crcWriter) Write(b []byte) (int, error) {
	c.sum = crc32.Update(c.sum, crc32.IEEETable, b)
	c.size += int64(len(b))
	return c.w.Write(b)
}

// finish writes the checksum of the pack and returns it. It returns an error if the number of added
// entries differs from the number given to start.
func (p *packWriter) finish() (ID, error) {
	if len(p.entries) != p.count {
		return ID{}, fmt.Errorf("the pack has %d entries instead of %d", len(p.entries), p.count)
	}
	if err := p.out.Flush(); err != nil {
		return ID{}, err
	}
	sum := p.hash.end(p.sum)
	if _, err := p.out.Write(sum.Bytes()); err != nil {
		return ID{}, err
	}
	return sum, p.out.Flush()
}
