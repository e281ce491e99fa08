package reftable

import (
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

// isSameFile reports whether the paths a and b name one file. It returns false if either file is missing.
func isSameFile(a, b string) bool {
	first, err1 := os.Lstat(a)
	second, err2 := os.Lstat(b)
	return err1 == nil && err2 == nil && os.SameFile(first, second)
}

// IsDead reports whether the lock of the stack is a link to the file proof, whose process must be dead (see Options.Proof).
func (s *Stack) IsDead(proof string) bool { return isSameFile(proof, s.lock()) }

// RemoveDead removes the lock of the stack and the file proof if the lock is a link to proof (see Options.Proof).
// Otherwise it removes only proof. The caller must know that the process that noted proof is dead, and must hold the flock
// that says so. It reports whether it removed the lock. A missing file is not an error.
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

// takeTurn waits until no other process of this program has the turn. path is Options.Turns. The caller must hold s.writing,
// and call pass, which passes the turn on and unlocks s.writing. If another process waits, pass returns at once and does both later.
func (s *Stack) takeTurn(ctx context.Context, path string) (pass func(), err error) {
	if path == "" {
		return s.writing.Unlock, nil
	}
	open := func(path string) *flock.Flock {
		return flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o666))
	}
	turn, queue := open(path), open(path+".wait") // whoever waits shares the lock of the queue
	got, err := turn.TryLock()
	if err == nil && !got {
		if _, err = queue.TryRLockContext(ctx, pause); err == nil {
			_, err = turn.TryLockContext(ctx, pause)
		}
		err = errors.Join(err, queue.Close())
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		s.writing.Unlock()
		return nil, errors.Join(err, turn.Close())
	}
	end := func() { _ = turn.Close() } // the end of the process closes it, too
	return func() {
		queue := open(path + ".wait")
		if alone, err := queue.TryLock(); alone || err != nil {
			end()
			s.writing.Unlock()
		} else {
			time.AfterFunc(courtesy, end)
			time.AfterFunc(courtesy+3*pause, s.writing.Unlock) // others are faster this time
		}
		_ = queue.Close()
	}, nil
}
