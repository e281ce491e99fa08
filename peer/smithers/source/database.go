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

// How many bytes a value may have: more of them are ErrTooLarge before memory is taken for them. SQLite itself stops at
// largestValue.
const (
	defaultLimit = 256 << 20
	largestValue = 1_000_000_000
)

const (
	defaultPatience = 5 * time.Second
	retryEvery      = 2 * time.Millisecond // of what another process does within microseconds
)

// DB is a database that is open for reading. For one goroutine at a time.
type DB struct {
	path     string
	limit    int64
	patience time.Duration
	version  int64
	seen     state // at version
	reading  bool
}

// Open opens the database at path for reading only. It need not be writable, neither
// need its folder, and an engine may have it open; nothing is created beside it. Reading waits
// some seconds for locks of others.
func Open(ctx context.Context, path string) (*DB, error) {
	return OpenFor(ctx, path, defaultPatience)
}

// OpenFor is Open with another time to wait for locks before reading is ErrBusy.
func OpenFor(ctx context.Context, path string, patience time.Duration) (*DB, error) {
	db := &DB{path: path, limit: defaultLimit, patience: patience}
	if err := db.Read(ctx, func(*Tx) error { return nil }); err != nil {
		return nil, err
	}
	return db, nil
}

// Close closes it.
func (db *DB) Close() error { return nil }

// Version changes whenever somebody else has committed to the database, or put another in its
// place. It costs some microseconds. Within Read it is that of what is read, or older.
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

// Read calls read with one state of the database, in a read transaction that ends with it. The database is found by
// its path each time.
//
// An engine that begins to write to a database that nobody had open is not kept from it, and read may be given parts
// of two states then: Read fails with ErrOvertaken, and so does [Tx.Check] from then on. Whatever read does that
// others can see has to come after a Check, and be made of what was read before it.
func (db *DB) Read(ctx context.Context, read func(*Tx) error) error {
	if db.reading {
		return errors.New("a read within a read")
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
	if how != unlocked {
		return err
	}
	return errors.Join(f.unchanged(before), err)
}

// transact reads the file in a transaction, and tells how it was opened. An engine that ends
// between looking and opening takes its log away: then it looks again, once.
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
			return how, ErrOvertaken // SQLite opened what is beside a file that was deleted or replaced
		case how == logged && errors.Is(err, ErrInterrupted):
			// Whoever has it open is making the shared memory, or was killed while another reader looked.
			if err := waitAgain(ctx, patience); err != nil {
				return how, err
			}
		case again || !errors.Is(err, fs.ErrPermission):
			return how, err
		default:
			again = true
		}
	}
}

// waitAgain waits a moment before something is tried again, and is ErrBusy once patience has ended.
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

// ErrOvertaken is an ErrBusy: the database was written to by an engine that could not be kept from it. It can be read at
// once.
var ErrOvertaken = fmt.Errorf("%w: it was written to while it was read", ErrBusy)

// unchanged is ErrOvertaken where somebody has written to the file itself since it was in a state.
func (f file) unchanged(since state) error {
	if now, err := f.state(); err != nil || !now.sameFile(since) {
		return ErrOvertaken
	}
	return nil
}

// needEnd is ErrIncomplete for a file without a log whose end is missing. SQLite takes what is missing of the last page for
// zeros. Of a file that an engine is making longer the end is there once it can be read.
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

// incomplete is ErrIncomplete where an error comes from that: its end was missing before the file was read, or is now.
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

// read reads the file in a transaction.
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
	if before := db.seen; how == unlocked {
		tx.check = func() error { return f.unchanged(before) }
	}
	if tx.tables, err = readTables(ctx, conn.Conn); err != nil {
		return err
	}
	if err := refuseIndex(ctx, conn.Conn); err != nil {
		return err
	}
	if runs := tx.Table(runsTable); runs == nil || !runs.has("run_id", "created_at_ms") {
		return ErrNotSmithers
	}
	return read(tx)
}

// refuseIndex is ErrIndex for a database that package sqliteindex made.
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
