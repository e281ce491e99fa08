package objstore

import (
	"errors"
	"io"
)

// The entry types of a pack that are not kinds of objects.
const (
	offsetDelta = 6 // a delta that names its base, an earlier entry, by the distance in bytes
	idDelta     = 7 // a delta that names its base by the base's id
)

// entryHead is the head of a pack entry, which precedes the entry's zlib stream.
type entryHead struct {
	kind   uint8 // a Kind, offsetDelta or idDelta
	size   int64 // size of the inflated stream in bytes
	base   int64 // offset of the base in the pack; only for an offsetDelta
	baseID ID    // id of the base; only for an idDelta
	length int64 // length of the head itself in bytes
}

// isDelta reports whether the entry is a delta of either type.
func (h entryHead) isDelta() bool { return h.kind == offsetDelta || h.kind == idDelta }

// errEntryHead is the error about an entry head that does not have git's format.
var errEntryHead = errors.New("malformed entry head")

// readEntryHead reads the head of an entry from r. The numbers in the head must have their shortest form, as
// appendEntryHead writes them. offset is the offset at which the entry starts. If the head is malformed, the error is
// errEntryHead. readEntryHead returns errors of r unchanged.
func readEntryHead(r io.ByteReader, offset int64, hash Algorithm) (entryHead, error) {
	b, err := r.ReadByte()
	if err != nil {
		return entryHead{}, err
	}
	// The first byte has the kind and the lowest four bits of the size; later bytes have seven bits each.
	h := entryHead{kind: b >> 4 & 7, size: int64(b & 15), length: 1}
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = r.ReadByte(); err != nil {
			return entryHead{}, err
		}
		if shift > 53 || b == 0 {
			return entryHead{}, errEntryHead
		}
		h.size |= int64(b&0x7f) << shift
		h.length++
	}
	switch h.kind {
	case uint8(Commit), uint8(Tree), uint8(Blob), uint8(Tag):
		return h, nil
	case offsetDelta:
		return readBaseOffset(r, h, offset)
	case idDelta:
		return readBaseID(r, h, hash)
	}
	return entryHead{}, errEntryHead
}

// readBaseOffset reads the distance from an entry back to its base, and returns h with base and length set. offset is
// the offset at which the entry starts. A byte has seven bits of the distance, the highest bits first. Each
// continuation adds one, so every distance has only one encoding. If the base would be before the first entry of the
// pack, or not before this entry, the error is errEntryHead.
func readBaseOffset(r io.ByteReader, h entryHead, offset int64) (entryHead, error) {
	var distance int64
	for {
		b, err := r.ReadByte()
		if err != nil {
			return entryHead{}, err
		}
		h.length++
		distance |= int64(b & 0x7f)
		if b&0x80 == 0 {
			break
		}
		if distance >= 1<<54 {
			return entryHead{}, errEntryHead
		}
		distance = (distance + 1) << 7
	}
	if distance <= 0 || distance > offset-packHeadSize {
		return entryHead{}, errEntryHead
	}
	h.base = offset - distance
	return h, nil
}

// readBaseID reads the id of the base, and returns h with baseID and length set. If the id is zero, the error is
// errEntryHead.
func readBaseID(r io.ByteReader, h entryHead, hash Algorithm) (entryHead, error) {
	raw := make([]byte, hash)
	for i := range raw {
		b, err := r.ReadByte()
		if err != nil {
			return entryHead{}, err
		}
		raw[i] = b
	}
	id, err := IDFromBytes(raw)
	if err != nil || id.IsZero() {
		return entryHead{}, errEntryHead
	}
	h.baseID = id
	h.length += int64(hash)
	return h, nil
}

// appendEntryHead appends the head h of an entry to out, and returns the result. offset is the offset at which the
// entry starts. appendEntryHead ignores h.length.
func appendEntryHead(out []byte, h entryHead, offset int64) []byte {
	b := h.kind<<4 | uint8(h.size&15)
	for rest := h.size >> 4; rest > 0; rest >>= 7 {
		out = append(out, b|0x80)
		b = uint8(rest & 0x7f)
	}
	out = append(out, b)
	switch h.kind {
	case offsetDelta:
		return appendDistance(out, offset-h.base)
	case idDelta:
		return h.baseID.AppendTo(out)
	}
	return out
}

// appendDistance appends distance to out, in the encoding that readBaseOffset reads, and returns the result.
// distance is the number of bytes from an entry back to its base.
func appendDistance(out []byte, distance int64) []byte {
	var digits [10]byte
	i := len(digits) - 1
	digits[i] = uint8(distance & 0x7f)
	for distance >>= 7; distance > 0; distance >>= 7 {
		distance--
		i--
		digits[i] = 0x80 | uint8(distance&0x7f)
	}
	return append(out, digits[i:]...)
}
