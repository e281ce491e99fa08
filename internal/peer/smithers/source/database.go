package source

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/git-smithers/git-smithers/internal/smithersnames"
)

// The limits of the size of one value, in bytes. A larger value is the error ErrTooLarge before its memory is
// allocated.
const (
	defaultLimit = 256 << 20     // for a database that is read
	largestValue = 1_000_000_000 // for a database that is written; SQLite allows no larger value
)

const (
	defaultPatience = 5 * time.Second      // how long Open's reads wait for other processes
	retryEvery      = 2 * time.Millisecond // other processes finish their step within microseconds
)

// DB is a database that is open for reading. Only one goroutine may use a DB at a time.
type DB struct {
	path     string
	limit    int64 // the greatest size of a value in bytes
	patience time.Duration
	version  int64 // the result of Version; 0 before its first call
	seen     state // the state of the files at version
	reading  bool  // a transaction is running
}

// Open opens the database at path for reading only. The database and its folder may be read-only, and an
// engine may have the database open. Open creates no file beside the database. A read waits up to 5 seconds
// for other processes.
func Open(ctx context.Context, path string) (*DB, error) {
	return OpenFor(ctx, path, defaultPatience)
}

// OpenFor opens the database at path as Open does, but a read waits up to patience for other processes. If other
// processes take longer, the error of the read or of OpenFor wraps ErrBusy.
func OpenFor(ctx context.Context, path string, patience time.Duration) (*DB, error) {
	db := &DB{path: path, limit: defaultLimit, patience: patience}
	if err := db.Read(ctx, func(*Tx) error { return nil }); err != nil {
		return nil, err
	}
	return db, nil
}

// Close closes the database. It always returns nil, because a DB holds no resource between two calls of Read.
func (db *DB) Close() error { return nil }

// Version returns a number that changes whenever another process commits to the database or replaces the
// file. A call costs some microseconds. Within Read, the result is the version that is being read, or an
// older version.
func (db *DB) Version() (int64, error) {
	if db.reading {
		return db.version, nil
	}
	f, err := locate(db.path)
	if err != nil {
		return 0, err
	}
	now, err := f.state()
	if err != nil {
		return 0, err
	}
	if db.version == 0 || !now.same(db.seen) {
		db.version++
		db.seen = now
	}
	return db.version, nil
}

// Read calls the function read in a read transaction, which ends when read returns. If read returns an error, Read
// returns this error. Each call of Read opens the file at the path again. read must not call Read.
//
// If no process had the database open, Read cannot lock out an engine that begins to write. read may then see
// parts of two states, and [Tx.Check] and Read return ErrOvertaken. So read must call Check before it does
// anything visible to others with the rows that it has read.
func (db *DB) Read(ctx context.Context, read func(*Tx) error) error {
	if db.reading {
		return errors.New("Read was called within Read")
	}
	f, err := locate(db.path)
	if err != nil {
		return err
	}
	if _, err := db.Version(); err != nil {
		return err
	}
	before := db.seen
	if err := db.needEnd(ctx, f, before); err != nil {
		return err
	}
	how, err := db.transact(ctx, f, read)
	err = f.incomplete(before, err)
	// In the other modes, a lock or a copy protects the transaction from engines that write.
	if how != unlocked {
		return err
	}
	return errors.Join(f.unchanged(before), err)
}

// transact calls read in one transaction on f, and returns the access mode in which f was opened. db.reading is
// true during the call. If f was deleted or replaced meanwhile, the error is ErrOvertaken.
//
// If f cannot be opened, transact retries, but never after it has called read. While the shared memory of the log
// is not ready, it retries for up to db.patience. After a permission error it retries once, because an engine may
// have removed its log after transact chose the access mode.
func (db *DB) transact(ctx context.Context, f file, read func(*Tx) error) (access, error) {
	db.reading = true
	defer func() { db.reading = false }()
	called := false
	patience, end := context.WithTimeout(ctx, db.patience)
	defer end()
	for again := false; ; {
		how, err := f.access()
		if err != nil {
			return how, err
		}
		err = db.read(ctx, f, how, func(tx *Tx) error {
			called = true
			return read(tx)
		})
		switch {
		case called || err == nil:
			return how, err
		case errors.Is(err, ErrDisk) && !sameFile(stat(f.path), db.seen.file):
			return how, ErrOvertaken // SQLite opened the log of a deleted or replaced file
		case how == logged && errors.Is(err, ErrInterrupted):
			// A writer is creating the shared memory, or was killed while another reader had the database open.
			if err := waitAgain(ctx, patience); err != nil {
				return how, err
			}
		case again || !errors.Is(err, fs.ErrPermission):
			return how, err
		default:
			again = true // an engine has just removed its log, so f.access now returns another mode
		}
	}
}

// waitAgain waits for retryEvery and returns nil. If patience ends first, it returns the error of ctx, or an
// error that wraps ErrBusy if ctx has not ended.
func waitAgain(ctx, patience context.Context) error {
	timer := time.NewTimer(retryEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-patience.Done():
		return cmp.Or(ctx.Err(), fmt.Errorf("%w: its shared memory is not ready", ErrBusy))
	}
}

// ErrOvertaken is an ErrBusy: an engine that could not be locked out wrote to the database. The caller can
// read the database again at once.
var ErrOvertaken = fmt.Errorf("%w: another process wrote to the database during the read", ErrBusy)

// unchanged compares the file with before, an earlier state of the file. It returns nil if no process has written
// to the file since then. If a process has written, or the present state cannot be read, it returns ErrOvertaken.
func (f file) unchanged(before state) error {
	if now, err := f.state(); err != nil || !now.sameFile(before) {
		return ErrOvertaken
	}
	return nil
}

// needEnd returns ErrIncomplete if f has no log and is shorter than its header says. SQLite would read the missing part
// of the last page as zeros. before is the present state of f. If an engine is just extending f, needEnd waits until
// the engine has released its lock. f is then complete, and needEnd returns nil.
func (db *DB) needEnd(ctx context.Context, f file, before state) error {
	if !before.lacksEnd() || before.log != nil {
		return nil
	}
	if _, err := db.transact(ctx, f, func(*Tx) error { return nil }); err != nil {
		return f.incomplete(before, err)
	}
	now, err := f.state()
	if err == nil && now.header == before.header && now.lacksEnd() {
		return ErrIncomplete
	}
	return err
}

// incomplete returns ErrIncomplete if err is about a damaged database, and if the end of the file is missing now or was
// missing in before, an earlier state of the file. The end is missing while a process copies the file. In every other
// case, incomplete returns err unchanged.
func (f file) incomplete(before state, err error) error {
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNotDatabase) || errors.Is(err, ErrIncomplete) {
		return err
	}
	now, unknown := f.state()
	if before.lacksEnd() || unknown == nil && now.lacksEnd() {
		return ErrIncomplete
	}
	return err
}

// read opens f in the access mode how, and calls the function read in one transaction. The error is ErrIndex if f is an
// index of git-smithers, and ErrNotSmithers if f is any other database without Smithers' table of runs.
func (db *DB) read(ctx context.Context, f file, how access, read func(*Tx) error) (err error) {
	conn, err := f.connect(ctx, how, db.limit, db.patience)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return explain(err)
	}
	tx := &Tx{ctx: ctx, conn: conn.Conn, limit: db.limit, kept: newStatements(ctx, conn.Conn)}
	defer func() { err = errors.Join(err, tx.kept.close()) }()
	if before := db.seen; how == unlocked { // without a lock, only the state of f shows that an engine has written
		tx.check = func() error { return f.unchanged(before) }
	}
	if tx.tables, err = readTables(ctx, conn.Conn); err != nil {
		return err
	}
	if err := refuseIndex(ctx, conn.Conn); err != nil {
		return err
	}
	if runs := tx.Table(runsTable); runs == nil || !runs.has("run_id", "created_at_ms") {
		return cmp.Or(langGraph(ctx, conn.Conn, tx), ErrNotSmithers)
	}
	return read(tx)
}

// langGraph returns the error for a database of a checkpointer of LangGraph, or nil for any other. Python's serializer writes msgpack.
func langGraph(ctx context.Context, conn *sql.Conn, tx *Tx) error {
	if t := tx.Table("checkpoints"); t == nil || !t.has("thread_id", "checkpoint_id", "type") {
		return nil
	}
	var python bool
	if err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM checkpoints WHERE type = 'msgpack')").Scan(&python); err != nil || !python {
		return ErrLangGraph
	}
	return ErrPython
}

// refuseIndex returns ErrIndex if the database is an index that package sqliteindex created.
func refuseIndex(ctx context.Context, conn *sql.Conn) error {
	var id int64
	if err := conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return explain(err)
	}
	if id == smithersnames.IndexID || id == smithersnames.DetailIndexID {
		return ErrIndex
	}
	return nil
}
