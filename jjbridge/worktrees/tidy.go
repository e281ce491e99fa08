package worktrees

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// addingNote is the path of a file below the common directory with the path of the worktree that git is adding. The process that
// holds worktreesLock writes the file, and removes it when git has ended.
const addingNote = "smithers/worktrees.adding"

// addingPath returns the path of the file addingNote.
func addingPath(w *jjbridge.Workspace) string {
	return filepath.Join(w.Repo.CommonDir, filepath.FromSlash(addingNote))
}

// noteAdding notes that git is about to add a worktree at path.
func noteAdding(w *jjbridge.Workspace, path string) error {
	return os.WriteFile(addingPath(w), []byte(path), 0o666)
}

// Tidy removes the remains of a worktree that git was adding for git-smithers when both were killed. It returns the path
// of the worktree, or "" if there was none. git takes such a worktree for locked, keeps it for ever, and some of its commands fail over
// it. A file that is neither a file of the commit at which the worktree starts nor its beginning stays; then only git's lock goes. If
// no worktree was being added, or a process is adding one, Tidy costs one system call or two.
func Tidy(ctx context.Context, w *jjbridge.Workspace) (tidied string, err error) {
	path, err := os.ReadFile(addingPath(w))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesLock)), flock.SetPermissions(0o666))
	defer lock.Close() //nolint:errcheck // the file was only locked
	if free, err := lock.TryLock(); err != nil || !free {
		return "", err
	}
	dropped, err := dropUnfinished(ctx, w, string(path))
	if err != nil {
		return "", err
	}
	if dropped {
		tidied = string(path)
	}
	return tidied, os.Remove(addingPath(w))
}

// Unfinished returns the sorted paths of the worktrees that git has begun to add and that have no HEAD yet. Usually git was killed:
// a worktree is so for milliseconds.
func Unfinished(w *jjbridge.Workspace) ([]string, error) {
	names, err := worktreeNames(w.Repo.CommonDir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for path, name := range names {
		record := filepath.Join(w.Repo.CommonDir, "worktrees", name)
		locked, lockErr := lockReason(record)
		headless, headErr := isHeadless(w, record)
		if errors.Join(lockErr, headErr) == nil && locked == unfinishedLock && headless {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// DropUnfinished removes a worktree of Unfinished, as Tidy does.
func DropUnfinished(ctx context.Context, w *jjbridge.Workspace, path string) (err error) {
	unlock, err := lockWorktrees(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	_, err = dropUnfinished(ctx, w, path)
	return err
}

// dropUnfinished removes git's record of an unfinished worktree, and its folder if that has nothing of the user's. It reports whether
// there was such a worktree. The caller holds the lock of lockWorktrees.
func dropUnfinished(ctx context.Context, w *jjbridge.Workspace, path string) (bool, error) {
	names, err := worktreeNames(w.Repo.CommonDir)
	if err != nil {
		return false, err
	}
	name, known := names[path]
	record := filepath.Join(w.Repo.CommonDir, "worktrees", name)
	if !known {
		_ = os.Remove(path) // an empty folder that git has not begun to fill
		return false, nil
	}
	if locked, err := lockReason(record); err != nil || locked != unfinishedLock {
		return false, err
	}
	unborn, _, err := findUnborn(ctx, w, path)
	if err != nil {
		return false, err
	}
	if _, missing := os.Lstat(path); !unborn && missing == nil {
		opened, err := jjbridge.Locate(ctx, path, gitexec.PlumbingEnv(w.Environ()))
		reason := ""
		if err == nil {
			reason, err = unsavedUnfinished(ctx, opened, "HEAD", true)
		}
		if err != nil || reason != "" {
			return true, errors.Join(err, os.Remove(filepath.Join(record, "locked"))) // the files are the user's now
		}
	}
	if err := removeContent(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, os.RemoveAll(record) // last, so that the folder is found again if this process dies
}
