package objstore

import (
	"crypto/sha1"
	"crypto/sha256"
	"hash"
)

// Algorithm is the hash with which a repository names its objects, and with which git sums its packs and indexes. Its value is the
// number of bytes of a sum. The zero Algorithm is that of the zero [ID], and names nothing.
type Algorithm uint8

// The algorithms that git knows.
const (
	SHA1   Algorithm = sha1.Size
	SHA256 Algorithm = sha256.Size
)

// AlgorithmOf returns the hash with git's name format, "sha1" or "sha256". For any other name it returns SHA1.
func AlgorithmOf(format string) Algorithm {
	if format == SHA256.String() {
		return SHA256
	}
	return SHA1
}

// String returns git's name of the hash: "sha1" or "sha256".
func (a Algorithm) String() string {
	if a == SHA256 {
		return "sha256"
	}
	return "sha1"
}

// Size returns the number of bytes of an id.
func (a Algorithm) Size() int { return int(a) }

// ID returns the id that git gives to an object with this kind and content.
func (a Algorithm) ID(kind Kind, data []byte) ID {
	h := a.begin()
	h.Write(hashHead(kind, int64(len(data))))
	h.Write(data)
	return a.end(h)
}

// EmptyTree returns the id of the tree without entries. git need not store this tree.
func (a Algorithm) EmptyTree() ID { return a.ID(Tree, nil) }

// EmptyBlob returns the id of a file without content.
func (a Algorithm) EmptyBlob() ID { return a.ID(Blob, nil) }

// Sum returns the checksum of data, as an id.
func (a Algorithm) Sum(data []byte) ID {
	h := a.begin()
	h.Write(data)
	return a.end(h)
}

// begin returns the hash, to which nothing is written yet.
func (a Algorithm) begin() hash.Hash {
	if a == SHA256 {
		return sha256.New()
	}
	return sha1.New()
}

// end returns the sum of a hash that begin has returned.
func (a Algorithm) end(h hash.Hash) ID {
	id := ID{size: uint8(a)}
	h.Sum(id.sum[:0])
	return id
}

// Algorithm returns the hash that made the id; 0 for the zero ID.
func (id ID) Algorithm() Algorithm { return Algorithm(id.size) }

// Names reports whether id is the id of an object with this kind and content.
func (id ID) Names(kind Kind, data []byte) bool {
	return !id.IsZero() && id.Algorithm().ID(kind, data) == id
}

// IsEmptyTree reports whether id is the id of the tree without entries.
func (id ID) IsEmptyTree() bool { return id.Names(Tree, nil) }
