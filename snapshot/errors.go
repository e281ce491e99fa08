package snapshot

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// ErrInvalid is wrapped by the errors about what a caller handed in and no entry
// can hold.
var ErrInvalid = errors.New("invalid")

// ErrLimit is wrapped by the errors about what is nested too deep or too large for
// [Limits]. It is an ErrInvalid too.
var ErrLimit = fmt.Errorf("%w: beyond a limit", ErrInvalid)

// ErrNewerFormat is wrapped by the errors about entries that this version does not
// know how to read, though they need not be damaged.
var ErrNewerFormat = row.ErrNewerFormat

// invalid is an error that wraps ErrInvalid.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// corrupt is the error about an object that no encoder of this package wrote; id
// is zero where a row and not a whole object is meant.
func corrupt(id objstore.ID, format string, args ...any) error {
	return &objstore.CorruptError{ID: id, Reason: fmt.Sprintf(format, args...)}
}
