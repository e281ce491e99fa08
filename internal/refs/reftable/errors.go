package reftable

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
)

// The errors of this package, which callers compare with errors.Is.
var (
	ErrAbsent     = errors.New("no reftable")               // the folder of the stack does not exist
	ErrDamaged    = errors.New("damaged reftable")          // always a *DamagedError
	ErrForeign    = errors.New("reftable of another hash")  // always a *DamagedError
	ErrLocked     = errors.New("reftable is locked")        // always a *LockedError
	ErrMismatch   = errors.New("ref moved")                 // always a *MismatchError
	ErrNoLinks    = errors.New("no hard links")             // the file system refuses the link of Options.Proof; nothing has changed
	ErrObstructed = errors.New("another ref is in the way") // always an *ObstructedError
)

// DamagedError means that the list of a stack or a table cannot be read. It wraps ErrForeign if the table holds ids of
// another hash than the repository's, and ErrDamaged otherwise.
type DamagedError struct {
	Path    string // the path of tables.list or of a table
	Reason  string // what is damaged, in words for a person
	Foreign bool   // the table holds ids of another hash
}

// Error returns a message with the path and the reason.
func (e *DamagedError) Error() string { return fmt.Sprintf("%v: %s: %s", e.Unwrap(), e.Path, e.Reason) }

// Unwrap returns ErrForeign or ErrDamaged.
func (e *DamagedError) Unwrap() error {
	if e.Foreign {
		return ErrForeign
	}
	return ErrDamaged
}

// LockedError means that another process holds the lock of a stack. No ref has moved.
type LockedError struct {
	Path string // the path of the lock, or of Options.Turns if another process of this program had its turn
}

// Error returns a message with the path of the lock.
func (e *LockedError) Error() string { return fmt.Sprintf("%v: %s", ErrLocked, e.Path) }

// Unwrap returns ErrLocked.
func (e *LockedError) Unwrap() error { return ErrLocked }

// MismatchError means that a ref did not have the value that a change expected. No ref has moved.
type MismatchError struct {
	Name     string
	Expected objstore.ID // zero if the ref must not exist
	Found    Record      // the zero Record if the ref does not exist
}

// Error returns a message with the ref, its value and the expected value.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%v: %s is at %s%v, but was expected at %v", ErrMismatch, e.Name, e.Found.Target, e.Found.ID, e.Expected)
}

// Unwrap returns ErrMismatch.
func (e *MismatchError) Unwrap() error { return ErrMismatch }

// ObstructedError means that a new ref and another ref cannot exist together, because one name is a folder of the other
// name. No ref has moved.
type ObstructedError struct {
	Name, Other string // the new ref and the other ref
}

// Error returns a message with both refs.
func (e *ObstructedError) Error() string {
	return fmt.Sprintf("%v of %s: %s", ErrObstructed, e.Name, e.Other)
}

// Unwrap returns ErrObstructed.
func (e *ObstructedError) Unwrap() error { return ErrObstructed }
