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

// childRestarts is the maximum number of times that a killed child is restarted in one transaction.
const childRestarts = 3

// nativeWriter moves refs with a long-lived git update-ref --stdin.
type nativeWriter struct {
	db     *DB
	global []string // options of git before the command
	child  *child   // nil if no child runs
}

var _ writer = (*nativeWriter)(nil)

// newNativeWriter returns the nativeWriter of db. It starts no process yet.
func newNativeWriter(db *DB) *nativeWriter {
	fsync := "core.fsync=none"
	if db.opts.Fsync {
		fsync = "core.fsync=reference"
	}
	global := append([]string{"-c", fsync}, hooksArgs(db.opts.Repo, db.opts.Env)...)
	// Clip makes each later append to global copy the options.
	return &nativeWriter{db: db, global: slices.Clip(global)}
}

// options returns the options of git before the command.
func (w *nativeWriter) options() []string {
	if w.db.files.rules.noHooks.Load() {
		return append(w.global, gitexec.NoHooks(w.db.opts.Repo.Config)...)
	}
	return w.global
}

// close ends the child, if it runs. The next transaction starts a new child.
func (w *nativeWriter) close() error {
	if w.child == nil {
		return nil
	}
	err := w.child.end()
	w.child = nil
	return err
}

// apply makes updates in one transaction of git, and waits for locks of other processes (see patiently).
func (w *nativeWriter) apply(ctx context.Context, updates []Update) error {
	return w.db.patiently(ctx, updates, func() error { return w.attempt(ctx, updates) })
}

// attempt tries to make updates in one transaction of git:
//   - If git was killed before it moved a ref, attempt repeats the transaction at most childRestarts times.
//   - If git ended after it moved some refs, attempt completes the transaction, even if ctx has ended.
//   - If another process held a lock or moved a ref first, the error is a *heldError.
//   - If git refused the transaction for another reason, the error names the ref that is broken, has another value or
//     obstructs an update. If there is no such ref, it is git's error.
//   - If ctx ended before git moved a ref, the error is that of ctx.
func (w *nativeWriter) attempt(ctx context.Context, updates []Update) error {
	for restarts := 0; ; restarts++ {
		// Check for broken refs first: git would write through a symbolic ref, and git reports other broken refs
		// only in its messages.
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
			if len(left) < len(updates) { // some refs have moved, so the transaction must be completed
				return w.apply(context.WithoutCancel(ctx), left)
			}
		}
		// No ref has moved.
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

// lockOf returns the path of the lock file that stopped updates. failure is git's error. If git's message names a lock
// file, lockOf returns the path in the message, which may be the lock of packed-refs. Otherwise it returns the first
// lock file of updates that exists. If none exists, it returns the path that the lock file of the first update would
// have.
func (w *nativeWriter) lockOf(updates []Update, failure *childError) string {
	if w.db.reader.tables != nil {
		return w.db.reader.tables.List() + lockSuffix
	}
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

// once makes updates in one transaction of git, and starts a child if necessary. If git refused the transaction or
// died, the error is a *childError. If a locked ref does not have its expected value, the error is that of check. If ctx ends, the child
// ends too.
func (w *nativeWriter) once(ctx context.Context, updates []Update) error {
	if w.child != nil && w.child.used >= childLife {
		if err := w.close(); err != nil {
			return err
		}
	}
	if w.child == nil {
		var err error
		if w.child, err = startChild(ctx, w.db.git, append(w.options(), "update-ref", "--stdin")); err != nil {
			return err
		}
	}
	err := w.child.transact(ctx, updates, func() error {
		// git assumes that packed-refs is unchanged if its size, inode and modification second are the same, so
		// git may have compared old values. The refs are locked now, so read them again.
		if err := w.db.reader.check(updates); err != nil {
			return err
		}
		return w.db.opts.Failpoint(FailRefsLocked)
	})
	if _, failed := errors.AsType[*childError](err); failed {
		w.child = nil // the child has ended
	} else if ctx.Err() != nil {
		_ = w.close() // the end of ctx ends the child, which is not an error of the transaction
	}
	return err
}

// remaining returns the updates that git did not make before it ended: none, the last updates, or all. git must have
// locked all refs. failure is git's error. If a ref has neither its old nor its new value, remaining returns an error.
// For the first update, the error is a *ConflictError. For a later update, the error wraps failure.
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

// obstructed returns an error that wraps ErrObstructed if an update creates a ref whose name is a folder of another
// ref's name, or the reverse. Otherwise it returns nil.
func (w *nativeWriter) obstructed(updates []Update) error {
	if w.db.reader.tables != nil {
		for _, u := range updates {
			if err := w.db.reader.obstructed(u.Name); u.Old.IsZero() && err != nil {
				return err
			}
		}
		return nil
	}
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
	prepared bool // git had locked and checked all refs, so some refs may have moved
	git      *gitexec.Error
}

// Error returns git's message.
func (e *childError) Error() string { return e.git.Error() }

// Unwrap returns the *gitexec.Error with git's status and message.
func (e *childError) Unwrap() error { return e.git }

// ended reports whether git was killed or died without a message. If it returns false, git refused the transaction.
func (e *childError) ended() bool { return e.git.Status < 0 || e.git.Stderr == "" }

// contended reports whether git failed because another process held a lock or moved a ref. It searches git's message
// for known phrases, so git must run with the C locale.
func (e *childError) contended() bool {
	return slices.ContainsFunc(
		[]string{"File exists", "but expected", "reference already exists", "unable to resolve reference", "cannot lock references"},
		func(words string) bool { return strings.Contains(e.git.Stderr, words) })
}

// lock returns the path of the lock in git's message, or "" if the message names no lock.
func (e *childError) lock() string {
	_, rest, _ := strings.Cut(e.git.Stderr, "Unable to create '")
	path, _, found := strings.Cut(rest, "': File exists")
	if !found {
		return ""
	}
	return path
}
