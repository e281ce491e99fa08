package worktrees

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/jjbridge"
)

// worktreesLock is the file, under the common directory, that is locked while working
// copies are made, removed or rebased, and shared while they are listed: git fails where
// it comes upon a record that another git is just writing, or removing.
const worktreesLock = "smithers/worktrees.lock"

// retryEvery is how often a held lock is tried again.
const retryEvery = 5 * time.Millisecond

// lockWorktrees waits until nobody else makes, removes, rebases or lists working copies
// of the repository by this package. The caller calls unlock.
func lockWorktrees(ctx context.Context, w *jjbridge.Workspace) (unlock func() error, err error) {
	path := filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesLock))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	lock := flock.New(path, flock.SetPermissions(0o666))
	if _, err := lock.TryLockContext(ctx, retryEvery); err != nil {
		return nil, errors.Join(fmt.Errorf("worktrees: %w", err), lock.Close())
	}
	return lock.Close, nil
}

// shareWorktrees is lockWorktrees for listing. Where the lock cannot be had, as in a
// repository that may only be read, it goes without.
func shareWorktrees(ctx context.Context, w *jjbridge.Workspace) (unlock func()) {
	lock := flock.New(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesLock)), flock.SetPermissions(0o666))
	_, _ = lock.TryRLockContext(ctx, retryEvery)
	return func() { _ = lock.Close() }
}
