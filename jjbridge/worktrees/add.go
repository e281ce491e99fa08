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

// defaultBase is the branch that work starts from by default.
const defaultBase = "main"

// addGit makes a linked worktree.
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
	added, err := addAndLocate(ctx, w, req.Path, args)
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

// addAndLocate runs git worktree add. If that fails, or the result is not a git worktree, it
// removes git's record and the folder's content again.
func addAndLocate(ctx context.Context, w *jjbridge.Workspace, path string, args []string) (*jjbridge.Workspace, error) {
	if _, err := w.RunGit(ctx, args...); err != nil {
		// git removes the folder, too.
		if isGone(path) {
			return nil, err
		}
		return nil, errors.Join(err, dropGit(context.WithoutCancel(ctx), w, path))
	}
	added, err := jjbridge.Locate(ctx, path, gitexec.PlumbingEnv(w.Environ()))
	if err == nil && added.Type != snapshot.VCSGit { // the commit has a jj workspace among its files
		err = &Error{Path: path, Reason: "the commit to start from has files of jj's own in it"}
	}
	if err != nil {
		return nil, errors.Join(err, dropGit(context.WithoutCancel(ctx), w, path))
	}
	return added, nil
}

// dropGit removes a linked worktree that was just made. A missing one is not an error.
func dropGit(ctx context.Context, w *jjbridge.Workspace, path string) error {
	if isEmptyFolder(path) {
		return nil
	}
	_, err := w.RunGit(ctx, "worktree", "remove", "--force", "--force", "--", path)
	return err
}

// putBack moves a branch from now back to before; a before of "" removes it. It does nothing if the
// branch is not at now any more. An error is ignored, because nothing can be done about it.
func putBack(ctx context.Context, w *jjbridge.Workspace, ref, now, before string) {
	args := []string{"update-ref", "-d", ref, now}
	if before != "" {
		args = []string{"update-ref", ref, before, now}
	}
	_, _ = w.RunGit(ctx, args...)
}

// startCommit returns the commit to start from. It runs one process for each revision that it
// tries.
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
	return "", &Error{Path: req.Path, Reason: "there is no commit yet to start from"}
}

// bases returns the names to look for: base, and then main.
func bases(base string) []string {
	if base == "" || base == defaultBase {
		return []string{defaultBase}
	}
	return []string{base, defaultBase}
}

// checkBranch checks that the branch can be made at start, or reset to it, and returns its present
// commit, or "" if there is no branch. A reset must not drop commits that only the branch has. A
// reflog, if there is one, would keep them for a month only.
func checkBranch(ctx context.Context, w *jjbridge.Workspace, req AddRequest, start string) (string, error) {
	if out, err := w.RunGit(ctx, "check-ref-format", "--branch", req.Branch); err != nil || strings.TrimSpace(string(out)) != req.Branch {
		if ctx.Err() != nil {
			return "", err
		}
		return "", &Error{Path: req.Path, Reason: "not a name for a branch: " + req.Branch}
	}
	ref := "refs/heads/" + req.Branch
	before, err := w.CommitOf(ctx, ref)
	if err != nil || before == "" || before == start {
		return before, err
	}
	out, err := w.RunGit(ctx, "rev-list", "--max-count=1", ref, "--not", start, "--exclude="+req.Branch, "--branches", "--tags", "--remotes")
	if err == nil && len(out) > 0 {
		err = &UnsavedError{Path: "branch " + req.Branch, Reason: "has commits that nothing else has: rename or delete it, or start from it"}
	}
	return before, err
}

// forgetStale removes git's records of worktrees that are in the way of the new one and whose
// folders are gone. The branch must not be checked out anywhere else. Commits of a removed worktree
// are safe if the new one starts with them.
func forgetStale(ctx context.Context, w *jjbridge.Workspace, req AddRequest, start string, list []Info) error {
	for _, info := range list {
		here := info.Path == req.Path // its folder is gone, or empty
		onBranch := req.Branch != "" && info.Branch == req.Branch
		switch {
		case !here && !onBranch:
			continue
		case !here && !info.Missing:
			return &Error{Path: req.Path, Reason: "branch " + req.Branch + " is checked out at " + info.Path}
		}
		info.Missing = true
		if here && info.CommitID == start {
			info.CommitID = ""
		}
		if err := forgetMissing(ctx, w, info); err != nil {
			return err
		}
	}
	return nil
}

// forgetMissing removes git's record of a worktree whose folder is gone or empty.
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

// checkMissing checks that git's record of a worktree is not the only trace of some work.
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

// adminDir returns git's folder for a linked worktree.
func adminDir(w *jjbridge.Workspace, info Info) string {
	return filepath.Join(w.Repo.CommonDir, "worktrees", info.Name)
}

// unfinishedLock is the lock that git holds while it makes a worktree. It stays if git dies.
const unfinishedLock = "is locked: initializing"

// lockReason returns the reason for which git worktree lock was used, or "" if it was not.
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
