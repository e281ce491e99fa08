package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/refs"
)

// staleLock is the age above which a ref's lock is taken to be left by a dead process: git
// holds a lock only during a write.
const staleLock = 10 * time.Minute

// locks finds ref locks of dead processes.
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
			return e.removeLock(ctx, lock)
		})
	}
	return nil
}

// removeLock removes a lock unless it has changed in the meantime.
func (k *Keeper) removeLock(ctx context.Context, lock refs.LockFile) error {
	if lock.Dead {
		return k.store.Refs().RecoverLocks(ctx)
	}
	path := k.inCommonDir(lock.File)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.ModTime().Equal(lock.Made) {
		return fmt.Errorf("%w: %s was replaced", refs.ErrLocked, lock.File)
	}
	return k.moveAside(lock.File)
}

// moveAside moves a file of the common directory to the folder for damaged files. A missing
// file is fine.
func (k *Keeper) moveAside(file string) error {
	to, err := k.freeAside(file)
	if err != nil {
		return err
	}
	from := k.inCommonDir(file)
	if err := os.Rename(from, to); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return errors.Join(fsx.SyncDir(filepath.Dir(to)), fsx.SyncDir(filepath.Dir(from)))
}

// freeAside makes the folder for damaged files, and returns an unused path in it for a file of the
// common directory.
func (k *Keeper) freeAside(file string) (string, error) {
	to := k.aside(strings.ReplaceAll(file, "/", "%2f"))
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return "", err
	}
	free := to
	for n := 2; ; n++ {
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			return free, nil
		}
		free = to + "." + strconv.Itoa(n)
	}
}
