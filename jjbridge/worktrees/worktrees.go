package worktrees

import (
	"context"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Info describes a working copy of the repository.
type Info struct {
	Name     string // the same as jjbridge.Workspace.Name
	Path     string // absolute; "" if jj does not know the path
	Branch   string // git's branch, or the first jj bookmark at the commit; "" without a branch or bookmark
	CommitID string // "" before git's first commit
	ChangeID string // jj's change id; "" with git
	Missing  bool   // the folder does not exist
}

// AddRequest describes a new working copy.
type AddRequest struct {
	// Path is the absolute path of the new folder. The folder is missing or empty. If Path is inside another
	// working copy, that working copy must ignore Path.
	Path string
	Name string // the name of a jj workspace; "" means the folder's name; not used with git
	// Branch is the branch to create at the start commit, or to reset to the start commit, as by git worktree add -B.
	// With jj, Branch is a bookmark to set at the new workspace's commit. If Branch is "", git's HEAD is detached, and
	// jj sets no bookmark.
	Branch string
	// Base names the start commit, which is the first that exists of Base, origin/<Base>, main, origin/main and HEAD.
	// If Base is "", the search begins with main. With jj, Base may be a revset.
	Base string
	// Commit, if not zero, is the start commit in place of Base. With jj, the start commit is the nearest commit, among
	// Commit and its ancestors, that jj shows and that is not a workspace's own commit, because such a commit keeps
	// changing. If the repository has no commit with this id, Base counts.
	Commit objstore.ID
}

// ErrWorktree is wrapped by the errors about a working copy that cannot be added, removed or rebased as
// requested. The error is always an *Error.
var ErrWorktree = errors.New("worktree")

// ErrNoCommit is wrapped by the error about a working copy in a repository without a commit. This error also wraps ErrWorktree.
var ErrNoCommit = errors.New("no commit")

// ErrBranch is wrapped by the errors about a branch that cannot be made or checked out. They also wrap ErrWorktree, and name no folder.
var ErrBranch = errors.New("branch")

// Error is the reason why a working copy cannot be added, removed or rebased. Unless Reason says otherwise, nothing was
// changed.
type Error struct {
	Path   string // the path of the working copy, or its intended path
	Reason string // in words
	Err    error  // the error of git or jj, ErrBranch or ErrNoCommit; may be nil
}

// Error returns the path, unless Err is ErrBranch, the reason and, if Err is an error of git or jj, the text of Err.
func (e *Error) Error() string {
	if errors.Is(e.Err, ErrBranch) {
		return e.Reason
	}
	if e.Err != nil && !errors.Is(e.Err, ErrNoCommit) {
		return fmt.Sprintf("%s: %s: %v", e.Path, e.Reason, e.Err)
	}
	return e.Path + ": " + e.Reason
}

// Unwrap returns ErrWorktree and Err.
func (e *Error) Unwrap() []error { return []error{ErrWorktree, e.Err} }

// ErrUnsaved is wrapped by the errors about work that would be lost. The error is always an *UnsavedError.
var ErrUnsaved = errors.New("unsaved work")

// UnsavedError describes the work that the removal of a working copy, or the reset of a branch, would lose.
type UnsavedError struct {
	Path   string // the folder, or "branch " and the name of the branch
	Reason string // in words
}

// Error returns the path and the reason.
func (e *UnsavedError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Reason) }

// Unwrap returns ErrUnsaved.
func (e *UnsavedError) Unwrap() error { return ErrUnsaved }

// FetchError means that the fetch of a Rebase failed. Rebase then used the base that the repository already
// has. If the FetchError is the only error, the rebase succeeded.
type FetchError struct{ Err error }

// Error returns a message with the cause of the failed fetch.
func (e *FetchError) Error() string {
	return fmt.Sprintf("the fetch failed, so the rebase used the base that the repository already had: %v", e.Err)
}

// Unwrap returns the cause of the failed fetch.
func (e *FetchError) Unwrap() error { return e.Err }

// List returns the working copies of the repository, the main working copy first. List runs one process. With
// jj it takes no snapshot, so each commit is that of the working copy's last snapshot.
func List(ctx context.Context, w *jjbridge.Workspace) ([]Info, error) {
	defer shareWorktrees(ctx, w)()
	return list(ctx, w)
}

// list returns the result of List. The caller holds the lock of shareWorktrees or lockWorktrees.
func list(ctx context.Context, w *jjbridge.Workspace) ([]Info, error) {
	if w.Type == snapshot.VCSJJ {
		return jjWorkspaces(ctx, w)
	}
	return gitWorktrees(ctx, w)
}

// Add creates the working copy that req describes and returns it. It runs git worktree add or jj workspace add, runs no
// hook, and leaves submodules as in a fresh clone. Several processes may call Add at the same time.
//
// First, Add forgets a working copy of the same name, path or branch whose folder is missing. If Add cannot fulfill
// req, for example because the folder is not empty, the error is an *Error. If the reset of the branch or the forgotten
// working copy would lose commits, the error is an *UnsavedError. If Add fails, it removes the new working copy again.
func Add(ctx context.Context, w *jjbridge.Workspace, req AddRequest) (added *jjbridge.Workspace, err error) {
	unlock, err := lockWorktrees(ctx, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	list, err := list(ctx, w)
	if err != nil {
		return nil, err
	}
	if req.Path, err = checkPath(ctx, w, req.Path, list); err != nil {
		return nil, err
	}
	if w.Type == snapshot.VCSJJ {
		return addJJ(ctx, w, req, list)
	}
	return addGit(ctx, w, req, list)
}
