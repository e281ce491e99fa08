package objstore

import (
	"errors"
	"io"
)

// The entry types of a pack that are not kinds of objects.
const (
	offsetDelta = 6 // the base is an earlier entry of the pack, given by its distance
	idDelta     = 7 // the base is given by its id
)

// entryHead precedes the zlib stream of a pack entry.
type entryHead struct {
	kind   uint8 // a Kind, offsetDelta or idDelta
	size   int64 // of the inflated stream, in bytes
	base   int64 // of an offsetDelta: offset of the base in the pack
	baseID ID    // of an idDelta
	length int64 // of the head itself, in bytes
}

func (h entryHead) isDelta() bool { return h.kind == offsetDelta || h.kind == idDelta }

var errEntryHead = errors.New("malformed entry head")

// readEntryHead reads the head of the entry that starts at offset at. It accepts only the bytes
// that appendEntryHead writes, with numbers in their shortest form. Other bytes are errEntryHead.
// Errors of r are returned as they are.
func readEntryHead(r io.ByteReader, at int64) (entryHead, error) {
	b, err := r.ReadByte()
	if err != nil {
		return entryHead{}, err
	}
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
		return readBaseOffset(r, h, at)
	case idDelta:
		return readBaseID(r, h)
	}
	return entryHead{}, errEntryHead
}

// readBaseOffset reads the distance to the base: seven bits a byte, the highest first. Each
// continuation adds one, so that every distance has one encoding.
func readBaseOffset(r io.ByteReader, h entryHead, at int64) (entryHead, error) {
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
	if distance <= 0 || distance > at-packHeadSize {
		return entryHead{}, errEntryHead
	}
	h.base = at - distance
	return h, nil
}

func readBaseID(r io.ByteReader, h entryHead) (entryHead, error) {
	var raw [idSize]byte
	for i := range raw {
		b, err := r.ReadByte()
		if err != nil {
			return entryHead{}, err
		}
		raw[i] = b
	}
	id, err := IDFromBytes(raw[:])
	if err != nil || id.IsZero() {
		return entryHead{}, errEntryHead
	}
	h.baseID = id
	h.length += idSize
	return h, nil
}

// appendEntryHead appends the head of the entry that starts at offset at.
func appendEntryHead(out []byte, h entryHead, at int64) []byte {
	b := h.kind<<4 | uint8(h.size&15)
	for rest := h.size >> 4; rest > 0; rest >>= 7 {
		out = append(out, b|0x80)
		b = uint8(rest & 0x7f)
	}
	out = append(out, b)
	switch h.kind {
	case offsetDelta:
		return appendDistance(out, at-h.base)
	case idDelta:
		return h.baseID.AppendTo(out)
	}
	return out
}

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
