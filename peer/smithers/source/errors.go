package source

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"
)

// The errors of a database. Every error of this package wraps one of these or is an error of the system. ErrDamaged
// also stands for rows that Smithers cannot have written.
var (
	ErrNotDatabase = errors.New("not an SQLite database")
	ErrNotSmithers = errors.New("not a database of Smithers")
	ErrDamaged     = errors.New("the database is damaged")
	// ErrIndex is an ErrNotSmithers: an index of git-smithers, which has tables of the same names.
	ErrIndex = fmt.Errorf("%w: it is an index that git-smithers made of runs", ErrNotSmithers)
	// ErrIncomplete is an ErrDamaged: the file is shorter than its header says, as during a copy.
	ErrIncomplete = fmt.Errorf("%w: its end is missing", ErrDamaged)
	// ErrInterrupted means that a process was killed during a transaction. Reading cannot roll the transaction back;
	// the next process that opens the database for writing does.
	ErrInterrupted = errors.New("a transaction of the database was interrupted")
	// ErrTooLarge is a value of more than 256 MiB.
	ErrTooLarge = errors.New("a value is too large")
	// ErrBusy means that other processes kept the database locked for too long, or changed it while it was read
	// without a lock. The caller can try again.
	ErrBusy = errors.New("the database is busy")
	// ErrConstraint means that a constraint or a trigger of the database forbids a row.
	ErrConstraint = errors.New("the database rejects the row")
	// ErrFull and ErrDisk stand for syscall.ENOSPC and syscall.EIO on the database's disk. SQLite does not report the
	// cause.
	ErrFull = fmt.Errorf("%w", syscall.ENOSPC)
	ErrDisk = fmt.Errorf("%w", syscall.EIO)
)

// damaged returns an ErrDamaged with a message.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}

// explain maps an error of SQLite to an error of this package. Statements here are built from the existing tables, so
// a statement that does not fit them means a damaged schema.
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
