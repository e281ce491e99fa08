package sqliteindex

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// connection is the database of an index. It is replaced while the index is open: by a new file if the
// file is damaged or gone, and by a database in memory if no file can be written. Safe for concurrent use.
type connection struct {
	path        string
	busyTimeout time.Duration
	schema      schema
	retry       retrier

	mu       sync.RWMutex // read-locked while db is used, locked to replace it
	db       *database    // nil once closed
	closed   bool
	degraded error // why the database is in memory
}

// open opens the file at the path, or a substitute.
func (c *connection) open(ctx context.Context) error {
	found, err := os.Stat(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c.renew(ctx, func(fs.FileInfo) bool { return false })
	}
	if err == nil && !found.Mode().IsRegular() {
		// SQLite would take a folder for a failing disk, and retry for seconds.
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

// openFile is the function openFile, retried while the database is busy.
func (c *connection) openFile(ctx context.Context, mode openMode) (db *database, err error) {
	err = c.retry.do(ctx, func() error {
		if db, err = openFile(ctx, c.path, c.schema, mode, c.busyTimeout); err != nil {
			return &databaseError{err}
		}
		return nil
	})
	return db, err
}

// isFile returns a function that reports whether a file is the given one. If one is nil, no file is.
func isFile(one fs.FileInfo) func(fs.FileInfo) bool {
	return func(other fs.FileInfo) bool { return one != nil && os.SameFile(one, other) }
}

// renew replaces the database, unless the file at the path may not go, and
// opens the result. If that fails, the index continues in memory.
func (c *connection) renew(ctx context.Context, mayGo func(fs.FileInfo) bool) error {
	err := os.MkdirAll(filepath.Dir(c.path), 0o777)
	if err == nil {
		err = replaceFile(ctx, c.path, c.schema, mayGo)
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

// degrade continues in memory.
func (c *connection) degrade(ctx context.Context, reason error) error {
	db, err := openMemory(ctx, c.schema)
	if err != nil {
		return errors.Join(reason, err)
	}
	return c.swap(db, reason)
}

// swap puts db in use and closes the previous database.
func (c *connection) swap(db *database, degraded error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.Join(ErrClosed, db.Close())
	}
	if c.db != nil {
		// The old database is damaged, gone or foreign, so an error of closing it does not matter.
		_ = c.db.Close()
	}
	c.db, c.degraded = db, degraded
	return nil
}

// use calls fn with the database, which is not replaced in the meantime, and calls it
// again if the database was busy. fn must have no effect if it fails.
func (c *connection) use(ctx context.Context, fn func(*database) error) error {
	return c.retry.do(ctx, func() error {
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

func (c *connection) inMemory() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.degraded
}

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

// heal applies the remedy for err, and reports whether there was one. The caller holds
// the index's syncing token.
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

// follow opens the file at the path if it is not the one in use: another process has
// rebuilt the index, or a person deleted it.
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

func (c *connection) isClosed() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.closed
}
