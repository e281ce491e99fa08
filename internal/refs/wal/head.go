// Package wal is the format of the write-ahead log, in which a process acknowledges captures before it makes a pack and
// moves refs. It reads and writes bytes in memory and touches no file. Package writeahead writes the files.
//
// A log is a head of [HeadSize] bytes and then records, only ever appended. All numbers are little endian, and all checksums
// are CRC-32C. Each record's checksum begins with the checksum of the record before it, so a record counts only if
// everything before it is whole. See decision 51.
package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
)

// HeadSize is the number of bytes of a log's head, and the offset of its first record.
const HeadSize = 64

// MarkOffset is the offset of the mark, which ends the head. A writer replaces the mark, and nothing else, in place.
const MarkOffset = 48

// ErrVersion is wrapped by the error about a log that another version of the format describes: its head is not this version's,
// or a whole record has a part that this version does not know. Which runs have captures in such a log cannot be known.
var ErrVersion = errors.New("the write-ahead log has another format")

// ErrUnfinished is wrapped by the error about a log that ends before or with a head that is not whole. The process that made the
// log died before it appended a record, so the log can be removed.
var ErrUnfinished = errors.New("the head of the write-ahead log is not whole")

// ErrDamaged is wrapped by the error about a log with a damaged head and more bytes. The bytes can be records that nobody has
// published, so the log must be kept.
var ErrDamaged = errors.New("the head of the write-ahead log is damaged")

// magic is the first text of a log, with the version of the format.
const magic = "gsjrnl1\n"

// magicFamily is the part of magic that all versions have.
const magicFamily = "gsjrnl"

// The hashes that a head can name.
const (
	hashSHA1   = 1
	hashSHA256 = 2
)

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// Head is the beginning of a log.
type Head struct {
	IDSize int      // the number of bytes of an object id: 20 for sha1, 32 for sha256
	Random [16]byte // differs in every log
	MadeMs uint64   // when the log was made, in milliseconds of Unix time
	Mark   Mark
}

// Mark is the end of the published part of a log. Readers begin there. Without a valid mark, they begin at the first record.
type Mark struct {
	Offset int64  // the end of the last published record
	sum    uint32 // the checksum of that record or, before the first record, of the head
}

// Append appends the head to b and returns the result. It writes no mark, whatever h.Mark is: a new log has nothing published.
func (h Head) Append(b []byte) []byte {
	start := len(b)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, HeadSize)
	hash := uint32(hashSHA1)
	if h.IDSize == 32 {
		hash = hashSHA256
	}
	b = binary.LittleEndian.AppendUint32(b, hash)
	b = append(b, h.Random[:]...)
	b = binary.LittleEndian.AppendUint64(b, h.MadeMs)
	sum := crc32.Checksum(b[start:], castagnoli())
	b = binary.LittleEndian.AppendUint32(b, sum)
	b = append(b, 0, 0, 0, 0)
	return Mark{HeadSize, sum}.Append(b)
}

// Append appends the bytes of the mark to b and returns the result.
func (m Mark) Append(b []byte) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Offset))
	b = binary.LittleEndian.AppendUint32(b, m.sum)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli()))
}

// ParseHead returns the head of a log. log has all bytes of the log, or more than [HeadSize] if the log has more. If the mark is
// damaged, ParseHead returns the mark of a log with nothing published. The error wraps ErrVersion, ErrUnfinished or ErrDamaged.
func ParseHead(log []byte) (Head, error) {
	if len(log) >= len(magic) && string(log[:len(magic)]) != magic && string(log[:len(magicFamily)]) == magicFamily {
		return Head{}, fmt.Errorf("%w: it begins with %q", ErrVersion, log[:len(magic)])
	}
	if len(log) < HeadSize || string(log[:len(magic)]) != magic {
		return Head{}, noHead(log)
	}
	sum := binary.LittleEndian.Uint32(log[40:])
	if crc32.Checksum(log[:40], castagnoli()) != sum {
		return Head{}, noHead(log)
	}
	h := Head{MadeMs: binary.LittleEndian.Uint64(log[32:]), Mark: Mark{HeadSize, sum}}
	copy(h.Random[:], log[16:])
	size, hash := binary.LittleEndian.Uint32(log[8:]), binary.LittleEndian.Uint32(log[12:])
	switch {
	case size != HeadSize || !bytes.Equal(log[44:MarkOffset], make([]byte, 4)):
		return Head{}, fmt.Errorf("%w: a head of %d bytes", ErrVersion, size)
	case hash == hashSHA1:
		h.IDSize = 20
	case hash == hashSHA256:
		h.IDSize = 32
	default:
		return Head{}, fmt.Errorf("%w: hash %d", ErrVersion, hash)
	}
	if mark, ok := parseMark(log[MarkOffset:HeadSize]); ok {
		h.Mark = mark
	}
	return h, nil
}

// noHead returns the error about a log whose head is not whole.
func noHead(log []byte) error {
	if len(log) > HeadSize {
		return ErrDamaged
	}
	return fmt.Errorf("%w: the log has %d bytes", ErrUnfinished, len(log))
}

// parseMark returns the mark in these bytes, and false if the bytes are damaged.
func parseMark(b []byte) (Mark, bool) {
	m := Mark{int64(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint32(b[8:])}
	whole := binary.LittleEndian.Uint32(b[12:]) == crc32.Checksum(b[:12], castagnoli())
	return m, whole && m.Offset >= HeadSize && m.Offset%8 == 0
}
