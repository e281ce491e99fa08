package snapshot

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// ErrInvalid is wrapped by errors about a caller's data that no entry can hold.
var ErrInvalid = errors.New("invalid")

// ErrLimit is wrapped by errors about a caller's data that is too large or too deeply nested for [Limits]. It
// wraps ErrInvalid.
var ErrLimit = fmt.Errorf("%w: beyond a limit", ErrInvalid)

// ErrNewerFormat is wrapped by errors about entries that only a newer version can read. They may be undamaged.
var ErrNewerFormat = row.ErrNewerFormat

// invalid returns an error that wraps ErrInvalid.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// corrupt returns the error about an object that no encoder of this package has written. id is zero if a single
// row is corrupt.
func corrupt(id objstore.ID, format string, args ...any) error {
	return &objstore.CorruptError{ID: id, Reason: fmt.Sprintf(format, args...)}
}
