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

// worktreesLock is the file, under the common directory, that is locked while working copies are
// made, removed or rebased, and shared while they are listed: git fails if it meets a record that
// another git is writing or removing.
const worktreesLock = "smithers/worktrees.lock"

// retryEvery is the time between two attempts to take the lock.
const retryEvery = 5 * time.Millisecond

// lockWorktrees waits until no other caller of this package makes, removes, rebases or lists
// working copies of the repository. The caller calls unlock.
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

// shareWorktrees is lockWorktrees for listing. If the lock cannot be taken, as in a read-only
// repository, it does without.
func shareWorktrees(ctx context.Context, w *jjbridge.Workspace) (unlock func()) {
	lock := flock.New(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesLock)), flock.SetPermissions(0o666))
	_, _ = lock.TryRLockContext(ctx, retryEvery)
	return func() { _ = lock.Close() }
}
