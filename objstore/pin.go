package objstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
)

const (
	dropLock = "drop.lock"
	// lockRetry is the time between two attempts to take a lock.
	lockRetry = 10 * time.Millisecond
)

// Pin blocks [Store.Drop] in every process until the caller calls release. Call Pin before you look for objects
// that a ref will reach, and call release after the ref has moved. Any number of pins may exist at once, and
// release may be called more than once. Pin waits for a drop in progress, and returns an error if ctx ends
// first. If this process may not write to the repository, Pin does nothing, and release does nothing either.
func (s *Store) Pin(ctx context.Context) (release func(), err error) {
	lock, err := s.temp.lock(dropLock, flock.SetPermissions(0o666))
	if err == nil {
		_, err = lock.TryRLockContext(ctx, lockRetry)
	}
	if isUnwritable(err) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("pin objects: %w", err)
	}
	return func() { _ = lock.Close() }, nil // the end of the process releases the lock in any case
}

// isUnwritable reports whether err means that this process may not write to the file system.
func isUnwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
