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
	Name     string // as jjbridge.Workspace.Name
	Path     string // absolute; "" if jj does not know it
	Branch   string // git's branch, or jj's bookmark at its commit; "" for none
	CommitID string
	ChangeID string // jj's
	Missing  bool   // its folder is gone
}

// AddRequest asks for a new working copy.
type AddRequest struct {
	// Path is absolute. Nothing exists there, or an empty folder. Inside another working copy it
	// must be ignored there.
	Path string
	Name string // jj's name of the workspace; "" makes one of the folder's
	// Branch is made at the base, or reset to it: git worktree add -B, or a jj bookmark at the new
	// workspace's commit. If it is "", HEAD is detached.
	Branch string
	// Base is the revision to start from: the first that exists of Base, origin/<Base>, main,
	// origin/main, HEAD. "" means "main". With jj it may be a revset.
	Base string
	// Commit, if not zero, is the commit to start from instead of Base. With jj it is the nearest
	// of the commit and its ancestors that jj shows and that is no workspace's working copy, which
	// keeps changing. If git has no such commit, Base counts.
	Commit objstore.ID
}

// ErrWorktree is wrapped by the errors for working copies that cannot be made, removed or rebased
// as asked. It is always an *Error.
var ErrWorktree = errors.New("worktree")

// Error is the reason why a working copy cannot be made, removed or rebased. Nothing was touched.
type Error struct {
	Path   string // of the working copy, or where it should have been
	Reason string // in words
	Err    error  // what git or jj said; may be nil
}

// Error names the folder and the reason.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Path, e.Reason, e.Err)
	}
	return e.Path + ": " + e.Reason
}

// Unwrap returns ErrWorktree and the cause.
func (e *Error) Unwrap() []error { return []error{ErrWorktree, e.Err} }

// ErrUnsaved is wrapped by the errors about work that would be lost. It is always an *UnsavedError.
var ErrUnsaved = errors.New("unsaved work")

// UnsavedError describes the work that would be lost with a working copy, or with a branch that is
// reset.
type UnsavedError struct {
	Path   string // the folder, or the name of the branch
	Reason string // in words
}

// Error names the folder and the work.
func (e *UnsavedError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Reason) }

// Unwrap returns ErrUnsaved.
func (e *UnsavedError) Unwrap() error { return ErrUnsaved }

// FetchError is a fetch that failed before a rebase. The rebase continued with the present commits,
// and succeeded unless there is another error beside this one.
type FetchError struct{ Err error }

// Error returns the error of git or jj.
func (e *FetchError) Error() string { return fmt.Sprintf("rebased on what is here: %v", e.Err) }

// Unwrap returns the cause.
func (e *FetchError) Unwrap() error { return e.Err }

// List returns the working copies of the repository, the main one first. It runs one process. With jj it takes
// no snapshot: commits are those of each working copy's last snapshot.
func List(ctx context.Context, w *jjbridge.Workspace) ([]Info, error) {
	defer shareWorktrees(ctx, w)()
	return list(ctx, w)
}

// list is List for callers that hold the lock.
func list(ctx context.Context, w *jjbridge.Workspace) ([]Info, error) {
	if w.Type == snapshot.VCSJJ {
		return jjWorkspaces(ctx, w)
	}
	return gitWorktrees(ctx, w)
}

// Add makes a working copy and returns it: git worktree add -B, or jj workspace add. First it
// forgets a working copy of the same name, path or branch whose folder is gone. If Add fails,
// nothing stays behind. It runs no hooks, and leaves submodules as in a fresh clone. If only the
// branch has some commits, Add does not reset it: the error is an *UnsavedError. Several processes
// may add working copies side by side.
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
