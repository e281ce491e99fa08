package refs

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
)

// Errors of this package.
var (
	ErrNotFound    = errors.New("ref not found")
	ErrConflict    = errors.New("ref moved")                 // always a *ConflictError
	ErrBroken      = errors.New("broken ref")                // an empty or garbage ref file; always a *BrokenError
	ErrMalformed   = errors.New("malformed ref name")        // a name or run id that git cannot hold
	ErrLocked      = errors.New("ref is locked")             // somebody held the lock for longer than Options.Patience
	ErrObstructed  = errors.New("another ref is in the way") // refs/smithers/a beside refs/smithers/a/1: git allows one of them
	ErrUnsupported = errors.New("unsupported ref storage")   // reftable
)

// ConflictError says that a ref was not where an update expected it. Nothing was
// written.
type ConflictError struct {
	Name             Name
	Expected, Actual objstore.ID // zero: no such ref
}

// Error tells where the ref is and where it was expected.
func (e *ConflictError) Error() string {
	switch {
	case e.Actual.IsZero():
		return fmt.Sprintf("%s does not exist, expected it at %v", e.Name, e.Expected)
	case e.Expected.IsZero():
		return fmt.Sprintf("%s exists already, at %v", e.Name, e.Actual)
	default:
		return fmt.Sprintf("%s is at %v, expected it at %v", e.Name, e.Actual, e.Expected)
	}
}

// Unwrap is ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// BrokenError says that what is stored for a ref is no id. Name is empty when a
// line of packed-refs is broken.
type BrokenError struct {
	Name     Name
	Path     string // the file
	Reason   string
	Symbolic bool // it is a symbolic ref, which git could read
}

// Error tells what is wrong with which ref.
func (e *BrokenError) Error() string {
	what := string(e.Name)
	if what == "" {
		what = e.Path
	}
	return fmt.Sprintf("%v: %s: %s", ErrBroken, what, e.Reason)
}

// Unwrap is ErrBroken.
func (e *BrokenError) Unwrap() error { return ErrBroken }

// Empty reports whether the file of the ref holds nothing at all.
func (e *BrokenError) Empty() bool { return e.Reason == emptyFile }
