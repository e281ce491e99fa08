package objstore

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// maxIDSize is the size of the largest object id git knows, sha256's.
const maxIDSize = 32

// ErrMalformedID is wrapped by the error of [ParseID] and [IDFromBytes].
var ErrMalformedID = errors.New("malformed object id")

// ID names an object. IDs are comparable; the zero ID names no object. An ID has room for the 32
// bytes of sha256 and knows its own size, so the packages above need not know which hash a
// repository uses.
type ID struct {
	sum  [maxIDSize]byte
	size uint8
}

// ParseID reads a full object id: 40 or 64 lower-case hex digits. The id of all zeros, which git
// uses for "no such object", is the zero ID.
func ParseID(s string) (ID, error) {
	if len(s) != 2*sha1.Size && len(s) != 2*maxIDSize {
		return ID{}, fmt.Errorf("%w: %q", ErrMalformedID, s)
	}
	var id ID
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ID{}, fmt.Errorf("%w: %q", ErrMalformedID, s)
		}
	}
	if _, err := hex.Decode(id.sum[:], []byte(s)); err != nil {
		return ID{}, fmt.Errorf("%w: %q", ErrMalformedID, s)
	}
	if id.sum == [maxIDSize]byte{} {
		return ID{}, nil
	}
	id.size = uint8(len(s) / 2)
	return id, nil
}

// IDFromBytes makes an ID of its 20 or 32 raw bytes. All zeros are the zero ID.
func IDFromBytes(b []byte) (ID, error) {
	if len(b) != sha1.Size && len(b) != maxIDSize {
		return ID{}, fmt.Errorf("%w: %d bytes", ErrMalformedID, len(b))
	}
	var id ID
	copy(id.sum[:], b)
	if id != (ID{}) {
		id.size = uint8(len(b))
	}
	return id, nil
}

// String returns the id in lower-case hex. The zero ID is forty zeros.
func (id ID) String() string {
	if id.IsZero() {
		return "0000000000000000000000000000000000000000"
	}
	return hex.EncodeToString(id.sum[:id.size])
}

// Bytes returns the 20 or 32 raw bytes of the id, or nil for the zero ID. The caller owns them.
func (id ID) Bytes() []byte { return bytes.Clone(id.sum[:id.size]) }

// AppendTo appends the raw bytes of the id to b.
func (id ID) AppendTo(b []byte) []byte { return append(b, id.sum[:id.size]...) }

// IsZero reports whether id names no object.
func (id ID) IsZero() bool { return id.size == 0 }

// Compare orders ids as git sorts them, by their bytes.
func (id ID) Compare(other ID) int { return bytes.Compare(id.sum[:id.size], other.sum[:other.size]) }

// MarshalText returns the id as String does. The zero ID is the empty text.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return hex.AppendEncode(nil, id.sum[:id.size]), nil
}

// UnmarshalText is the inverse of MarshalText.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Hash computes the id that git gives an object.
func Hash(kind Kind, data []byte) ID {
	h := sha1.New()
	h.Write(hashHead(kind, int64(len(data))))
	h.Write(data)
	id := ID{size: sha1.Size}
	h.Sum(id.sum[:0])
	return id
}

// hashHead returns the bytes that precede an object's own bytes in its hash.
func hashHead(kind Kind, size int64) []byte {
	head := append(make([]byte, 0, 32), kind.String()...)
	head = append(head, ' ')
	head = strconv.AppendInt(head, size, 10)
	return append(head, 0)
}
