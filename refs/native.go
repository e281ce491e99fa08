package refs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// childRestarts limits how often a killed child is restarted in one transaction.
const childRestarts = 3

// nativeWriter moves refs by one long-lived git update-ref --stdin.
type nativeWriter struct {
	db     *DB
	global []string // options before the git command
	child  *child   // nil if not running
}

var _ writer = (*nativeWriter)(nil)

func newNativeWriter(db *DB) *nativeWriter {
	fsync := "core.fsync=none"
	if db.opts.Fsync {
		fsync = "core.fsync=reference"
	}
	global := append([]string{"-c", fsync}, hooksArgs(db.opts.Repo, db.opts.Env)...)
	return &nativeWriter{db: db, global: slices.Clip(global)}
}

func (w *nativeWriter) close() error {
	if w.child == nil {
		return nil
	}
	err := w.child.end()
	w.child = nil
	return err
}

func (w *nativeWriter) apply(ctx context.Context, updates []Update) error {
	return w.db.patiently(ctx, updates, func() error { return w.attempt(ctx, updates) })
}

// attempt makes a transaction, or finds out why git refused it. If another process was
// first, the error is a *heldError.
func (w *nativeWriter) attempt(ctx context.Context, updates []Update) error {
	for restarts := 0; ; restarts++ {
		// git would write through a symbolic ref, and its messages about other broken refs
		// would have to be parsed.
		for _, u := range updates {
			if _, err := w.db.reader.loose(u.Name); err != nil {
				return err
			}
		}
		err := w.once(ctx, updates)
		var failure *childError
		if !errors.As(err, &failure) {
			return err
		}
		if failure.prepared {
			left, err := w.remaining(updates, failure)
			if err != nil || len(left) == 0 {
				return err
			}
			if len(left) < len(updates) { // a transaction that has begun must be completed
				return w.apply(context.WithoutCancel(ctx), left)
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case failure.ended() && restarts < childRestarts:
		case failure.contended():
			return &heldError{w.lockOf(updates, failure)}
		default:
			return cmp.Or(w.db.reader.check(updates), w.obstructed(updates), error(failure.git))
		}
	}
}

// lockOf returns the lock that obstructed updates: the one that git names, which may be that of
// packed-refs, or the most likely one.
func (w *nativeWriter) lockOf(updates []Update, failure *childError) string {
	if lock := failure.lock(); filepath.IsAbs(lock) {
		return filepath.Clean(lock)
	}
	for _, u := range updates {
		lock := w.db.reader.path(u.Name) + lockSuffix
		if _, err := os.Lstat(lock); err == nil {
			return lock
		}
	}
	return w.db.reader.path(updates[0].Name) + lockSuffix
}

// once makes one attempt. If git refused or died, the error is a *childError.
func (w *nativeWriter) once(ctx context.Context, updates []Update) error {
	if w.child != nil && w.child.used >= childLife {
		if err := w.close(); err != nil {
			return err
		}
	}
	if w.child == nil {
		var err error
		if w.child, err = startChild(ctx, w.db.git, append(w.global, "update-ref", "--stdin")); err != nil {
			return err
		}
	}
	err := w.child.transact(ctx, updates, func() error {
		// git takes packed-refs for unchanged if its size, inode and modification second
		// are the same, so git may have compared old values. The refs are locked now, so read them again.
		if err := w.db.reader.check(updates); err != nil {
			return err
		}
		return w.db.opts.Failpoint(FailRefsLocked)
	})
	if _, failed := errors.AsType[*childError](err); failed {
		w.child = nil // it has ended
	} else if ctx.Err() != nil {
		_ = w.close() // it is being ended, which is not an error of the transaction
	}
	return err
}

// remaining returns the updates left to do if git ended after locking all refs: none, a tail, or
// all of them.
func (w *nativeWriter) remaining(updates []Update, failure *childError) ([]Update, error) {
	for i, u := range updates {
		actual, err := w.db.reader.resolve(u.Name)
		if err != nil {
			return nil, err
		}
		switch {
		case actual == u.New:
		case actual == u.Old:
			return updates[i:], nil
		case i == 0:
			return nil, &ConflictError{Name: u.Name, Expected: u.Old, Actual: actual}
		default:
			return nil, fmt.Errorf("%s has moved but %s is at %v: %w", updates[0].Name, u.Name, actual, failure)
		}
	}
	return nil, nil
}

// obstructed looks for refs that cannot exist beside new ones.
func (w *nativeWriter) obstructed(updates []Update) error {
	packed, err := w.db.reader.openPacked()
	if err != nil {
		return err
	}
	for _, u := range updates {
		if u.Old.IsZero() && err == nil {
			if err = packed.obstructed(u.Name); err == nil {
				err = w.db.reader.obstructed(u.Name)
			}
		}
	}
	return errors.Join(err, packed.close())
}

// childError means that git update-ref ended instead of making a transaction.
type childError struct {
	prepared bool // all refs were locked and as expected, so some may have moved
	git      *gitexec.Error
}

// Error returns git's message.
func (e *childError) Error() string { return e.git.Error() }

// Unwrap returns the *gitexec.Error.
func (e *childError) Unwrap() error { return e.git }

// ended reports whether git was killed.
func (e *childError) ended() bool { return e.git.Status < 0 || e.git.Stderr == "" }

// contended reports whether another process held a lock or moved a ref. It compares messages of
// the C locale.
func (e *childError) contended() bool {
	return slices.ContainsFunc(
		[]string{"File exists", "but expected", "reference already exists", "unable to resolve reference"},
		func(words string) bool { return strings.Contains(e.git.Stderr, words) })
}

// lock returns the lock in git's message; "" if there is none.
func (e *childError) lock() string {
	_, rest, _ := strings.Cut(e.git.Stderr, "Unable to create '")
	path, _, found := strings.Cut(rest, "': File exists")
	if !found {
		return ""
	}
	return path
}
