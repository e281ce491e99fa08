package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
)

// staleLock is the minimum age of a lock that counts as the lock of a dead process: git holds a lock only during a
// write.
const staleLock = 10 * time.Minute

// halfWorktrees notes worktrees that git was adding when it was killed. Commands of git fail over them, and blame something else.
func (e *examination) halfWorktrees(context.Context) error {
	paths, err := worktrees.Unfinished(e.store.Workspace())
	for _, path := range paths {
		e.note(Finding{
			Kind: HalfWorktree, Where: path, What: "git was killed while it added this worktree; `git fsck`, `git gc` and others can fail over it",
			Repair: "removes the worktree, unless it has files of yours",
		}, func(ctx context.Context) error { return worktrees.DropUnfinished(ctx, e.store.Workspace(), path) })
	}
	return err
}

// locks notes ref locks of dead processes of git-smithers, and other ref locks that are at least staleLock
// old.
func (e *examination) locks(context.Context) error {
	for _, lock := range e.refs.Locks {
		age := e.store.Now().Sub(lock.Made)
		what := fmt.Sprintf("a lock that is %s old blocks the ref", age.Round(time.Minute))
		switch {
		case lock.Dead:
			what = "the process that made this lock is dead"
		case age < staleLock:
			continue
		}
		e.note(Finding{Kind: StaleLock, What: what, Where: lock.File, Repair: "moves the lock away"}, func(ctx context.Context) error {
			return e.repairs.removeLock(ctx, lock)
		})
	}
	return nil
}
