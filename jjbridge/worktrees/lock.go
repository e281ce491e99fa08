package worktrees

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// worktreesLock is the path of the lock file below the common directory. The lock is held while working copies are
// added, removed or rebased, and shared while working copies are listed. Without it, git fails if two of its processes
// write or remove records at the same time.
const worktreesLock = "smithers/worktrees.lock"

// retryEvery is the time between two attempts to take the lock.
const retryEvery = 5 * time.Millisecond

// lockWorktrees waits until no other caller of this package adds, removes, rebases or lists working copies of
// the repository. The caller must call unlock.
func lockWorktrees(ctx context.Context, w *jjbridge.Workspace) (unlock func() error, err error) {
	path := filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesLock))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	lock := flock.New(path, flock.SetPermissions(0o666))
	if _, err := lock.TryLockContext(ctx, retryEvery); err != nil {
		return nil, errors.Join(fmt.Errorf("the list of worktrees cannot be locked: %w", err), lock.Close())
	}
	return lock.Close, nil
}

// shareWorktrees waits until no other caller adds, removes or rebases working copies. Several callers may list working
// copies at once. If the lock cannot be taken, as in a read-only repository, or ctx ends first, shareWorktrees
// continues without the lock. The caller must call unlock.
func shareWorktrees(ctx context.Context, w *jjbridge.Workspace) (unlock func()) {
	lock := flock.New(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesLock)), flock.SetPermissions(0o666))
	_, _ = lock.TryRLockContext(ctx, retryEvery)
	return func() { _ = lock.Close() }
}
