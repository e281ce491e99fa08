package reftable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
)

const (
	lockSuffix = ".lock"
	waitSuffix = ".wait"
	// pause is the time between two attempts to take a lock.
	pause = time.Millisecond
	// courtesy is how long a process keeps its turn after an Append while another process of this program waits. In this
	// time, the lock is free for git.
	courtesy = 3 * time.Millisecond
)

// take creates the lock of the stack and returns its file, into which the new list is written. If another process holds the lock, the
// error is a *LockedError, and nothing is left.
func (s *Stack) take(opts Options) (fsx.File, error) {
	file, err := opts.FS.OpenFile(cmp.Or(opts.Proof, s.lock()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil && opts.Proof != "" {
		// NFS may report that a link exists when it has just made the link.
		if err = opts.FS.Link(opts.Proof, s.lock()); err != nil && !isSameFile(opts.Proof, s.lock()) {
			err = errors.Join(err, file.Close(), opts.FS.Remove(opts.Proof))
			if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: %w", ErrNoLinks, err)
			}
		} else {
			err = nil
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, &LockedError{Path: s.lock()}
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	return file, err
}

// lock returns the path of the stack's lock.
func (s *Stack) lock() string { return s.List() + lockSuffix }

// isLocked reports whether a process holds the lock of the stack.
func (s *Stack) isLocked() bool {
	_, err := os.Lstat(s.lock())
	return err == nil
}

// isSameFile reports whether the paths a and b name one file. It returns false if either file is missing.
func isSameFile(a, b string) bool {
	first, err1 := os.Lstat(a)
	second, err2 := os.Lstat(b)
	return err1 == nil && err2 == nil && os.SameFile(first, second)
}

// IsDead reports whether the lock of the stack is that of the process that noted the file proof, which must be dead (see
// Options.Proof): a link to proof, or, since a copy of a folder may have two files for a link, a file with the same list.
func (s *Stack) IsDead(proof string) bool {
	return isSameFile(proof, s.lock()) || hasNewList(s.lock(), proof, s.List())
}

// hasNewList reports whether the files lock and proof have the same text, which the file list does not have. A list
// that is not published has the random name of its new table, so no other process wrote it.
func hasNewList(lock, proof, list string) bool {
	held, err1 := os.ReadFile(lock)
	noted, err2 := os.ReadFile(proof)
	current, err3 := os.ReadFile(list)
	return errors.Join(err1, err2, err3) == nil && len(held) > 0 && bytes.Equal(held, noted) && !bytes.Equal(held, current)
}

// RemoveDead removes the lock of the stack and the file proof if IsDead returns true. Otherwise it removes only proof. The caller must
// know that the process that noted proof is dead, and must hold the flock that says so. It reports whether it removed the lock. A missing file is not an error.
func (s *Stack) RemoveDead(files fsx.FS, proof string) (removed bool, err error) {
	if s.IsDead(proof) {
		err = files.Remove(s.lock())
		removed = err == nil
	}
	if err == nil {
		err = files.Remove(proof)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return removed, err
}

// turn is the place of an Append among those of other processes of this program. As long as no process waits, nobody needs the turn, and Append
// only looks whether the file of the queue is there.
type turn struct {
	stack       *Stack
	path        string       // Options.Turns
	lock, queue *flock.Flock // nil if they are not held
}

// open returns the lock of the turn or, with waitSuffix, of the queue, which everybody who waits shares.
func (t *turn) open(suffix string) *flock.Flock {
	return flock.New(t.path+suffix, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o666))
}

// others reports whether the file of the queue is there. If so, a process may wait.
func (t *turn) others() bool {
	if t.path == "" {
		return false
	}
	_, err := os.Lstat(t.path + waitSuffix)
	return err == nil
}

// take takes the lock of the stack: at once if no other process waits for it, and otherwise when this process has the turn.
func (t *turn) take(ctx context.Context, opts Options) (fsx.File, error) {
	if !t.others() {
		if file, err := t.stack.take(opts); !errors.Is(err, ErrLocked) || ctx.Err() != nil {
			return file, err
		}
	}
	if t.path != "" {
		if err := t.wait(ctx); err != nil {
			return nil, err
		}
		defer t.queue.Close() //nolint:errcheck // the end of the process closes it, too
	}
	file, err := t.stack.take(opts)
	for errors.Is(err, ErrLocked) && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		file, err = t.stack.take(opts)
	}
	return file, err
}

// wait joins the queue and waits until no other process of this program has the turn.
func (t *turn) wait(ctx context.Context) error {
	t.lock, t.queue = t.open(""), t.open(waitSuffix)
	_, err := t.queue.TryRLock()
	got := false
	if err == nil {
		got, err = t.lock.TryLock()
	}
	if err == nil && !got {
		_, err = t.lock.TryLockContext(ctx, pause)
	}
	if err == nil {
		return nil
	}
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, fs.ErrPermission): // the files are another user's, so there are no turns
		err = nil
	}
	err = errors.Join(err, t.queue.Close(), t.lock.Close())
	t.lock = nil
	return err
}

// pass passes the turn on and unlocks the stack for this process. If another process waits, pass returns at once and does both later.
func (t *turn) pass() {
	end, alone := t.stack.writing.Unlock, true
	if t.lock != nil || t.others() {
		queue := t.open(waitSuffix)
		got, err := queue.TryLock()
		if alone = got || err != nil; got {
			_ = os.Remove(t.path + waitSuffix) // nobody waits
		}
		_ = queue.Close()
	}
	next := func() {
		if t.lock != nil {
			_ = t.lock.Close()
		}
	}
	if alone {
		next()
		end()
		return
	}
	time.AfterFunc(courtesy, next)
	time.AfterFunc(courtesy+3*pause, end) // others are faster this time
}
