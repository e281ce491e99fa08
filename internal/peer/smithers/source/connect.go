package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// readOptions are the driver's options for reading. With these options, a hostile database can neither run code nor
// write.
const readOptions = "&_dqs=0&_query_only=1&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"

// connection is one open connection to a database.
type connection struct {
	*sql.Conn
	db   *sql.DB
	copy *draft // the copy that the connection reads; nil if the connection reads the original
}

// connect opens a connection that reads f. how is the access mode. If how is copied, connect first copies the
// files of the database, and the connection reads the copy. If a value has more than limit bytes, the error of the
// read is ErrTooLarge. SQLite waits up to patience for a lock. The caller must close the connection.
func (f file) connect(ctx context.Context, how access, limit int64, patience time.Duration) (*connection, error) {
	c := new(connection)
	if how == copied {
		var err error
		if c.copy, err = f.copy(); err != nil {
			return nil, err
		}
		f, how = c.copy.file(), locked
	}
	if err := c.open(ctx, f.name(string(how)+readOptions+fmt.Sprintf("&_busy_timeout=%d", patience.Milliseconds())), limit); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// open opens c on the database whose URI is name. c then cannot read or write values of more than limit bytes. The
// caller must close c, even after an error.
func (c *connection) open(ctx context.Context, name string, limit int64) error {
	connector, err := sqlite.NewConnector(name)
	if err != nil {
		return err
	}
	c.db = sql.OpenDB(connector)
	c.db.SetMaxOpenConns(1)
	if c.Conn, err = c.db.Conn(ctx); err != nil {
		return explain(err)
	}
	_, err = sqlite.Limit(c.Conn, sqlite3.SQLITE_LIMIT_LENGTH, int(min(limit, largestValue)))
	return err
}

// Close closes the connection, releases its locks, and removes the copy of the database.
func (c *connection) Close() error {
	var errs []error
	if c.Conn != nil {
		errs = append(errs, c.Conn.Close())
	}
	if c.db != nil {
		errs = append(errs, c.db.Close())
	}
	if c.copy != nil {
		errs = append(errs, c.copy.remove())
	}
	return errors.Join(errs...)
}

// copy copies the database and its log to a draft in the system's temporary folder. The caller must remove the
// draft. If the files change during the copying, the error is ErrOvertaken. If this process is killed, the next
// call of copy removes the draft.
func (f file) copy() (*draft, error) {
	place := filepath.Join(os.TempDir(), "smithers-copy")
	sweep(place)
	d, err := newDraft(place)
	if err != nil {
		return nil, err
	}
	to := d.file()
	before, err := f.state()
	if err == nil {
		err = errors.Join(copyFile(f.path, to.path), copyFile(f.log(), to.log()))
	}
	if after, stateErr := f.state(); errors.Is(err, fs.ErrNotExist) || err == nil && (stateErr != nil || !after.same(before)) {
		err = ErrOvertaken // for instance, an ending engine removed its shared memory and is about to remove its log
	}
	if err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

// copyFile copies the content of the file whose path is from into the file whose path is to. It overwrites an
// existing file.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // the file is opened for reading only
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = target.ReadFrom(source)
	return errors.Join(err, target.Close())
}
