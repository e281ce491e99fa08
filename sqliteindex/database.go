package sqliteindex

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"github.com/git-smithers/git-smithers/internal/flock"
)

// lockPoll is the interval between attempts to get a lock. A lock is held only while a database is
// opened or replaced by an empty one.
const lockPoll = 5 * time.Millisecond

// database is an open database, in a file or in memory. Its pool has a single connection, so a transaction
// excludes all other uses in this process.
type database struct {
	*sql.DB
	file *fileConnector // nil if in memory
}

// moved reports whether the file in use is no longer at its path: it was replaced or deleted, or the path
// cannot be read. It returns false for a database in memory.
func (d *database) moved() bool {
	if d.file == nil {
		return false
	}
	now, err := os.Stat(d.file.path)
	return err != nil || !os.SameFile(d.file.info(), now)
}

// openFile opens the existing database at path, and checks that its header has the id and version of s. If the header
// differs, the error wraps errDamaged. openFile creates no file. busy is how long SQLite waits for a lock.
func openFile(ctx context.Context, path string, s schema, mode openMode, busy time.Duration) (*database, error) {
	base, err := sqlite.NewConnector(dsn(path, mode, busy))
	if err != nil {
		return nil, err
	}
	connector := &fileConnector{Connector: base, path: path, schema: s}
	db := single(connector)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &database{DB: db, file: connector}, nil
}

// openMemory creates a database in memory with the tables of s, without rows. The database lives as long as its
// connection.
func openMemory(ctx context.Context, s schema) (*database, error) {
	base, err := sqlite.NewConnector("file::memory:?_txlock=immediate&_dqs=0")
	if err != nil {
		return nil, err
	}
	db := single(memoryConnector{base, s})
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &database{DB: db}, nil
}

// single returns a pool that has at most one connection.
func single(c driver.Connector) *sql.DB {
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	return db
}

// openMode is the permitted use of a database file, as parameters of SQLite's file URI.
type openMode string

const (
	readWrite openMode = "mode=rw"
	readOnly  openMode = "mode=ro"
	// readImmutable works in a read-only folder, where SQLite cannot create a write-ahead log. SQLite then ignores
	// an existing log.
	readImmutable openMode = "mode=ro&immutable=1"
)

// readOnlyMode returns the mode for reading the file at path. If the write-ahead log of the file has content, the mode
// is readOnly, so that SQLite reads the log, too. Otherwise, it is readImmutable, which also works in a read-only
// folder.
func readOnlyMode(path string) openMode {
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return readOnly
	}
	return readImmutable
}

// dsn returns SQLite's URI for the file at path. busy is how long SQLite waits for a lock, at least 1 ms. With _txlock,
// a transaction takes the write lock at its start. With _dqs=0, a word in double quotes is always a name, never a text.
func dsn(path string, mode openMode, busy time.Duration) string {
	return fmt.Sprintf("file:%s?%s&_txlock=immediate&_dqs=0&_busy_timeout=%d&_synchronous=NORMAL",
		(&url.URL{Path: path}).EscapedPath(), mode, max(busy.Milliseconds(), 1))
}

// fileConnector connects to the file under a shared lock, so that a connection never combines one
// database with the log of another.
type fileConnector struct {
	driver.Connector

	path   string
	schema schema
	opened atomic.Pointer[fs.FileInfo] // the file of the last connection; nil before the first connection
}

// info returns the file that the last connection opened, or nil before the first connection.
func (c *fileConnector) info() fs.FileInfo {
	if info := c.opened.Load(); info != nil {
		return *info
	}
	return nil
}

// Connect opens the file and checks its header. It holds the lock (see lockFile) meanwhile, so no process replaces the
// file between the two steps. The check also makes SQLite open the write-ahead log under the lock. If the lock cannot
// be taken, and ctx is not done, Connect opens the file without the lock.
func (c *fileConnector) Connect(ctx context.Context) (driver.Conn, error) {
	// In a read-only folder there is no lock file, and no process replaces databases.
	if lock, err := lockFile(ctx, c.path, (*flock.Flock).TryRLockContext); err == nil {
		defer func() { _ = lock.Unlock() }() // closing the file unlocks it in any case
	} else if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	info, err := os.Stat(c.path)
	if err != nil {
		return nil, err
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.schema.check(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c.opened.Store(&info)
	return conn, nil
}

// memoryConnector creates a new database in memory for every connection.
type memoryConnector struct {
	driver.Connector

	schema schema
}

// Connect returns a connection to a new database with empty tables.
func (c memoryConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.schema.create(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// lockFile takes the lock that separates opening the database at path from replacing it, and waits for the
// lock until ctx is done. take is (*flock.Flock).TryRLockContext for opening, and
// (*flock.Flock).TryLockContext for replacing. lockFile creates the folder of the lock if it is missing.
// After an error the lock is nil.
func lockFile(ctx context.Context, path string, take func(*flock.Flock, context.Context, time.Duration) (bool, error)) (*flock.Flock, error) {
	folder := filepath.Join(filepath.Dir(path), "locks")
	// The lock file is open to everybody who can read the index; the umask restricts its mode.
	lock := flock.New(filepath.Join(folder, filepath.Base(path)+".lock"), flock.SetPermissions(0o666))
	_, err := take(lock, ctx, lockPoll)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return nil, err
		}
		_, err = take(lock, ctx, lockPoll)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// replaceFile puts an empty database with the tables of s at path. If a file is at path, replaceFile first calls mayGo,
// and changes nothing if mayGo returns false: a file that another process has created in the meantime is better than an
// empty file.
//
// Processes that have the old file open use the old file and its log until they notice the new file (see moved). When
// they close the old file, SQLite does not delete the log at path, because another file is now at path.
func replaceFile(ctx context.Context, path string, s schema, shared bool, mayGo func(fs.FileInfo) bool) (err error) {
	lock, err := lockFile(ctx, path, (*flock.Flock).TryLockContext)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if now, err := os.Stat(path); err == nil && !mayGo(now) {
		return nil
	}
	fresh := path + ".new"
	if err := removeDatabase(fresh); err != nil {
		return err
	}
	if err := createFile(ctx, fresh, s); err != nil {
		return errors.Join(err, removeDatabase(fresh))
	}
	if !shared {
		if err := os.Chmod(fresh, privateMode); err != nil {
			return errors.Join(err, removeDatabase(fresh))
		}
	}
	// Remove the old log first: SQLite would apply it to the new file.
	if err := removeDatabase(path); err != nil {
		return errors.Join(err, removeDatabase(fresh))
	}
	return os.Rename(fresh, path)
}

// createFile creates a database at path with the tables of s, without rows. It does not sync the file to disk: after a
// power cut the file is either sound or detected as damaged.
func createFile(ctx context.Context, path string, s schema) (err error) {
	base, err := sqlite.NewConnector("file:" + (&url.URL{Path: path}).EscapedPath() + "?_synchronous=OFF")
	if err != nil {
		return err
	}
	conn, err := base.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := s.create(ctx, conn); err != nil {
		return err
	}
	exec, ok := conn.(driver.ExecerContext)
	if !ok {
		return errors.ErrUnsupported
	}
	// Set the journal mode last: the header is then in the file, and not in a log that a rename leaves behind.
	_, err = exec.ExecContext(ctx, "PRAGMA journal_mode = WAL", nil)
	return err
}

// removeDatabase deletes the database at path and its logs. A missing file is not an error. removeDatabase deletes the
// database last, so that no log is left without its database.
func removeDatabase(path string) error {
	var errs []error
	for _, suffix := range []string{"-journal", "-wal", "-shm", ""} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
