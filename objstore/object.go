package objstore

import (
	"errors"
	"fmt"
	"math"
)

// Kind is the type of an object. The values are those of git's pack format.
type Kind uint8

// The four kinds of git objects.
const (
	Commit Kind = 1
	Tree   Kind = 2
	Blob   Kind = 3
	Tag    Kind = 4
)

// String returns git's name of the kind.
func (k Kind) String() string {
	switch k {
	case Commit:
		return "commit"
	case Tree:
		return "tree"
	case Blob:
		return "blob"
	case Tag:
		return "tag"
	}
	return "unknown"
}

// ErrNotFound is wrapped by the errors about an object that is not in the store.
var ErrNotFound = errors.New("object not found")

// ErrCorrupt is wrapped by the errors about bytes that do not match their id or their format. It is
// always a [*CorruptError].
var ErrCorrupt = errors.New("corrupt object")

// CorruptError describes the damage of an object or a file.
type CorruptError struct {
	ID     ID     // the object; zero if the whole file is damaged
	File   string // base name of the file; "" if it is unknown
	Reason string
}

// Error names the object, the file and the reason.
func (e *CorruptError) Error() string {
	name := "object " + e.ID.String()
	if e.ID.IsZero() {
		name = "file"
	}
	if e.File != "" {
		return fmt.Sprintf("%s in %s: %s", name, e.File, e.Reason)
	}
	return fmt.Sprintf("%s: %s", name, e.Reason)
}

// Is makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Reader reads objects.
type Reader interface {
	// Get returns an object, verified against its id. The bytes are shared and
	// must not be changed. Errors wrap ErrNotFound or ErrCorrupt.
	// Safe for concurrent use.
	Get(id ID) (Kind, []byte, error)
}

// Writer takes new objects. They can be read through it at once. The implementation decides when
// they are durable.
type Writer interface {
	Reader
	// Add takes an object and returns its id. The bytes must not be changed afterwards. Adding an
	// object again does nothing.
	Add(kind Kind, data []byte) ID
}

// A boundedReader checks the size of an object before it takes memory for the object.
type boundedReader interface {
	GetAtMost(id ID, most int64) (Kind, []byte, error)
}

// GetAtMost is r.Get with a bound in bytes. A larger object is a [*CorruptError]; a [Store] reads
// only its head.
func GetAtMost(r Reader, id ID, most int64) (Kind, []byte, error) {
	if bounded, ok := r.(boundedReader); ok {
		return bounded.GetAtMost(id, most)
	}
	kind, data, err := r.Get(id)
	if err == nil && int64(len(data)) > most {
		return 0, nil, &CorruptError{ID: id, Reason: tooLarge(int64(len(data)), most).Error()}
	}
	return kind, data, err
}

// GetBlob is [GetAtMost] for a blob. Another kind is corruption.
func GetBlob(r Reader, id ID, most int64) ([]byte, error) { return getKind(r, id, Blob, most) }

// GetKind is r.Get for an object of one kind. Another kind is corruption, and so is a commit or a
// tree far above any real size. For a blob of a known size, use [GetBlob].
func GetKind(r Reader, id ID, want Kind) ([]byte, error) {
	most := int64(math.MaxInt64)
	switch want {
	case Tree:
		most = maxTreeBytes
	case Commit:
		most = maxCommitBytes
	case Blob, Tag:
	}
	return getKind(r, id, want, most)
}

func getKind(r Reader, id ID, want Kind, most int64) ([]byte, error) {
	kind, data, err := GetAtMost(r, id, most)
	if err != nil {
		return nil, err
	}
	if kind != want {
		return nil, &CorruptError{ID: id, Reason: fmt.Sprintf("is a %v, expected a %v", kind, want)}
	}
	return data, nil
}
