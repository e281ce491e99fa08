package sqliteindex

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// open opens the file at the path, or a substitute.
func (x *Index) open(ctx context.Context) error {
	found, err := os.Stat(x.opts.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return x.renew(ctx, func(fs.FileInfo) bool { return false })
	}
	if err == nil && !found.Mode().IsRegular() {
		// SQLite would take a folder for a failing disk, and retry for seconds.
		return x.renew(ctx, isFile(found))
	}
	db, err := x.openFile(ctx, readWrite)
	if err == nil {
		return x.swap(db, nil)
	}
	if remedyFor(err) == noRemedy {
		return err
	}
	// An index that another user maintains is usable while it is up to date.
	if db, err := x.openFile(ctx, readOnlyMode(x.opts.Path)); err == nil {
		return x.swap(db, nil)
	}
	return x.renew(ctx, isFile(found))
}

// openFile is the function openFile, retried while the database is busy.
func (x *Index) openFile(ctx context.Context, mode openMode) (db *database, err error) {
	err = x.retry.do(ctx, func() error {
		if db, err = openFile(ctx, x.opts.Path, x.schema, mode, x.opts.BusyTimeout); err != nil {
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
func (x *Index) renew(ctx context.Context, mayGo func(fs.FileInfo) bool) error {
	err := os.MkdirAll(filepath.Dir(x.opts.Path), 0o777)
	if err == nil {
		err = replaceFile(ctx, x.opts.Path, x.schema, mayGo)
	}
	if err != nil {
		err = &databaseError{err}
	} else {
		var db *database
		if db, err = x.openFile(ctx, readWrite); err == nil {
			return x.swap(db, nil)
		}
	}
	if remedyFor(err) == noRemedy {
		return err
	}
	return x.degrade(ctx, err)
}

// degrade continues in memory.
func (x *Index) degrade(ctx context.Context, reason error) error {
	db, err := openMemory(ctx, x.schema)
	if err != nil {
		return errors.Join(reason, err)
	}
	return x.swap(db, reason)
}

// swap puts db in use and closes the previous database.
func (x *Index) swap(db *database, degraded error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return errors.Join(ErrClosed, db.Close())
	}
	if x.db != nil {
		// The old database is damaged, gone or foreign, so an error of closing it does not matter.
		_ = x.db.Close()
	}
	x.db, x.degraded = db, degraded
	return nil
}

// heal applies the remedy for err, and reports whether there was one. The caller holds
// the syncing token.
func (x *Index) heal(ctx context.Context, err error) (healed bool, _ error) {
	x.mu.RLock()
	db := x.db
	x.mu.RUnlock()
	if db == nil || db.file == nil {
		return false, nil
	}
	switch remedyFor(err) {
	case makeAnew:
		return true, x.renew(ctx, isFile(db.file.info()))
	case useMemory:
		return true, x.degrade(ctx, err)
	default:
		return false, nil
	}
}

// follow opens the file at the path if it is not the one in use: another process has
// rebuilt the index, or a person deleted it.
func (x *Index) follow(ctx context.Context) error {
	x.mu.RLock()
	db := x.db
	x.mu.RUnlock()
	if db == nil {
		return ErrClosed
	}
	if !db.moved() {
		return nil
	}
	return x.open(ctx)
}
