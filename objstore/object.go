package objstore

import (
	"errors"
	"fmt"
	"math"
)

// Kind is the type of an object. Its values are the type numbers of git's pack format.
type Kind uint8

// The four kinds of git objects.
const (
	Commit Kind = 1
	Tree   Kind = 2
	Blob   Kind = 3
	Tag    Kind = 4
)

// String returns git's name of the kind, or "unknown" for a number that is not a kind.
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

// ErrNotFound is wrapped by the errors about an object that the store does not have.
var ErrNotFound = errors.New("object not found")

// ErrCorrupt is wrapped by the errors about bytes that do not match their id or their format. Each
// of them is a [*CorruptError].
var ErrCorrupt = errors.New("corrupt object")

// CorruptError is the error about an object or a file that is damaged or too large. For [errors.Is], it is
// [ErrCorrupt].
type CorruptError struct {
	ID     ID     // the object; zero if the whole file is damaged
	File   string // base name of the file; "" if it is unknown
	Reason string
}

// Error returns a text with the object, the file if it is known, and the reason.
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

// Is reports whether target is [ErrCorrupt], for [errors.Is].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Reader returns objects by their ids.
type Reader interface {
	// Get returns the kind and the bytes of an object, verified against its id. The bytes are shared and must
	// not be changed. The error wraps ErrNotFound if there is no such object, and ErrCorrupt if the object is
	// damaged or too large. Any other error is about reading files. Get is safe for concurrent use.
	Get(id ID) (Kind, []byte, error)
}

// Writer takes new objects. Get returns an added object at once. The implementation decides when an object is
// on stable storage.
type Writer interface {
	Reader
	// Add adds an object and returns its id. The caller must not change data afterwards. Adding an
	// object again does nothing.
	Add(kind Kind, data []byte) ID
}

// HashOf returns the hash with which a Reader names its objects: the result of its method Hash() Algorithm, or SHA1 without this method.
func HashOf(r Reader) Algorithm {
	if hashed, ok := r.(interface{ Hash() Algorithm }); ok {
		return hashed.Hash()
	}
	return SHA1
}

// A boundedReader is a Reader that checks the size of an object before it takes memory for the
// object.
type boundedReader interface {
	GetAtMost(id ID, limit int64) (Kind, []byte, error)
}

// GetAtMost returns an object as r.Get does, if the object has at most limit bytes. For a larger object the
// error is a [*CorruptError]; only a [Batch] returns its uncommitted objects at any size. A [Store] reads only
// the head of a larger object. A reader without a GetAtMost method reads the whole object first.
func GetAtMost(r Reader, id ID, limit int64) (Kind, []byte, error) {
	if bounded, ok := r.(boundedReader); ok {
		return bounded.GetAtMost(id, limit)
	}
	kind, data, err := r.Get(id)
	if err == nil && int64(len(data)) > limit {
		return 0, nil, &CorruptError{ID: id, Reason: tooLarge(int64(len(data)), limit).Error()}
	}
	return kind, data, err
}

// GetBlob returns the content of the blob with the given id. For a blob of more than limit bytes, and for an
// object of another kind, the error is a [*CorruptError].
func GetBlob(r Reader, id ID, limit int64) ([]byte, error) { return getKind(r, id, Blob, limit) }

// GetKind returns the bytes of the object with the given id. want is the expected kind. For an object of
// another kind, a tree of more than maxTreeBytes, and a commit of more than maxCommitBytes, the error is a
// [*CorruptError]. To limit the size of a blob, use [GetBlob].
func GetKind(r Reader, id ID, want Kind) ([]byte, error) {
	limit := int64(math.MaxInt64)
	switch want {
	case Tree:
		limit = maxTreeBytes
	case Commit:
		limit = maxCommitBytes
	case Blob, Tag:
	}
	return getKind(r, id, want, limit)
}

// getKind returns the bytes of the object with the given id. For an object of another kind than want, and for
// an object of more than limit bytes, the error is a [*CorruptError].
func getKind(r Reader, id ID, want Kind, limit int64) ([]byte, error) {
	kind, data, err := GetAtMost(r, id, limit)
	if err != nil {
		return nil, err
	}
	if kind != want {
		return nil, &CorruptError{ID: id, Reason: fmt.Sprintf("is a %v, expected a %v", kind, want)}
	}
	return data, nil
}
