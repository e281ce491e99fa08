package sqliteindex

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/patience"
)

// connection holds the database of an index, and replaces it while the index is open. If the file is damaged
// or missing, a new file replaces it. If no file can be written, a database in memory replaces it. A
// connection is safe for concurrent use.
type connection struct {
	path        string
	shared      bool // other users read and write the file
	busyTimeout time.Duration
	schema      schema
	retry       patience.Retrier

	mu       sync.RWMutex // read-locked to use db, locked to replace db
	db       *database    // nil before open and after close
	closed   bool
	degraded error // the reason why the database is in memory; nil if it is in a file
}

// privateMode is the mode of the file unless it is shared: the index has what the vault's neighbours say.
const privateMode = 0o600

// open opens the file at the path. If the file is missing, open creates it. If the file cannot be opened for writing,
// open opens it for reading only. If that fails, too, or the path is not a regular file, open replaces the file by an
// empty database. If that also fails, open uses a database in memory. It returns only errors that memory cannot
// remedy, such as a busy database or a cancelled context.
func (c *connection) open(ctx context.Context) error {
	found, err := os.Stat(c.path)
	if err == nil && !c.shared && found.Mode().Perm()&0o077 != 0 && found.Mode().IsRegular() {
		_ = os.Chmod(c.path, privateMode) // an earlier version made it; if the file is another user's, that user decides
	}
	if errors.Is(err, fs.ErrNotExist) {
		return c.renew(ctx, func(fs.FileInfo) bool { return false })
	}
	if err == nil && !found.Mode().IsRegular() {
		// SQLite would mistake a folder for a failing disk, and retry for seconds.
		return c.renew(ctx, isFile(found))
	}
	db, err := c.openFile(ctx, readWrite)
	if err == nil {
		return c.swap(db, nil)
	}
	if remedyFor(err) == noRemedy {
		return err
	}
	// An index that another user maintains is usable while it is up to date.
	if db, err := c.openFile(ctx, readOnlyMode(c.path)); err == nil {
		return c.swap(db, nil)
	}
	return c.renew(ctx, isFile(found))
}

// openFile opens the file at the path (see the function openFile), and retries while the file is busy. An
// error is a *databaseError.
func (c *connection) openFile(ctx context.Context, mode openMode) (db *database, err error) {
	err = c.retry.Do(ctx, func() error {
		if db, err = openFile(ctx, c.path, c.schema, mode, c.busyTimeout); err != nil {
			return &databaseError{err}
		}
		return nil
	})
	return db, err
}

// isFile returns a function that reports whether its argument describes the same file as file. If file is nil, the
// function always returns false.
func isFile(file fs.FileInfo) func(fs.FileInfo) bool {
	return func(other fs.FileInfo) bool { return file != nil && os.SameFile(file, other) }
}

// renew replaces the file at the path by an empty database, and opens the new database. mayGo reports whether the
// existing file may be replaced; if not, renew keeps the file and opens it. If the file can be neither replaced nor
// opened, renew continues in memory. It returns only errors that memory cannot remedy.
func (c *connection) renew(ctx context.Context, mayGo func(fs.FileInfo) bool) error {
	err := os.MkdirAll(filepath.Dir(c.path), 0o777)
	if err == nil {
		err = replaceFile(ctx, c.path, c.schema, c.shared, mayGo)
	}
	if err != nil {
		err = &databaseError{err}
	} else {
		var db *database
		if db, err = c.openFile(ctx, readWrite); err == nil {
			return c.swap(db, nil)
		}
	}
	if remedyFor(err) == noRemedy {
		return err
	}
	return c.degrade(ctx, err)
}

// degrade replaces the database by an empty database in memory, and stores reason in c.degraded. A nil reason means
// that a database in memory was requested. If the database in memory cannot be created, the error includes reason.
func (c *connection) degrade(ctx context.Context, reason error) error {
	db, err := openMemory(ctx, c.schema)
	if err != nil {
		return errors.Join(reason, err)
	}
	return c.swap(db, reason)
}

// swap puts db in use and closes the previous database. degraded is the reason why db is in memory, or nil. swap
// stores it in c.degraded. After close, swap closes db and returns ErrClosed.
func (c *connection) swap(db *database, degraded error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.Join(ErrClosed, db.Close())
	}
	if c.db != nil {
		// The old database is damaged, deleted or foreign, so an error of closing it does not matter.
		_ = c.db.Close()
	}
	c.db, c.degraded = db, degraded
	return nil
}

// use calls fn with the database, which is not replaced during the call. It calls fn again if fn fails for a
// temporary reason (see patience.Retrier), so fn must leave the database unchanged if it fails. use returns fn's error
// as a *databaseError. Before open and after close, it returns ErrClosed.
func (c *connection) use(ctx context.Context, fn func(*database) error) error {
	return c.retry.Do(ctx, func() error {
		c.mu.RLock()
		defer c.mu.RUnlock()
		if c.db == nil {
			return ErrClosed
		}
		if err := fn(c.db); err != nil {
			return &databaseError{err}
		}
		return nil
	})
}

// write calls fn inside a transaction, as use does, and commits it unless fn fails.
func (c *connection) write(ctx context.Context, fn func(*sql.Tx) error) error {
	return c.use(ctx, func(db *database) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			_ = tx.Rollback() // err is the first error
			return err
		}
		return tx.Commit()
	})
}

// inMemory returns the reason why the database is in memory. It returns nil if the database is in a file, or in
// memory by request.
func (c *connection) inMemory() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.degraded
}

// close closes the database after all uses in progress have ended. A second close does nothing.
func (c *connection) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.db == nil {
		return nil
	}
	err := c.db.Close()
	c.db = nil
	return err
}

// heal repairs the database after err with the remedy that remedyFor gives for err: a new file, or a database in
// memory. It returns true, and an error if the repair fails. If err has no remedy, or the database is closed or in
// memory, heal changes nothing and returns false. The caller holds the index's syncing token.
func (c *connection) heal(ctx context.Context, err error) (healed bool, _ error) {
	c.mu.RLock()
	db := c.db
	c.mu.RUnlock()
	if db == nil || db.file == nil {
		return false, nil
	}
	switch remedyFor(err) {
	case makeAnew:
		return true, c.renew(ctx, isFile(db.file.info()))
	case useMemory:
		return true, c.degrade(ctx, err)
	default:
		return false, nil
	}
}

// follow opens the file at the path again if it is no longer the file in use: another process rebuilt the
// index, or a person deleted the file. After close, it returns ErrClosed.
func (c *connection) follow(ctx context.Context) error {
	c.mu.RLock()
	db := c.db
	c.mu.RUnlock()
	if db == nil {
		return ErrClosed
	}
	if !db.moved() {
		return nil
	}
	return c.open(ctx)
}

// isClosed reports whether close was called.
func (c *connection) isClosed() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.closed
}
