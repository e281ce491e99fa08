package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"
)

// The errors about a database. Most errors of this package wrap an error of this list, or are errors of the system.
// ErrDamaged is also the error about rows that Smithers cannot have written.
var (
	ErrNotDatabase = errors.New("not an SQLite database")
	ErrNotSmithers = errors.New("not a database of Smithers")
	ErrDamaged     = errors.New("the database is damaged")
	// ErrIndex is an ErrNotSmithers: the database is an index of git-smithers, which has tables of the same names.
	ErrIndex = fmt.Errorf("%w: the file is an index of git-smithers", ErrNotSmithers)
	// ErrLangGraph and ErrPython are ErrNotSmithers: the database is one of LangGraph's SqliteSaver, in JavaScript or in Python.
	ErrLangGraph = fmt.Errorf("%w: the file is a database of LangGraph", ErrNotSmithers)
	ErrPython    = fmt.Errorf("%w: the file is a database of LangGraph in Python", ErrNotSmithers)
	// ErrIncomplete is an ErrDamaged: the file is shorter than its header says, as during a copy.
	ErrIncomplete = fmt.Errorf("%w: the end of the file is missing", ErrDamaged)
	// ErrInterrupted means that a process was killed during a transaction. A reader cannot roll the transaction back.
	// The next process that opens the database for writing rolls it back.
	ErrInterrupted = errors.New("a transaction of the database was interrupted")
	// ErrTooLarge means that a value has more than 256 MiB, or a rendered tree more than 16 MiB.
	ErrTooLarge = errors.New("a value is too large")
	// ErrBusy means that other processes kept the database locked for too long, or changed it while it was read
	// without a lock. The caller can try again.
	ErrBusy = errors.New("the database is busy")
	// ErrConstraint means that a constraint or a trigger of the database forbids an inserted row.
	ErrConstraint = errors.New("the database rejects the row")
	// ErrFull and ErrDisk wrap syscall.ENOSPC and syscall.EIO: the database's disk is full, or reading or writing it
	// fails. SQLite does not report the system's own error.
	ErrFull = fmt.Errorf("%w", syscall.ENOSPC)
	ErrDisk = fmt.Errorf("%w", syscall.EIO)
)

// damaged returns an error that wraps ErrDamaged. The message is formatted as by fmt.Errorf. If an operand is an error
// because the context has ended, the database may be sound: the result does not wrap ErrDamaged.
func damaged(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// explain wraps err, an error of the driver, in an error of this package that tells the meaning, such as ErrBusy for a
// lock. For a file that cannot be opened or written, it wraps err in fs.ErrPermission. SQLITE_ERROR becomes ErrDamaged,
// because this package builds each statement from the tables that exist. explain returns nil and any other error
// unchanged.
func explain(err error) error {
	coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	if !ok {
		return err
	}
	// These extended codes have another meaning than their primary codes, which the second switch compares.
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
