package flock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/windows"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// The place of the byte that is locked.
const (
	lockedLow  = 0xfffffffe
	lockedHigh = 0x7fffffff
)

// Option is an option of New.
type Option func(*Flock)

// Flock is a lock of a file. Its methods may be called at the same time.
type Flock struct {
	mu     sync.Mutex
	path   string
	flag   int
	file   *os.File
	locked bool
}

// New returns a lock of the file at path, which is neither opened nor locked yet.
func New(path string, options ...Option) *Flock {
	f := &Flock{path: path, flag: os.O_CREATE | os.O_RDONLY}
	for _, option := range options {
		option(f)
	}
	return f
}

// SetFlag sets the flags with which the file is opened; by default, it is made if it is missing.
func SetFlag(flag int) Option { return func(f *Flock) { f.flag = flag } }

// SetPermissions does nothing: Windows has no such permissions.
func SetPermissions(fs.FileMode) Option { return func(*Flock) {} }

// Path returns the path of the file.
func (f *Flock) Path() string { return f.path }

// Stat returns the description of the file, which must be open.
func (f *Flock) Stat() (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil, &fs.PathError{Op: "stat", Path: f.path, Err: fs.ErrClosed}
	}
	return f.file.Stat()
}

// Lock waits until it has the lock.
func (f *Flock) Lock() error {
	_, err := f.take(windows.LOCKFILE_EXCLUSIVE_LOCK)
	return err
}

// TryLock takes the lock. It returns false if somebody else has it.
func (f *Flock) TryLock() (bool, error) {
	return f.take(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// TryRLock takes the lock together with others that call TryRLock. It returns false if somebody has it alone.
func (f *Flock) TryRLock() (bool, error) { return f.take(windows.LOCKFILE_FAIL_IMMEDIATELY) }

// TryLockContext calls TryLock, again and again after delay, until it has the lock or ctx ends.
func (f *Flock) TryLockContext(ctx context.Context, delay time.Duration) (bool, error) {
	return retry(ctx, f.TryLock, delay)
}

// TryRLockContext calls TryRLock, again and again after delay, until it has the lock or ctx ends.
func (f *Flock) TryRLockContext(ctx context.Context, delay time.Duration) (bool, error) {
	return retry(ctx, f.TryRLock, delay)
}

func retry(ctx context.Context, try func() (bool, error), delay time.Duration) (bool, error) {
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if got, err := try(); got || err != nil {
			return got, err
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// take opens the file, if it is not open, and locks it.
func (f *Flock) take(flags uint32) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locked {
		return true, nil
	}
	if f.file == nil {
		file, err := fsx.OpenShared(f.path, f.flag)
		if err != nil {
			return false, err
		}
		f.file = file
	}
	at := windows.Overlapped{Offset: lockedLow, OffsetHigh: lockedHigh}
	err := windows.LockFileEx(windows.Handle(f.file.Fd()), flags, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	if err != nil {
		return false, &fs.PathError{Op: "lock", Path: f.path, Err: err}
	}
	f.locked = true
	return true, nil
}

// Close unlocks the file and closes it.
func (f *Flock) Close() error { return f.Unlock() }

// Unlock unlocks the file and closes it.
func (f *Flock) Unlock() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	var err error
	if f.locked {
		at := windows.Overlapped{Offset: lockedLow, OffsetHigh: lockedHigh}
		err = windows.UnlockFileEx(windows.Handle(f.file.Fd()), 0, 1, 0, &at)
	}
	err = errors.Join(err, f.file.Close())
	f.file, f.locked = nil, false
	return err
}
