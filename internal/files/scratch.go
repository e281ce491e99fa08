package files

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// scratchFolder is a folder in the store's private folder. It has a file with the path of each scratch worktree, which the process that uses the worktree
// keeps locked.
const scratchFolder = "worktrees/scratch"

// A Scratch is a worktree that is made for a while, to run commands on the files of frames. It shares the repository's objects, and becomes one frame
// after the other, so that only the files that differ are written. It is a worktree of git also in a jj repository, so jj does not hear of it. Not safe
// for concurrent use.
type Scratch struct {
	*WorkingCopy
	lock   *flock.Flock
	head   objstore.ID // the commit on which it is; zero for the one on which it was made
	folder fs.FileInfo // of the worktree when it was made
}

// OpenScratch makes a scratch worktree with the files of a frame: beside the working copy or, if there is none, in the folder for temporary files. The caller
// must have made sure that commands may run on the files, and calls Close. Code: worktree_failed.
func OpenScratch(ctx context.Context, s *timeline.Store, at *snapshot.Entry) (*Scratch, error) {
	if err := os.MkdirAll(scratchPath(s, ""), 0o777); err != nil {
		return nil, timeline.Explain(err)
	}
	for n := 1; ; n++ {
		number := strconv.Itoa(n)
		c := &Scratch{lock: flock.New(scratchPath(s, number), flock.SetPermissions(0o666))}
		mine, err := c.lock.TryLock()
		if err == nil && mine {
			var path string
			if path, err = newScratchFolder(s, number); err == nil && path != "" {
				if err = c.open(ctx, s, at, path); err == nil {
					return c, nil
				}
				err = errors.Join(err, discardScratch(context.WithoutCancel(ctx), s, c.lock.Path()))
			}
		}
		if err = errors.Join(err, c.lock.Close()); err != nil {
			return nil, timeline.Explain(err)
		}
	}
}

// newScratchFolder returns the path of a new worktree, or "" if the path of the number is taken. In the folder for temporary files, it makes an empty
// folder that nobody else can enter.
func newScratchFolder(s *timeline.Store, number string) (string, error) {
	path, err := besideTop(s, []string{"bisect", number})
	switch {
	case err == nil && isMissing(path):
		return path, nil
	case err == nil:
		return "", nil
	}
	temporary, err := filepath.EvalSymlinks(os.TempDir()) // git names a worktree by its real path
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(temporary, "smithers-bisect-*")
}

// open makes the worktree at path.
func (c *Scratch) open(ctx context.Context, s *timeline.Store, at *snapshot.Entry, path string) error {
	vcs, err := at.VCSRevision()
	if err != nil {
		return err
	}
	req := worktrees.AddRequest{Path: path}
	if req.Commit, err = startingCommit(s, at, vcs); err != nil {
		return err
	}
	mark := rand.Text()
	if err := os.WriteFile(c.lock.Path(), []byte(mark+"\n"+path), 0o666); err != nil {
		return err
	}
	workspace, err := worktrees.Add(ctx, worktrees.AsGit(s.Workspace()), req)
	if err != nil {
		return err
	}
	if err := worktrees.MarkDiscardable(workspace, mark); err != nil {
		return err
	}
	if c.folder, err = os.Lstat(workspace.Root); err != nil {
		return err
	}
	c.WorkingCopy = &WorkingCopy{store: s, workspace: workspace, unready: &madeWorktree{Run: at.Stored().Run, Unready: true, scratch: c.lock.Path()}}
	return c.Become(ctx, at)
}

// scratchPath returns the path of the file with the given name in scratchFolder.
func scratchPath(s *timeline.Store, file string) string {
	return filepath.Join(s.Repo().CommonDir, timeline.PrivateDir, filepath.FromSlash(scratchFolder), file)
}

// Become makes the files of the worktree those of a frame: all but ignored files, which stay. What a command has changed or left there is gone. The commit that is
// checked out is that of the frame, if this repository has it. If a command has put something else in the place of the worktree, that stays, and the error wraps
// worktrees.ErrReplaced.
func (c *Scratch) Become(ctx context.Context, at *snapshot.Entry) error {
	if c.isReplaced() {
		return timeline.Explain(&worktrees.Error{Path: c.Root(), Reason: "cannot be used", Err: worktrees.ErrReplaced})
	}
	vcs, err := at.VCSRevision()
	if err != nil {
		return timeline.Explain(err)
	}
	commit, err := startingCommit(c.store, at, vcs)
	if err == nil && !commit.IsZero() && commit != c.head {
		c.head = commit
		_, err = c.workspace.RunGit(ctx, "update-ref", "--no-deref", "HEAD", commit.String())
	}
	if err == nil {
		_, err = c.workspace.RunGit(ctx, "read-tree", "--reset", "-u", vcs.Tree.String())
	}
	if err == nil { // git's index has all files of the frame now, also those that were untracked: they stay
		_, err = c.workspace.RunGit(ctx, "clean", "--force", "--force", "-d", "--quiet")
	}
	return timeline.Explain(err)
}

// isReplaced reports whether the folder of the worktree is another one than the one that was made, or a symbolic link. A missing folder is not replaced.
func (c *Scratch) isReplaced() bool {
	folder, err := os.Lstat(c.Root())
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || !folder.IsDir() || !os.SameFile(folder, c.folder))
}

// Close removes the worktree. If a command has put something else in its place, that stays, with a warning.
func (c *Scratch) Close(ctx context.Context) error {
	var err error
	if mark := filepath.Join(c.Root(), ".git"); !c.isReplaced() && !isMissing(c.Root()) && isMissing(mark) { // a command has removed it
		err = os.WriteFile(mark, []byte("gitdir: "+c.workspace.Repo.GitDir+"\n"), 0o666)
	}
	return timeline.Explain(errors.Join(err, discardScratch(context.WithoutCancel(ctx), c.store, c.lock.Path()), c.lock.Close()))
}

// discardScratch removes the worktree of a file in scratchFolder, and empties the file. The file stays: if it were removed, another process could lock it
// while a third makes a new one. What is not the worktree that was made stays, with a warning. The caller has locked the file.
func discardScratch(ctx context.Context, s *timeline.Store, file string) error {
	text, err := os.ReadFile(file)
	if mark, path, ok := strings.Cut(string(text), "\n"); err == nil && ok {
		err = worktrees.Discard(ctx, worktrees.AsGit(s.Workspace()), path, mark)
	}
	if errors.Is(err, worktrees.ErrReplaced) {
		s.Warn(err)
		err = nil
	}
	if err != nil || len(text) == 0 {
		return err
	}
	_ = os.Remove(file + logSuffix) // the setup command may have written none
	return os.Truncate(file, 0)
}

// SweepScratches removes the scratch worktrees of processes that were killed, and returns their paths. What cannot be removed is a warning. A dry run
// removes nothing.
func SweepScratches(ctx context.Context, s *timeline.Store, dryRun bool) (paths []string, err error) {
	found, err := os.ReadDir(scratchPath(s, ""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range found {
		if filepath.Ext(entry.Name()) == logSuffix {
			continue
		}
		lock := flock.New(scratchPath(s, entry.Name()), flock.SetPermissions(0o666))
		mine, lockErr := lock.TryLock()
		if lockErr == nil && mine {
			text, _ := os.ReadFile(lock.Path())
			_, path, left := strings.Cut(string(text), "\n")
			if left && !dryRun {
				if failed := discardScratch(ctx, s, lock.Path()); failed != nil {
					s.Warn(failed)
					left = false
				}
			}
			if left {
				paths = append(paths, path)
			}
		}
		err = errors.Join(err, lockErr, lock.Close())
	}
	return paths, timeline.Explain(err)
}
