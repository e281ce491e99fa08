package sqliteindex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/git-smithers/git-smithers/objstore"
)

// ErrBusy means that another process has kept the database locked for longer than the index waits.
var ErrBusy = errors.New("index is locked by another process")

// ErrClosed means that the [Index] was closed. Methods that use the database return it.
var ErrClosed = errors.New("index is closed")

// RunError means that a run is not in the index because its history cannot be read. Other runs are not
// affected, and the next Sync tries the run again.
type RunError struct {
	Ref string      // the run's ref component
	Tip objstore.ID // the target of its tip ref
	Err error       // wraps objstore.ErrNotFound, objstore.ErrCorrupt or an error of package snapshot
}

// Error returns a message with the run's ref and the reason.
func (e *RunError) Error() string { return fmt.Sprintf("run %s: %v", e.Ref, e.Err) }

// Unwrap returns e.Err, the reason.
func (e *RunError) Unwrap() error { return e.Err }

// errDamaged means that the database file must be rebuilt. A caller of this package gets it only if rebuilding did not
// help.
var errDamaged = errors.New("index is damaged")

// databaseError is an error of the database itself, not of the refs or objects
// that are indexed.
type databaseError struct{ err error }

// Error returns the message of the wrapped error, after "index: ".
func (e *databaseError) Error() string { return "index: " + e.err.Error() }

// Unwrap returns the error of SQLite or of the file system.
func (e *databaseError) Unwrap() error { return e.err }

// Is reports whether target is the system error for SQLite's result code: ENOSPC for a full disk, EACCES for a missing
// permission, or EIO for a failing disk. For a database that stays locked, it is ErrBusy.
func (e *databaseError) Is(target error) bool {
	switch code(e.err) {
	case sqlite3.SQLITE_FULL:
		return target == syscall.ENOSPC
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return target == syscall.EACCES
	case sqlite3.SQLITE_IOERR:
		return target == syscall.EIO
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return target == ErrBusy
	}
	return false
}

// errOvertaken means that the index must be read again: another process changed it between reading and
// writing, or one of its runs is marked as outdated.
var errOvertaken = errors.New("index was changed by another process")

// damaged returns an error that wraps errDamaged. what describes the damage.
func damaged(what string) error { return fmt.Errorf("%w: %s", errDamaged, what) }

// code returns SQLite's primary result code of err, or 0 if err is not an error of SQLite.
func code(err error) int {
	coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	if !ok {
		return sqlite3.SQLITE_OK
	}
	return coded.Code() & 0xff
}

// isTransient reports whether the same operation may succeed later: the database was busy or locked, or
// reading or writing the disk failed.
func isTransient(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR:
		return true
	}
	return false
}

// remedy is the reaction to a database error.
type remedy int

const (
	noRemedy  remedy = iota // return the error
	makeAnew                // replace the file: it is foreign or damaged
	useMemory               // continue in memory: no file can be written
)

// remedyFor returns the remedy for err. A file that is damaged, of another schema, or not accessible is made anew. All
// statements are fixed, so a statement that violates the schema or its constraints means that the database is damaged.
// After a full or failing disk, or an error of a file operation, the index continues in memory. If err is not a
// *databaseError, or has another reason, such as a busy database, the result is noRemedy.
func remedyFor(err error) remedy {
	if _, ok := errors.AsType[*databaseError](err); !ok {
		return noRemedy
	}
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR,
		sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return makeAnew
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		return useMemory
	}
	if errors.Is(err, errDamaged) {
		return makeAnew
	}
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	if path || link {
		return useMemory
	}
	return noRemedy
}
