package snapshot

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// ErrInvalid is wrapped by the error about a caller's data that cannot be stored in an entry.
var ErrInvalid = errors.New("invalid")

// ErrLimit is wrapped by the error about a caller's data that is too large or too deeply nested for [Limits] or
// for the format. It wraps ErrInvalid.
var ErrLimit = fmt.Errorf("%w: beyond a limit", ErrInvalid)

// ErrNewerFormat is wrapped by the error about an entry that only a newer version can read. The entry may be
// undamaged.
var ErrNewerFormat = row.ErrNewerFormat

// ErrOlderFormat is wrapped by the error about an entry in a version of the format that this package does not read.
var ErrOlderFormat = errors.New("written in an older format")

// invalid returns an error with the formatted text that wraps ErrInvalid, and the errors that format wraps with
// %w.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// corrupt returns an error that wraps objstore.ErrCorrupt: no encoder of this package has written the object
// id. id is zero if a single row is corrupt.
func corrupt(id objstore.ID, format string, args ...any) error {
	return &objstore.CorruptError{ID: id, Reason: fmt.Sprintf(format, args...)}
}

// unreadable returns the error about name, a file of an entry in the blob id that cannot be decoded because of err.
// If err wraps ErrNewerFormat, so does the result; otherwise, the result wraps objstore.ErrCorrupt.
func unreadable(id objstore.ID, name string, err error) error {
	if errors.Is(err, ErrNewerFormat) {
		return fmt.Errorf("%s in %v: %w", name, id, err)
	}
	return corrupt(id, "%s: %v", name, err)
}
