package source

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"
)

// What is wrong with a database; errors of this package wrap one of these, or are of the
// system. ErrDamaged is also for rows that cannot be what Smithers wrote.
var (
	ErrNotDatabase = errors.New("not an SQLite database")
	ErrNotSmithers = errors.New("not a database of Smithers")
	ErrDamaged     = errors.New("the database is damaged")
	// ErrIndex is an ErrNotSmithers: an index of git-smithers, which has tables of the same names.
	ErrIndex = fmt.Errorf("%w: it is an index that git-smithers made of runs", ErrNotSmithers)
	// ErrIncomplete is an ErrDamaged: the file is shorter than it says, as while it is copied.
	ErrIncomplete = fmt.Errorf("%w: its end is missing", ErrDamaged)
	// ErrInterrupted is a database in which a transaction was begun, and whoever wrote it was killed. Reading cannot undo
	// it; whoever opens the database for writing does.
	ErrInterrupted = errors.New("a transaction of the database was interrupted")
	// ErrTooLarge is a value of more than 256 MiB.
	ErrTooLarge = errors.New("a value is too large")
	// ErrBusy is a database that others have kept locked for as long as a reader waits, or that changed under
	// a reader that cannot lock it. Trying again helps.
	ErrBusy = errors.New("the database is busy")
	// ErrConstraint is a row that a constraint or a trigger of the database forbids.
	ErrConstraint = errors.New("the database does not take the row")
	// ErrFull is syscall.ENOSPC, and ErrDisk syscall.EIO, of the database itself: why the disk failed is not known.
	ErrFull = fmt.Errorf("%w", syscall.ENOSPC)
	ErrDisk = fmt.Errorf("%w", syscall.EIO)
)

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}

// explain gives an error of SQLite its place among those of this package. Statements here are
// made from the tables that there are, so one that does not fit them has met a damaged schema.
func explain(err error) error {
	coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	if !ok {
		return err
	}
	switch coded.Code() {
	case sqlite3.SQLITE_IOERR_SHORT_READ:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY, sqlite3.SQLITE_READONLY_CANTINIT:
		return fmt.Errorf("%w: %w", ErrInterrupted, err)
	}
	switch coded.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrNotDatabase, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case sqlite3.SQLITE_TOOBIG:
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case sqlite3.SQLITE_CONSTRAINT:
		return fmt.Errorf("%w: %w", ErrConstraint, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", ErrFull, err)
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("%w: %w", ErrDisk, err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return err
}
