package files

import (
	"context"
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
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// scratchFolder is a folder in the store's private folder. It has a file with the path of each scratch worktree, which the process that uses the worktree
// keeps locked.
const scratchFolder = "worktrees/scratch"

// scratchPath returns the path of the file with the given name in scratchFolder.
func scratchPath(s *timeline.Store, file string) string {
	return filepath.Join(s.Repo().CommonDir, timeline.PrivateDir, filepath.FromSlash(scratchFolder), file)
}

// maxScratches is the largest number of scratch worktrees that a repository has at once.
const maxScratches = 256

// A Scratch is a worktree that is made for a while, to run commands on the files of frames. It shares the repository's objects, and becomes one frame
// after the other, so that only the files that differ are written. It is a worktree of git also in a jj repository, so jj does not hear of it. Not safe
// for concurrent use.
type Scratch struct {
	*WorkingCopy
	lock *flock.Flock
	head objstore.ID // the commit on which it is, if it has become a frame
}

// OpenScratch makes a scratch worktree for the frame at: beside the working copy or, where that is not possible, in the folder for temporary files. It has no
// particular files yet. The caller must have made sure that commands may run on them, and calls Close. Code: worktree_failed.
func OpenScratch(ctx context.Context, s *timeline.Store, at *snapshot.Entry) (*Scratch, error) {
	if err := os.MkdirAll(scratchPath(s, ""), 0o777); err != nil {
		return nil, timeline.Explain(err)
	}
	vcs, err := at.VCSRevision()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if vcs == nil || vcs.Tree.IsZero() {
		return nil, fault.New(fault.NoCode, "frame %d of run %q has no code: no files were captured for the frame", at.Frame, at.Run)
	}
	commit, err := startingCommit(s, at, vcs)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	for n := 1; n <= maxScratches; n++ {
		c := &Scratch{lock: flock.New(scratchPath(s, strconv.Itoa(n)), flock.SetPermissions(0o666))}
		mine, err := c.lock.TryLock()
		if err == nil && mine {
			err = c.add(ctx, s, at, worktrees.AddRequest{Commit: commit}, n)
		}
		if err == nil && mine && c.WorkingCopy != nil {
			return c, nil
		}
		if err := errors.Join(err, c.lock.Close()); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	return nil, fault.New(fault.WorktreeFailed, "there are %d scratch worktrees at once", maxScratches)
}

// add makes the worktree with the number n. It leaves c.WorkingCopy nil if the place is taken. req says where it begins.
func (c *Scratch) add(ctx context.Context, s *timeline.Store, at *snapshot.Entry, req worktrees.AddRequest, n int) error {
	name := "bisect-" + strconv.Itoa(n)
	temporary, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return err
	}
	places := []string{filepath.Join(temporary, "smithers-"+strconv.Itoa(os.Getpid())+"-"+name)}
	if beside, err := besideTop(s, []string{name}); err == nil {
		places = append([]string{beside}, places...)
	}
	git := worktrees.AsGit(s.Workspace())
	var failed error
	for _, path := range places {
		if !isMissing(path) {
			return nil
		}
		if err := os.WriteFile(c.lock.Path(), []byte(path), 0o666); err != nil {
			return err
		}
		req.Path = path
		workspace, err := worktrees.Add(ctx, git, req)
		if errors.Is(err, worktrees.ErrNoCommit) {
			if req.Commit, err = withoutFiles(ctx, s, at.ID.Algorithm()); err == nil {
				workspace, err = worktrees.Add(ctx, git, req)
			}
		}
		if err == nil {
			unready := &madeWorktree{Run: at.Stored().Run, Name: name, Path: path, Unready: true, scratch: c.lock.Path()}
			c.WorkingCopy, c.head = &WorkingCopy{store: s, workspace: workspace, unready: unready}, req.Commit
			return nil
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// withoutFiles makes a commit without files, for a repository that has no commit to start from.
func withoutFiles(ctx context.Context, s *timeline.Store, ids objstore.Algorithm) (objstore.ID, error) {
	git := s.Workspace().WithEnv("GIT_AUTHOR_NAME=git-smithers", "GIT_AUTHOR_EMAIL=", "GIT_COMMITTER_NAME=git-smithers", "GIT_COMMITTER_EMAIL=")
	out, err := git.RunGit(ctx, "commit-tree", "-m", "the start of a scratch worktree", ids.EmptyTree().String())
	if err != nil {
		return objstore.ID{}, err
	}
	return objstore.ParseID(strings.TrimSpace(string(out)))
}

// Become makes the files of the worktree those of a frame: all but ignored files, which stay. What a command has changed or left there is gone. The commit that is
// checked out is that of the frame, if this repository has it.
func (c *Scratch) Become(ctx context.Context, at *snapshot.Entry) error {
	vcs, err := at.VCSRevision()
	if err != nil {
		return timeline.Explain(err)
	}
	for _, args := range [][]string{
		// git's index has all files of the frame then, also those that were untracked, so clean leaves them.
		{"read-tree", "--reset", "-u", vcs.Tree.String()},
		{"clean", "--force", "--force", "-d", "--quiet"},
	} {
		if _, err := c.workspace.RunGit(ctx, args...); err != nil {
			return timeline.Explain(err)
		}
	}
	commit, err := startingCommit(c.store, at, vcs)
	if err != nil || commit.IsZero() || commit == c.head {
		return timeline.Explain(err)
	}
	c.head = commit
	_, err = c.workspace.RunGit(ctx, "update-ref", "--no-deref", "HEAD", commit.String())
	return timeline.Explain(err)
}

// Close removes the worktree.
func (c *Scratch) Close(ctx context.Context) error {
	if mark := filepath.Join(c.Root(), ".git"); !isMissing(c.Root()) && isMissing(mark) { // a command has removed it
		if err := os.WriteFile(mark, []byte("gitdir: "+c.workspace.Repo.GitDir+"\n"), 0o666); err != nil {
			return timeline.Explain(err)
		}
	}
	return timeline.Explain(errors.Join(discardScratch(context.WithoutCancel(ctx), c.store, c.lock.Path()), c.lock.Close()))
}

// discardScratch removes the worktree of a file in scratchFolder, and the file. The caller has locked it.
func discardScratch(ctx context.Context, s *timeline.Store, file string) error {
	path, err := os.ReadFile(file)
	if err != nil || len(path) == 0 {
		return err
	}
	if err := worktrees.Discard(ctx, worktrees.AsGit(s.Workspace()), string(path)); err != nil {
		return err
	}
	_ = os.Remove(file + logSuffix) // the setup command may have written none
	return os.Remove(file)
}

// SweepScratches removes the scratch worktrees of processes that were killed. What cannot be removed is a warning.
func SweepScratches(ctx context.Context, s *timeline.Store) error {
	found, err := os.ReadDir(scratchPath(s, ""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range found {
		if filepath.Ext(entry.Name()) == logSuffix {
			continue
		}
		lock := flock.New(scratchPath(s, entry.Name()), flock.SetPermissions(0o666))
		mine, lockErr := lock.TryLock()
		if lockErr == nil && mine {
			if err := discardScratch(ctx, s, lock.Path()); err != nil {
				s.Warn(err)
			}
		}
		err = errors.Join(err, lockErr, lock.Close())
	}
	return timeline.Explain(err)
}
