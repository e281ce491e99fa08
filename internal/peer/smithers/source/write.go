package source

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/patience"
)

// writeOptions are the driver's options for writing. A transaction waits a second for an engine's lock,
// takes the lock when it begins, and checks foreign keys when it ends.
const writeOptions = "mode=rw&_dqs=0&_busy_timeout=1000&_foreign_keys=1&_synchronous=FULL&_pragma=trusted_schema(0)"

// Write calls write in one transaction on the database at path. It stores everything that write inserts or, after an
// error, nothing. If an engine has the database locked, Write waits and tries again,
// six times in about ten seconds, and calls write again; then the error wraps ErrBusy. WriteTx.Retries counts.
// Write also removes the files that earlier killed calls left beside the database.
//
// If the file, or the target of a link, is missing, Write creates a complete database with all of Schema, or no file.
// In a file system without hard links, Write first creates an empty file, which stays if write fails; a killed process
// may leave a journal beside that file, which SQLite rolls back. Write never replaces another file.
func Write(ctx context.Context, path string, write func(*WriteTx) error) error {
	return writeLinking(ctx, path, os.Link, write)
}

// writeLinking is Write with a replaceable function link. link creates a hard link: os.Link, or its replacement in
// a test.
func writeLinking(ctx context.Context, path string, link func(from, to string) error, write func(*WriteTx) error) error {
	path, err := Target(path)
	if err != nil {
		return err
	}
	sweep(path)
	f, err := locate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return create(ctx, path, link, write)
	}
	if err != nil {
		return err
	}
	return f.writeChecked(ctx, write)
}

// Target returns the path of the file to which Write writes. If path is a symbolic link whose target is missing, the
// result is the path of the missing target. If the target is itself a link, Target follows all links. In every other
// case, the result is path.
//
// The error is an fs.PathError about path, for instance if the links form a loop.
func Target(path string) (string, error) {
	const most = 40 // the limit of Linux for links in a row
	_, err := os.Stat(path)
	if err == nil {
		return path, nil
	}
	for at, n := path, 0; errors.Is(err, fs.ErrNotExist) && n < most; n++ {
		next, notLink := os.Readlink(at)
		if notLink != nil {
			return at, nil //nolint:nilerr // no link is at this path, so a file can be created
		}
		if !filepath.IsAbs(next) {
			// The path must not be cleaned, because ".." is relative to the target of a link before it.
			next = filepath.Dir(at) + string(filepath.Separator) + next
		}
		at = next
	}
	return "", err
}

// writeChecked calls write in one transaction on an existing file. If the file is not empty, writeChecked first
// opens the database for reading and closes it. This finds most errors before anything is written.
func (f file) writeChecked(ctx context.Context, write func(*WriteTx) error) error {
	header, err := f.header()
	if err != nil {
		return err
	}
	if len(header) > 0 {
		db, err := Open(ctx, f.path)
		if err != nil {
			return err
		}
		if err := db.Close(); err != nil {
			return err
		}
	}
	retry := patience.Retrier{Sleep: patience.Sleep, Random: rand.Float64, Temporary: func(err error) bool { return errors.Is(err, ErrBusy) }}
	return retry.Do(ctx, func() error {
		return f.write(ctx, func(tx *WriteTx) error {
			tx.Retries = retry.Count()
			return write(tx)
		})
	})
}

// write calls write in one transaction on the file, which may be empty. The transaction has the write lock from
// its start. If write or the commit fails, the transaction is rolled back and the file has its old content.
func (f file) write(ctx context.Context, write func(*WriteTx) error) (err error) {
	conn := new(connection)
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.open(ctx, f.name(writeOptions), largestValue); err != nil {
		return err
	}
	tx := &WriteTx{ctx: ctx, conn: conn.Conn, kept: newStatements(ctx, conn.Conn)}
	if err := tx.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := tx.run(write); err != nil {
		// If the rollback fails, closing the connection rolls back.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, tx.kept.close())
	}
	return tx.kept.close()
}

// run prepares the tables, calls write, and commits the transaction. After an error the caller must roll back.
func (t *WriteTx) run(write func(*WriteTx) error) error {
	// Foreign keys are checked at the end, because write may insert rows in any order.
	if err := t.exec("PRAGMA defer_foreign_keys = ON"); err != nil {
		return err
	}
	if err := t.prepare(); err != nil {
		return err
	}
	if err := write(t); err != nil {
		return err
	}
	return t.exec("COMMIT")
}

// prepare reads the list of tables. If the database is empty, prepare first creates Smithers' tables. The
// transaction must have begun, because another process may just have created the tables. If the database is not a
// database of Smithers, the error is ErrNotSmithers.
func (t *WriteTx) prepare() error {
	var has bool
	err := t.conn.QueryRowContext(t.ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_master)").Scan(&has)
	if err != nil {
		return explain(err)
	}
	if !has {
		for _, table := range Schema() {
			if err := t.exec(table.SQL); err != nil {
				return err
			}
		}
	}
	if err := t.load(); err != nil {
		return err
	}
	if runs := t.Table(runsTable); runs == nil || !runs.has("run_id", "created_at_ms") {
		return ErrNotSmithers
	}
	return nil
}

// WriteTx is one transaction of Write.
type WriteTx struct {
	ctx    context.Context //nolint:containedctx // the context of the transaction, which lives as long as the WriteTx
	conn   *sql.Conn
	tables []Table // sorted by name
	kept   *statements

	Retries int64 // how often the transaction was tried before, because the database was busy
}

// exec runs an SQL statement without parameters and explains the error.
func (t *WriteTx) exec(statement string) error {
	_, err := t.conn.ExecContext(t.ctx, statement)
	return explain(err)
}

// load reads the list of tables into t.tables.
func (t *WriteTx) load() (err error) {
	t.tables, err = readTables(t.ctx, t.conn)
	return err
}

// Table returns the table with the given name, or nil if the database has no such table. The case of ASCII letters
// does not count.
func (t *WriteTx) Table(name string) *Table { return findTable(t.tables, name) }

// Rows yields all rows of a table in the order of [Tx.Rows]. If the table does not exist, Rows yields no
// rows.
func (t *WriteTx) Rows(table string) iter.Seq2[Row, error] {
	return t.reading().Rows(table, "")
}

// reading returns a Tx that reads within this transaction. It also reads the rows that the transaction has
// inserted.
func (t *WriteTx) reading() *Tx {
	return &Tx{ctx: t.ctx, conn: t.conn, tables: t.tables, limit: largestValue, kept: t.kept}
}

// HasRun reports whether any table with a run_id column has a row of the run.
func (t *WriteTx) HasRun(run string) (bool, error) {
	for _, table := range t.tables {
		where, args, ok := ofRun(&table, run)
		if !ok {
			continue
		}
		var has bool
		query := "SELECT EXISTS (SELECT 1 FROM " + quote(table.Name) + where + ")"
		if err := t.conn.QueryRowContext(t.ctx, query, args...).Scan(&has); err != nil || has {
			return has, explain(err)
		}
	}
	return false, nil
}
