package objstore

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// maxIDSize is the size in bytes of the largest object id that git knows, a sha256.
const maxIDSize = 32

// ErrMalformedID is wrapped by the errors of [ParseID] and [IDFromBytes].
var ErrMalformedID = errors.New("malformed object id")

// ID names an object. IDs are comparable; the zero ID names no object. An ID has room for the 32 bytes of a
// sha256 and contains its own size, so packages that use this package need not know which hash a repository
// uses.
type ID struct {
	sum  [maxIDSize]byte
	size uint8
}

// ParseID returns the ID for 40 or 64 lower-case hex digits. It returns the zero ID if all digits are 0,
// because git means "no such object" by this id. For any other text the error wraps [ErrMalformedID].
func ParseID(s string) (ID, error) {
	if len(s) != 2*SHA1.Size() && len(s) != 2*SHA256.Size() {
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

// IDFromBytes returns the ID with these 20 or 32 raw bytes, or the zero ID if all bytes are zero. For another
// number of bytes the error wraps [ErrMalformedID].
func IDFromBytes(b []byte) (ID, error) {
	if len(b) != SHA1.Size() && len(b) != SHA256.Size() {
		return ID{}, fmt.Errorf("%w: %d bytes", ErrMalformedID, len(b))
	}
	var id ID
	copy(id.sum[:], b)
	if id != (ID{}) {
		id.size = uint8(len(b))
	}
	return id, nil
}

// String returns the id in lower-case hex. It returns forty zeros for the zero ID.
func (id ID) String() string {
	if id.IsZero() {
		return "0000000000000000000000000000000000000000"
	}
	return hex.EncodeToString(id.sum[:id.size])
}

// Bytes returns a copy of the 20 or 32 raw bytes of the id, or an empty slice for the zero ID.
func (id ID) Bytes() []byte { return bytes.Clone(id.sum[:id.size]) }

// AppendTo appends the raw bytes of the id to b and returns the result. For the zero ID it returns b unchanged.
func (id ID) AppendTo(b []byte) []byte { return append(b, id.sum[:id.size]...) }

// IsZero reports whether id is the zero ID, which is the id of no object.
func (id ID) IsZero() bool { return id.size == 0 }

// Compare returns -1 if git sorts id before other, 0 if they are equal, and 1 if git sorts id after other. git
// sorts ids by their bytes.
func (id ID) Compare(other ID) int { return bytes.Compare(id.sum[:id.size], other.sum[:other.size]) }

// MarshalText returns the id in lower-case hex, or an empty text for the zero ID. It never returns
// an error.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return hex.AppendEncode(nil, id.sum[:id.size]), nil
}

// UnmarshalText sets id to the ID that [ParseID] returns for text, or to the zero ID if text is empty. If text
// is malformed, the error wraps [ErrMalformedID], and id stays unchanged.
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

// hashHead returns the bytes that git hashes before the bytes of an object: the kind, the size and
// a NUL.
func hashHead(kind Kind, size int64) []byte {
	head := append(make([]byte, 0, 32), kind.String()...)
	head = append(head, ' ')
	head = strconv.AppendInt(head, size, 10)
	return append(head, 0)
}
