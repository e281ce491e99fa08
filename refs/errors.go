package refs

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
)

// The errors of this package, which callers compare with errors.Is.
var (
	ErrNotFound    = errors.New("ref not found")
	ErrConflict    = errors.New("ref moved")                 // a ref does not have its expected value; always a *ConflictError
	ErrBroken      = errors.New("broken ref")                // an empty or invalid ref file; always a *BrokenError
	ErrDamaged     = errors.New("damaged reftable")          // git stores the refs in reftables, and no ref can be read
	ErrMalformed   = errors.New("malformed ref name")        // an invalid run id or ref name
	ErrLocked      = errors.New("ref is locked")             // another process held the lock for longer than Options.Patience
	ErrObstructed  = errors.New("another ref is in the way") // git allows only one of refs/smithers/a and refs/smithers/a/1
	ErrUnsupported = errors.New("unsupported ref storage")   // the repository stores its refs neither in files nor in reftables, or git moves them
)

// ConflictError means that a ref did not have the value that an update expected. No ref has moved.
type ConflictError struct {
	Name             Name
	Expected, Actual objstore.ID // zero means that the ref does not exist
}

// Error returns a message with the ref, its value and the expected value.
func (e *ConflictError) Error() string {
	switch {
	case e.Actual.IsZero():
		return fmt.Sprintf("%s does not exist, but was expected at %v", e.Name, e.Expected)
	case e.Expected.IsZero():
		return fmt.Sprintf("%s already exists, at %v", e.Name, e.Actual)
	default:
		return fmt.Sprintf("%s is at %v, but was expected at %v", e.Name, e.Actual, e.Expected)
	}
}

// Unwrap returns ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// BrokenError means that the stored value of a ref is not an object id. Name is empty if a line of
// packed-refs is broken.
type BrokenError struct {
	Name     Name
	Path     string // the path of the ref's file or of packed-refs
	Reason   string // the reason why the value is invalid, in words for a person
	Symbolic bool   // the file holds a symbolic ref, which git can read
}

// Error returns a message with the ref, or the file if the ref is unknown, and the reason.
func (e *BrokenError) Error() string {
	what := string(e.Name)
	if what == "" {
		what = e.Path
	}
	return fmt.Sprintf("%v: %s: %s", ErrBroken, what, e.Reason)
}

// Unwrap returns ErrBroken.
func (e *BrokenError) Unwrap() error { return ErrBroken }

// Empty reports whether the ref's file is empty.
func (e *BrokenError) Empty() bool { return e.Reason == emptyFile }
