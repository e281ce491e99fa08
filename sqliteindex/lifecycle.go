package sqliteindex

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// open opens whatever is at the path: the file, or what can stand in for it.
func (x *Index) open(ctx context.Context) error {
	found, err := os.Stat(x.opts.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return x.renew(ctx, func(fs.FileInfo) bool { return false })
	}
	if err == nil && !found.Mode().IsRegular() {
		// SQLite would take a folder for a disk that fails, and try again for seconds.
		return x.renew(ctx, isFile(found))
	}
	db, err := x.openFile(ctx, readWrite)
	if err == nil {
		return x.swap(db, nil)
	}
	if remedyFor(err) == noRemedy {
		return err
	}
	// An index that somebody else keeps serves as long as it is up to date.
	if db, err := x.openFile(ctx, readOnlyMode(x.opts.Path)); err == nil {
		return x.swap(db, nil)
	}
	return x.renew(ctx, isFile(found))
}

// openFile is openFile, tried again where the database was busy.
func (x *Index) openFile(ctx context.Context, mode openMode) (db *database, err error) {
	err = x.retry.do(ctx, func() error {
		if db, err = openFile(ctx, x.opts.Path, x.schema, mode, x.opts.BusyTimeout); err != nil {
			return &databaseError{err}
		}
		return nil
	})
	return db, err
}

// isFile tells of a file whether it is the given one. Without one it is none.
func isFile(one fs.FileInfo) func(fs.FileInfo) bool {
	return func(other fs.FileInfo) bool { return one != nil && os.SameFile(one, other) }
}

// renew makes the database anew, unless a file is at the path that may not go, and
// opens what is there then. Where it cannot, the index goes on in memory.
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

// degrade goes on in memory.
func (x *Index) degrade(ctx context.Context, reason error) error {
	db, err := openMemory(ctx, x.schema)
	if err != nil {
		return errors.Join(reason, err)
	}
	return x.swap(db, reason)
}

// swap makes db the database in use and closes the one before it.
func (x *Index) swap(db *database, degraded error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return errors.Join(ErrClosed, db.Close())
	}
	if x.db != nil {
		// What is replaced is damaged, gone or not ours: that it does not close well is no news.
		_ = x.db.Close()
	}
	x.db, x.degraded = db, degraded
	return nil
}

// heal does what helps against err, and tells whether anything did. The caller holds
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

// follow opens the file that is at the path now, where it is another than the one
// in use: another process has made the index anew, or somebody deleted it.
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
