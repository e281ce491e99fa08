// Package refs names, reads and moves the refs below refs/smithers. Refs move by compare-and-swap.
//
// The package reads refs as git's files backend stores them, or its reftable backend, without a process, and reads only the
// requested runs. It moves refs by the lock-file protocol of git. It uses native git if the repository needs hooks, reflogs or
// shared permissions, or if a ref is deleted; see [DB.Apply].
//
// It is not a promised API: any version may change it.
package refs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/objstore"
)

// Names of the points of a write at which Options.Failpoint is called.
const (
	FailRefsLocked     = "refs-locked"     // all refs are locked and have their expected values; no ref has moved
	FailBetweenRenames = "between-renames" // before each ref but the first moves; not called with native git
	FailRefsDone       = "refs-done"       // all refs have moved
)

// defaultPatience is the default value of Options.Patience. git pack-refs holds the lock of the packed refs while it
// packs: for 0.6 s with 10,000 loose refs, and for 2.4 s with 30,000, on an idle machine.
const defaultPatience = 5 * time.Second

// Update moves one ref from Old to New. A zero Old means that the ref must not exist. A zero New deletes the
// ref.
type Update struct {
	Name     Name
	Old, New objstore.ID
}

// Ref is the name of a ref and the object at which the ref points.
type Ref struct {
	Name Name
	ID   objstore.ID
}

// Options configures a [DB].
type Options struct {
	Repo  gitexec.Repo
	Env   []string // the environment of git, in the form of os.Environ
	Fsync bool     // Apply returns only when its writes are on stable storage
	// LateNames weakens Fsync: Apply puts the bytes of refs on stable storage before it moves the refs, and leaves it to the
	// operating system when the moves get there. After a power cut a ref has its old value or its new one.
	LateNames bool

	// NativeOnly moves refs by native git always. Otherwise, lock files move them if that has the same effect.
	NativeOnly bool
	// Patience is how long Apply waits for a lock of another process; 0 means five seconds.
	Patience time.Duration
	// Failpoint, if not nil, is called at named points of a write; its error stops the write at that point. Tests
	// use it to stop a write as a crash would.
	Failpoint func(name string) error
	// FS makes all writes except native git's; nil means the real file system. Tests use FS to inject failed
	// writes and power cuts.
	FS fsx.FS
}

// DB reads and moves the refs of one repository. It is safe for concurrent use.
type DB struct {
	opts   Options
	reader reader
	git    *gitexec.Git

	writing chan struct{} // has one element while a goroutine writes
	closed  bool          // guarded by writing
	files   *fileWriter
	direct  writer // files, or a tableWriter on it
	native  *nativeWriter

	format  formatWatch // looked at before and after each write
	packing sync.Mutex  // held by PackIfMany
	touched touchedRuns // the runs whose frames this DB wrote
}

// A writer makes all updates, in order, or none of them. Only one goroutine calls a writer at a time.
type writer interface {
	apply(ctx context.Context, updates []Update) error
	close() error
}

// Open returns the refs of a repository. It starts no process and reads nothing. The error wraps
// ErrUnsupported if the repository stores its refs neither in files nor in reftables.
func Open(opts Options) (*DB, error) {
	if format := opts.Repo.RefFormat; format != "" && format != "files" && format != TablesFolder {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, format)
	}
	if opts.Patience == 0 {
		opts.Patience = defaultPatience
	}
	if opts.FS == nil {
		opts.FS = fsx.OS{}
	}
	if opts.Failpoint == nil {
		opts.Failpoint = func(string) error { return nil }
	}
	db := &DB{
		opts:    opts,
		reader:  reader{dir: opts.Repo.CommonDir, hexLen: 40},
		git:     gitexec.New(opts.Repo, opts.Env).Apart(),
		writing: make(chan struct{}, 1),
		format:  formatWatch{dir: opts.Repo.CommonDir},
	}
	if opts.Repo.ObjectFormat == "sha256" {
		db.reader.hexLen = 64
	}
	db.files = newFileWriter(db)
	db.direct = db.files
	if opts.Repo.RefFormat == TablesFolder {
		db.format.tables = true
		db.reader.tables = reftable.Open(filepath.Join(opts.Repo.CommonDir, TablesFolder), objstore.AlgorithmOf(opts.Repo.ObjectFormat))
		db.direct = tableWriter{db.files}
	}
	db.native = newNativeWriter(db)
	return db, nil
}

// Close waits until no write is in progress, and ends the child process. After Close, methods that write
// return an error.
func (db *DB) Close() error {
	db.writing <- struct{}{}
	defer db.unlock()
	db.closed = true
	return errors.Join(db.files.close(), db.native.close())
}

// Apply makes all updates or none. It makes the updates in order: after a crash or an I/O error, only the first updates
// may have been made. After any other error, no ref has moved. Each New must be an object of the repository that is
// already on stable storage. After Apply, a tip and a frame ref that moved to the same value may share one file, so
// neither file may be written in place.
//
// If a ref does not have its Old value, the error is a *ConflictError. If a ref's file is invalid, the error is a
// *BrokenError. ErrLocked means that another process held a lock for longer than Options.Patience. ErrObstructed
// means that the name of another ref is a folder of an update's name, or the reverse. ErrUnsupported means that git has
// moved the refs to another format, or is about to: no ref has moved, or git may have left the moves out. If ctx ends before the refs
// have moved, Apply returns the error of ctx.
func (db *DB) Apply(ctx context.Context, updates ...Update) error {
	if err := checkUpdates(updates); err != nil || len(updates) == 0 {
		return err
	}
	if err := db.lock(ctx); err != nil {
		return err
	}
	defer db.unlock()
	if err := db.format.check(); err != nil {
		return err
	}
	err := errStepBack
	if !db.opts.NativeOnly {
		err = db.direct.apply(ctx, updates)
	}
	native := errors.Is(err, errStepBack)
	if native {
		err = db.native.apply(ctx, updates)
	}
	if changed := db.format.check(); changed != nil {
		return changed // git may have moved the refs without these, and any other error follows from that
	}
	if err != nil {
		return err
	}
	db.touched.add(updates)
	if db.opts.Fsync && !db.opts.LateNames && (native || db.reader.tables == nil) {
		// The renames are durable only once their folders are synced.
		folders := db.reader.folders(updates)
		if native { // git may have created new folders
			folders = append(folders, db.reader.foldersAbove(updates)...)
		}
		if err := syncFolders(db.opts.FS, folders); err != nil {
			return err
		}
	}
	return db.opts.Failpoint(FailRefsDone)
}

// lock waits until no other goroutine writes refs of db. From then on, no other goroutine can write until unlock is
// called. If ctx ends first or the DB is closed, lock returns an error.
func (db *DB) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case db.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if db.closed {
		db.unlock()
		return fmt.Errorf("refs: %w", errClosed)
	}
	return nil
}

// unlock allows the next write. The caller must hold the lock: see lock.
func (db *DB) unlock() { <-db.writing }

var errClosed = errors.New("already closed")

// checkUpdates returns an error if an update has an invalid name, or neither an old nor a new value, or if
// two updates concern the same ref.
func checkUpdates(updates []Update) error {
	for i, u := range updates {
		if err := u.Name.check(); err != nil {
			return err
		}
		if u.Old.IsZero() && u.New.IsZero() {
			return fmt.Errorf("update of %s has neither an old nor a new value", u.Name)
		}
		for _, other := range updates[:i] {
			if other.Name == u.Name {
				return fmt.Errorf("two updates of %s", u.Name)
			}
		}
	}
	return nil
}

// check compares refs with the expected values of updates. For the first ref that differs, it returns a
// *ConflictError or, if the ref is broken, a *BrokenError.
func (r reader) check(updates []Update) error {
	for _, u := range updates {
		actual, err := r.resolve(u.Name)
		if err != nil {
			return err
		}
		if actual != u.Old {
			return &ConflictError{Name: u.Name, Expected: u.Old, Actual: actual}
		}
	}
	return nil
}
