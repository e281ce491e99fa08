package sqliteindex

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/patience"
)

// File is a database of another index that is a cache, too. It is kept as an [Index] keeps its own: a file of the user's alone, which is
// made anew if it is missing, damaged or of another version, and a database in memory if no file can be written. A File is safe for
// concurrent use, also by several processes.
type File struct{ conn connection }

// FileOptions describe a [File].
type FileOptions struct {
	Path   string // its folder is created if necessary
	Shared bool   // other users may read and write the file, as far as the umask lets them
	// ID and Version are in the header of the file. A file with others is replaced by an empty one.
	ID, Version int64
	Tables      string // the script that creates the tables
}

// OpenFile opens a database, and creates one without rows if there is none that can be used.
func OpenFile(ctx context.Context, o FileOptions) (*File, error) {
	f := &File{conn: connection{
		path: o.Path, shared: o.Shared, busyTimeout: defaultBusyTimeout,
		schema: schema{applicationID: o.ID, version: o.Version, tables: []string{o.Tables}},
		retry:  patience.Retrier{Sleep: patience.Sleep, Random: rand.Float64, Temporary: isTransient},
	}}
	return f, f.conn.open(ctx)
}

// Rows returns the rows of a query. If T is a struct, its fields have the values of the columns, in their order; otherwise, the query has one column.
func Rows[T any](ctx context.Context, f *File, query string, args ...any) (rows []T, err error) {
	err = f.conn.use(ctx, func(db *database) error {
		rows, err = collect[T](ctx, db, query, args...)
		return err
	})
	return rows, err
}

// Write calls fn in a transaction that excludes other writers, and commits unless fn or a statement fails. exec runs a statement and reports whether a row
// has changed; after an error it does nothing. If the database is busy, Write calls fn again.
func (f *File) Write(ctx context.Context, fn func(exec func(query string, args ...any) bool) error) error {
	return f.conn.write(ctx, func(tx *sql.Tx) error {
		w := writer{tx: tx, prepared: make(map[string]*sql.Stmt)}
		defer w.close()
		var failed error
		err := fn(func(query string, args ...any) bool {
			if failed != nil {
				return false
			}
			result, err := w.run(ctx, query, args...)
			if failed = err; err != nil {
				return false
			}
			n, _ := result.RowsAffected() // SQLite always knows it
			return n > 0
		})
		return cmp.Or(failed, err)
	})
}

// Follow opens the file that is at the path now, if another process has replaced or deleted the one in use.
func (f *File) Follow(ctx context.Context) error { return f.conn.follow(ctx) }

// Heal replaces the database by an empty one if err means that it is damaged or cannot be written, and reports whether it has.
func (f *File) Heal(ctx context.Context, err error) (healed bool, _ error) {
	return f.conn.heal(ctx, err)
}

// Empty replaces the database by an empty one, unless another process has done so.
func (f *File) Empty(ctx context.Context) error {
	f.conn.mu.RLock()
	db, degraded := f.conn.db, f.conn.degraded
	f.conn.mu.RUnlock()
	switch {
	case db == nil:
		return ErrClosed
	case db.file == nil:
		return f.conn.degrade(ctx, degraded)
	}
	return f.conn.renew(ctx, isFile(db.file.info()))
}

// InMemory returns why the database is in memory, or nil if it is in the file.
func (f *File) InMemory() error { return f.conn.inMemory() }

// Close closes the database after all uses in progress have ended.
func (f *File) Close() error { return f.conn.close() }

// RemoveFile deletes the database at path with its logs, and what a killed process has left of a new one. Nothing of it stays in the folder.
// A process that has the database open keeps it until it next looks.
func RemoveFile(ctx context.Context, path string) (err error) {
	left, err := filepath.Glob(fsx.GlobQuote(path) + "*")
	if err != nil || len(left) == 0 {
		return err
	}
	lock, err := lockFile(ctx, path, (*flock.Flock).TryLockContext)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return errors.Join(removeDatabase(path), removeDatabase(path+".new"))
}
