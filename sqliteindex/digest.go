package sqliteindex

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/git-smithers/git-smithers/objstore"
)

// digestSize is the size of a stored digest in bytes.
const digestSize = 32

// digest identifies a set of tips: it is the sum, modulo 2^256, of the SHA-256 of each member. The order of
// the members does not matter, and adding or removing a member costs one hash. Equal digests mean equal sets
// unless a person constructs a collision, which could only hide that person's own runs from a list.
type digest [digestSize / 8]uint64

// add adds the pair of a ref component and a tip to the set of tips that d identifies.
func (d *digest) add(ref string, tip objstore.ID) {
	var carry uint64
	for i, word := range member(ref, tip) {
		d[i], carry = bits.Add64(d[i], word, carry)
	}
}

// remove removes the pair of a ref component and a tip from the set of tips that d identifies. The set must contain
// the pair.
func (d *digest) remove(ref string, tip objstore.ID) {
	var borrow uint64
	for i, word := range member(ref, tip) {
		d[i], borrow = bits.Sub64(d[i], word, borrow)
	}
}

// bytes returns the form in which the database stores d: digestSize bytes, little-endian.
func (d *digest) bytes() []byte {
	out := make([]byte, 0, digestSize)
	for _, word := range d {
		out = binary.LittleEndian.AppendUint64(out, word)
	}
	return out
}

// parseDigest returns the digest that b encodes. It is the inverse of the method bytes. If b has another length
// than digestSize, the error wraps errDamaged.
func parseDigest(b []byte) (digest, error) {
	var d digest
	if len(b) != digestSize {
		return d, damaged("digest of tips")
	}
	for i := range d {
		d[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return d, nil
}

// member returns the hash of the pair (ref, tip) as a digest. A NUL separates the two; a ref component has no
// NUL, so the encoding is unique.
func member(ref string, tip objstore.ID) digest {
	buf := make([]byte, 0, 128)
	buf = append(buf, ref...)
	buf = append(buf, 0)
	sum := sha256.Sum256(tip.AppendTo(buf))
	var d digest
	for i := range d {
		d[i] = binary.LittleEndian.Uint64(sum[8*i:])
	}
	return d
}
