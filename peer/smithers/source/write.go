package source

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
)

// writeOptions wait for an engine's lock, check foreign keys when the transaction ends, and take the lock when it
// begins.
const writeOptions = "mode=rw&_dqs=0&_busy_timeout=10000&_foreign_keys=1&_synchronous=FULL&_pragma=trusted_schema(0)"

// Write writes to the database at path in one transaction: everything that write inserts, or nothing. If the file, or
// the target of a link, does not exist, Write creates a complete database with all of Schema, or no file at all. In a
// file system without hard links, it creates an empty file first, which stays if write fails. A killed process may
// leave a journal beside that file, which SQLite rolls back when the file is opened. Write never replaces another
// file. If an engine has the database locked, the transaction waits some seconds for it. Write also removes the files
// that earlier killed calls left beside the database.
func Write(ctx context.Context, path string, write func(*WriteTx) error) error {
	return writeLinking(ctx, path, os.Link, write)
}

// writeLinking is Write with a function that makes hard links.
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

// Target returns the file for which a path stands: the path itself if the file exists, else the target of its links,
// as far as the links exist. An error is an fs.PathError about path.
func Target(path string) (string, error) {
	const most = 40 // as Linux
	_, err := os.Stat(path)
	if err == nil {
		return path, nil
	}
	for at, n := path, 0; errors.Is(err, fs.ErrNotExist) && n < most; n++ {
		next, notLink := os.Readlink(at)
		if notLink != nil {
			return at, nil //nolint:nilerr // a file can be created here
		}
		if !filepath.IsAbs(next) {
			// Not cleaned: ".." is relative to the folder to which a link leads.
			next = filepath.Dir(at) + string(filepath.Separator) + next
		}
		at = next
	}
	return "", err
}

// writeChecked is write to an existing file.
func (f file) writeChecked(ctx context.Context, write func(*WriteTx) error) error {
	header, err := f.header()
	if err != nil {
		return err
	}
	if len(header) > 0 {
		// Find errors before writing.
		db, err := Open(ctx, f.path)
		if err != nil {
			return err
		}
		if err := db.Close(); err != nil {
			return err
		}
	}
	return f.write(ctx, write)
}

// write runs one transaction on the file.
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
		// Closing the connection rolls back whatever this leaves.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, tx.kept.close())
	}
	return tx.kept.close()
}

// run does all work of the transaction, and commits it.
func (t *WriteTx) run(write func(*WriteTx) error) error {
	// Rows may come in any order.
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

// prepare creates Smithers' tables in an empty database. It checks within the transaction, because another process
// may just have created them.
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
	ctx    context.Context //nolint:containedctx // of the transaction, which lives as long
	conn   *sql.Conn
	tables []Table
	kept   *statements
}

func (t *WriteTx) exec(statement string) error {
	_, err := t.conn.ExecContext(t.ctx, statement)
	return explain(err)
}

// load reads the list of tables.
func (t *WriteTx) load() (err error) {
	t.tables, err = readTables(t.ctx, t.conn)
	return err
}

// Table returns a table of the database, or nil.
func (t *WriteTx) Table(name string) *Table { return findTable(t.tables, name) }

// Rows yields all rows of a table, as [Tx.Rows] does.
func (t *WriteTx) Rows(table string) iter.Seq2[Row, error] {
	return t.reading().Rows(table, "")
}

// reading returns a Tx that reads the state within the transaction.
func (t *WriteTx) reading() *Tx {
	return &Tx{ctx: t.ctx, conn: t.conn, tables: t.tables, limit: largestValue, kept: t.kept}
}

// HasRun reports whether any table has rows of a run.
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
