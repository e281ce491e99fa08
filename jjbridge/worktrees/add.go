package worktrees

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// defaultBase is the branch to start from if a request names no base.
const defaultBase = "main"

// addGit creates a linked worktree for req. list has the present worktrees. After a failure, addGit moves
// req.Branch back to its old commit, or deletes a new branch, and removes the folders that it created.
func addGit(ctx context.Context, w *jjbridge.Workspace, req AddRequest, list []Info) (*jjbridge.Workspace, error) {
	start, err := startCommit(ctx, w, req)
	if err != nil {
		return nil, err
	}
	if err := forgetStale(ctx, w, req, start, list); err != nil {
		return nil, err
	}
	args := []string{"worktree", "add", "--detach", "--", req.Path, start}
	var before string // the branch's commit; "" if there is no branch yet
	if req.Branch != "" {
		if before, err = checkBranch(ctx, w, req, start); err != nil {
			return nil, err
		}
		args = []string{"worktree", "add", "-B", req.Branch, "--", req.Path, start}
	}
	folder, err := makeFolder(req.Path)
	if err != nil {
		return nil, err
	}
	if err := noteAdding(w, req.Path); err != nil {
		folder.putBack()
		return nil, err
	}
	added, err := addAndLocate(ctx, w, req.Path, args)
	_ = os.Remove(addingPath(w)) // if the note stays, Tidy finds nothing to do
	if err != nil {
		ctx := context.WithoutCancel(ctx)
		if req.Branch != "" && before != start {
			putBack(ctx, w, "refs/heads/"+req.Branch, start, before)
		}
		folder.putBack()
		return nil, err
	}
	return added, nil
}

// addAndLocate runs git with args, the arguments of a git worktree add at path, and returns the new worktree. If the
// start commit contains jj's own files, the error is an *Error. After every failure, addAndLocate removes git's record
// and the content of the folder, unless git itself has cleared the folder.
func addAndLocate(ctx context.Context, w *jjbridge.Workspace, path string, args []string) (*jjbridge.Workspace, error) {
	if _, err := w.RunGit(ctx, args...); err != nil {
		// After a failure git itself may have removed the folder.
		if isGone(path) {
			return nil, err
		}
		return nil, errors.Join(err, dropGit(context.WithoutCancel(ctx), w, path))
	}
	added, err := jjbridge.Locate(ctx, path, gitexec.PlumbingEnv(w.Environ()))
	if err == nil && added.Type != snapshot.VCSGit { // the commit has a jj workspace among its files
		err = &Error{Path: path, Reason: "the start commit contains jj's own files"}
	}
	if err != nil {
		return nil, errors.Join(err, dropGit(context.WithoutCancel(ctx), w, path))
	}
	return added, nil
}

// dropGit removes the new linked worktree at path. If the folder is empty, dropGit does nothing, because git has not
// made the worktree or has already removed it.
func dropGit(ctx context.Context, w *jjbridge.Workspace, path string) error {
	if isEmptyFolder(path) {
		return nil
	}
	_, err := w.RunGit(ctx, "worktree", "remove", "--force", "--force", "--", path)
	return err
}

// putBack moves ref from the commit newID back to the commit oldID, or deletes ref if oldID is "". If ref is no
// longer at newID, putBack does nothing. It ignores errors, because the caller already returns an error.
func putBack(ctx context.Context, w *jjbridge.Workspace, ref, newID, oldID string) {
	args := []string{"update-ref", "-d", ref, newID}
	if oldID != "" {
		args = []string{"update-ref", ref, oldID, newID}
	}
	_, _ = w.RunGit(ctx, args...)
}

// startCommit returns the id of the start commit for req: the first commit that exists among req.Commit, the branches
// that bases returns, and HEAD. For each name of a branch, it tries the local branch before the branch of origin. If
// there is no such commit, the error is an *Error. startCommit runs one process for each revision that it tries.
func startCommit(ctx context.Context, w *jjbridge.Workspace, req AddRequest) (string, error) {
	var revisions []string
	if !req.Commit.IsZero() {
		revisions = append(revisions, req.Commit.String())
	}
	for _, base := range bases(req.Base) {
		revisions = append(revisions, base, "origin/"+base)
	}
	for _, revision := range append(revisions, "HEAD") {
		commit, err := w.CommitOf(ctx, revision)
		if err != nil || commit != "" {
			return commit, err
		}
	}
	return "", &Error{Path: req.Path, Reason: "the repository has no commit yet to start from", Err: ErrNoCommit}
}

// bases returns the names of branches to start from, in the order of preference: base, unless base is "", and main.
func bases(base string) []string {
	if base == "" || base == defaultBase {
		return []string{defaultBase}
	}
	return []string{base, defaultBase}
}

// checkBranch checks whether req.Branch can be created at the commit startID, or reset to startID. It returns the
// branch's present commit, or "" if the branch does not exist. If git does not accept the name, the error is an *Error.
// If the reset would drop commits that only this branch reaches, the error is an *UnsavedError, because a reflog would
// keep these commits for a limited time only.
func checkBranch(ctx context.Context, w *jjbridge.Workspace, req AddRequest, startID string) (string, error) {
	if out, err := w.RunGit(ctx, "check-ref-format", "--branch", req.Branch); err != nil || strings.TrimSpace(string(out)) != req.Branch {
		if ctx.Err() != nil {
			return "", err
		}
		return "", &Error{Path: req.Path, Reason: req.Branch + " is not a valid name for a branch", Err: ErrBranch}
	}
	ref := "refs/heads/" + req.Branch
	before, err := w.CommitOf(ctx, ref)
	if err != nil || before == "" || before == startID {
		return before, err
	}
	out, err := w.RunGit(ctx, "rev-list", "--max-count=1", ref, "--not", startID, "--exclude="+req.Branch, "--branches", "--tags", "--remotes")
	if err == nil && len(out) > 0 {
		err = &UnsavedError{Path: "branch " + req.Branch, Reason: "has commits that no other branch and no tag has: rename or delete the branch, or start from the branch"}
	}
	return before, err
}

// forgetStale removes git's records of worktrees at req.Path or on req.Branch whose folders are missing or empty.
// list has the repository's worktrees. If req.Branch is checked out in another folder, the error is an *Error. If a
// record must stay, the error is that of checkMissing. startID is the commit at which the new worktree will start, so
// a record at req.Path is not needed to keep this commit.
func forgetStale(ctx context.Context, w *jjbridge.Workspace, req AddRequest, startID string, list []Info) error {
	for _, info := range list {
		here := info.Path == req.Path // checkPath has checked that the folder is missing or empty
		onBranch := req.Branch != "" && info.Branch == req.Branch
		switch {
		case !here && !onBranch:
			continue
		case !here && !info.Missing:
			return &Error{Path: req.Path, Reason: "branch " + req.Branch + " is checked out at " + info.Path, Err: ErrBranch}
		}
		info.Missing = true
		if here && info.CommitID == startID {
			info.CommitID = ""
		}
		if err := forgetMissing(ctx, w, info); err != nil {
			return err
		}
	}
	return nil
}

// forgetMissing removes git's record of a worktree whose folder is missing or empty. It also removes an empty folder.
// If the record must stay, the error is that of checkMissing.
func forgetMissing(ctx context.Context, w *jjbridge.Workspace, info Info) error {
	if err := checkMissing(ctx, w, info); err != nil {
		return err
	}
	if isEmptyFolder(info.Path) {
		if err := os.Remove(info.Path); err != nil {
			return err
		}
	}
	_, err := w.RunGit(ctx, "worktree", "remove", "--force", "--force", "--", info.Path)
	return err
}

// checkMissing checks whether git's record of a worktree without a folder may be removed. It returns an *Error for the
// main working copy. It returns an *UnsavedError if the worktree is locked, or if only its detached HEAD reaches some
// commits. It ignores the lock of a git process that died while it created the worktree.
func checkMissing(ctx context.Context, w *jjbridge.Workspace, info Info) error {
	if info.Name == "" {
		return &Error{Path: info.Path, Reason: "is the main working copy"}
	}
	locked, err := lockReason(adminDir(w, info))
	if err != nil {
		return err
	}
	if locked != "" && locked != unfinishedLock {
		return &UnsavedError{Path: info.Path, Reason: locked}
	}
	if info.Branch != "" {
		return nil
	}
	lost, err := isUnreachable(ctx, w, info.CommitID, adminDir(w, info))
	if err == nil && lost {
		err = &UnsavedError{Path: info.Path, Reason: reasonDetached}
	}
	return err
}

// adminDir returns the path of git's administrative folder for a linked worktree.
func adminDir(w *jjbridge.Workspace, info Info) string {
	return filepath.Join(w.Repo.CommonDir, "worktrees", info.Name)
}

// unfinishedLock is the result of lockReason while git creates a worktree. If git dies meanwhile, its lock stays.
const unfinishedLock = "is locked: initializing"

// lockReason returns "" if the worktree with the administrative folder admin is not locked. Otherwise it returns "is
// locked" and the reason that was given to git worktree lock, if any. If the reason cannot be read, it returns "is
// locked" and the error.
func lockReason(admin string) (string, error) {
	data, err := os.ReadFile(filepath.Join(admin, "locked"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if why := strings.TrimSpace(string(data)); why != "" {
		return "is locked: " + why, err
	}
	return "is locked", err
}
