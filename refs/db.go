// Package refs is the refs/smithers namespace: its names, reading it fast, and
// moving refs by compare-and-swap.
//
// Refs are read as git's files backend keeps them, without a process and without
// reading any run's refs but those that were asked for. They are moved by git's own
// lock-file protocol or, where a repository asks for more than that (hooks, reflogs,
// shared permissions, deletions), by native git; see [DB.Apply].
package refs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// Names of the points of a write at which Options.Failpoint is called.
const (
	FailRefsLocked     = "refs-locked"     // all refs are locked and as expected, none has moved
	FailBetweenRenames = "between-renames" // before each ref but the first moves; not when native git moves them
	FailRefsDone       = "refs-done"       // all refs have moved
)

// defaultPatience is Options.Patience when it is zero.
const defaultPatience = time.Second

// Update moves one ref from Old to New. The zero Old means it must not exist, the
// zero New deletes it. There is no unconditional update.
type Update struct {
	Name     Name
	Old, New objstore.ID
}

// Ref is a ref and what it points at.
type Ref struct {
	Name Name
	ID   objstore.ID
}

// Backend says by what refs are moved.
type Backend uint8

const (
	// Auto moves refs by lock files where that does all that git would do, and by
	// native git elsewhere. It is the default.
	Auto Backend = iota
	// Native always moves refs by native git.
	Native
)

// Options configure a DB.
type Options struct {
	Repo  gitexec.Repo
	Env   []string // the environment git runs under, as os.Environ gives it
	Fsync bool     // Apply returns when what it wrote is on stable storage

	Backend Backend
	// Patience is how long Apply waits for a lock that somebody else holds; 0 means
	// one second.
	Patience time.Duration
	// Failpoint, if not nil, is called at named points of a write; an error it
	// returns stops the write there. For tests of what a crash leaves behind.
	Failpoint func(name string) error
	// FS is what refs are written to, where that is not native git's work; nil means the
	// real one. For tests that have writes fail, and that cut the power.
	FS fsx.FS
}

// DB is the refs of one repository. Safe for concurrent use.
type DB struct {
	opts   Options
	reader reader
	git    *gitexec.Git

	writing chan struct{} // holds one token, the right to write
	closed  bool          // guarded by writing
	files   *fileWriter
	native  *nativeWriter

	packing sync.Mutex
	touched touchedRuns
}

// A writer makes all updates of a transaction or none, in their order. It is called
// by one goroutine at a time.
type writer interface {
	apply(ctx context.Context, updates []Update) error
	close() error
}

// Open opens the refs of a repository. It starts no process and reads nothing. The
// error wraps ErrUnsupported when the repository does not keep its refs in files.
func Open(opts Options) (*DB, error) {
	if opts.Repo.RefFormat != "" && opts.Repo.RefFormat != "files" {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, opts.Repo.RefFormat)
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
	}
	if opts.Repo.ObjectFormat == "sha256" {
		db.reader.hexLen = 64
	}
	db.files = newFileWriter(db)
	db.native = newNativeWriter(db)
	return db, nil
}

// Close waits for a write under way and ends the child process, if there is one. The
// DB writes nothing any more.
func (db *DB) Close() error {
	db.writing <- struct{}{}
	defer db.unlock()
	db.closed = true
	return errors.Join(db.files.close(), db.native.close())
}

// Apply makes all updates or none, in their order, so that a crash leaves a prefix
// of them; so does an I/O error half-way, which is the only error with which a ref
// may have moved. Each New must be an object of the repository that is on stable
// storage already.
//
// A ref that is not at its Old value is a *ConflictError, one whose file is no ref
// a *BrokenError. ErrLocked is for a lock that was held for longer than
// Options.Patience, ErrObstructed for a ref whose name is a folder of an update's
// name or the reverse. When the context ends, Apply returns its error, or nil if
// the refs have moved nevertheless.
func (db *DB) Apply(ctx context.Context, updates ...Update) error {
	if err := checkUpdates(updates); err != nil || len(updates) == 0 {
		return err
	}
	if err := db.lock(ctx); err != nil {
		return err
	}
	defer db.unlock()
	err := errStepBack
	if db.opts.Backend == Auto {
		err = db.files.apply(ctx, updates)
	}
	native := errors.Is(err, errStepBack)
	if native {
		err = db.native.apply(ctx, updates)
	}
	if err != nil {
		return err
	}
	db.touched.add(updates)
	if db.opts.Fsync {
		// What the renames of the refs did is not durable until their folders are.
		folders := db.reader.folders(updates)
		if native { // git may have made them
			folders = append(folders, db.reader.foldersAbove(updates)...)
		}
		if err := syncFolders(db.opts.FS, folders); err != nil {
			return err
		}
	}
	return db.opts.Failpoint(FailRefsDone)
}

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

func (db *DB) unlock() { <-db.writing }

var errClosed = errors.New("already closed")

func checkUpdates(updates []Update) error {
	for i, u := range updates {
		if err := u.Name.check(); err != nil {
			return err
		}
		if u.Old.IsZero() && u.New.IsZero() {
			return fmt.Errorf("update of %s from nothing to nothing", u.Name)
		}
		for _, other := range updates[:i] {
			if other.Name == u.Name {
				return fmt.Errorf("two updates of %s", u.Name)
			}
		}
	}
	return nil
}

// check compares refs with what updates expect, and returns a *ConflictError or a
// *BrokenError for the first that is not as expected.
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
