package reftable

import (
	"context"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
)

// Change moves one ref from Old to New. A zero Old means that the ref must not exist. A zero New deletes the ref.
type Change struct {
	Name     string
	Old, New objstore.ID
}

// Options are the options of Append.
type Options struct {
	FS fsx.FS // makes all writes; nil means the real file system

	// Proof is the path of a file that does not exist, on the file system of the stack. The lock of the stack is made as a
	// hard link to it, so that RemoveDead knows the lock of a dead process. The caller must note the path before Append, and
	// may forget it after Append. If Proof is empty or the file system has no hard links, the lock is a file of its own.
	Proof string
	// Turns is the path of a file in which the processes of this program agree who appends next; empty means that they
	// do not agree. Append makes the file and a second file, with the suffix ".wait".
	Turns string
	// Patience is how long Append waits for its turn and for the lock of another process; 0 means that it does not wait.
	Patience time.Duration

	Sync      bool // put all bytes on stable storage before the refs move
	SyncNames bool // put the names of files on stable storage, too, before Append returns

	// Guard, if not nil, is called with the lock held, after all refs have their expected values and before anything is
	// written. view has the values. Its error ends Append.
	Guard func(view *View) error
	// Ready, if not nil, is called with the lock held, after everything is written and before the refs move. Its error ends Append.
	Ready func() error
}

// Append makes all changes or none, and returns the stack with them. Each New must be an object that is already on
// stable storage. No table of the stack may be damaged. The names must be valid names of refs; Append compares only
// names with names. It writes no reflog and runs no hook.
//
// If a ref does not have its Old value, the error is a *MismatchError. An *ObstructedError means that the name of
// another ref is a folder of a new name, or the reverse. A *LockedError means that another process held the lock of the
// stack for longer than Options.Patience. After an error, no ref has moved, unless the error is that of the disk after
// the move: then a Look tells.
func (s *Stack) Append(ctx context.Context, changes []Change, opts Options) (*View, error) {
	return nil, nil
}

// RemoveDead removes the lock of the stack and the file proof if the lock is a link to proof (see Options.Proof).
// Otherwise it removes only proof. The caller must know that the process that noted proof is dead, and must hold the flock
// that says so. It reports whether it removed the lock. A missing file is not an error.
func (s *Stack) RemoveDead(files fsx.FS, proof string) (bool, error) { return false, nil }
