package snapshot

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// ErrInvalid is wrapped by the error about a caller's data that cannot be stored in an entry.
var ErrInvalid = errors.New("invalid")

// ErrLimit is wrapped by the error about a caller's data that is too large or too deeply nested for [Limits] or
// for the format. It wraps ErrInvalid.
var ErrLimit = fmt.Errorf("%w: beyond a limit", ErrInvalid)

// ErrNewerFormat is wrapped by the error about an entry that only a newer version can read. The entry may be
// undamaged.
var ErrNewerFormat = row.ErrNewerFormat

// ErrOlderFormat is wrapped by the error about an entry or a tombstone in a version of the format that this package
// does not read.
var ErrOlderFormat = errors.New("written in an older format")

// invalid returns an error with the formatted text. The error wraps ErrInvalid and the errors that format wraps
// with %w.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// corrupt returns an error that wraps objstore.ErrCorrupt and has the formatted text. The error means that no encoder
// of this package has written the object with the given id. If a single row is corrupt, id is zero.
func corrupt(id objstore.ID, format string, args ...any) error {
	return &objstore.CorruptError{ID: id, Reason: fmt.Sprintf(format, args...)}
}

// unreadable returns the error for a file in an entry's tree that cannot be decoded. id is the id of the file's blob,
// name is the name of the file, and err is the reason. If err wraps ErrNewerFormat, so does the result. Otherwise,
// the result wraps objstore.ErrCorrupt.
func unreadable(id objstore.ID, name string, err error) error {
	if errors.Is(err, ErrNewerFormat) {
		return fmt.Errorf("%s in %v: %w", name, id, err)
	}
	return corrupt(id, "%s: %v", name, err)
}
