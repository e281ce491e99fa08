package worktrees

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The reasons against the removal of a working copy. If a reason ends with a colon, a path follows.
const (
	reasonDetached    = "has commits that no branch, tag or remote has"
	reasonAnonymous   = "has commits that no bookmark, tag or remote has"
	reasonUncommitted = "has uncommitted changes"
	reasonStaged      = "has staged content that differs from the file: "
	reasonUnmerged    = "has unmerged files"
	reasonSubmodules  = "has submodules that are checked out"
)

// unsaved returns, in words, the work that the removal of the working copy would lose, or "" if no work would be lost.
// savedTree is the id of a tree in a frame, or zero. If the files are exactly those of this tree, they are not lost.
func unsaved(ctx context.Context, w *jjbridge.Workspace, savedTree objstore.ID) (string, error) {
	if w.Type == snapshot.VCSJJ {
		return unsavedJJ(ctx, w, savedTree)
	}
	return unsavedGit(ctx, w, savedTree)
}

// unsavedGit returns the result of unsaved for a git worktree. It looks, in this order, for git's lock, an operation in
// progress, checked-out submodules, commits that would be lost, and changed files. It ignores changed files if all
// files are exactly those of savedTree. If git did not finish creating the worktree, the result is that of
// unsavedUnfinished.
func unsavedGit(ctx context.Context, w *jjbridge.Workspace, savedTree objstore.ID) (string, error) {
	if reason, err := lockReason(w.Repo.GitDir); err != nil || reason != "" {
		if reason == unfinishedLock && err == nil {
			return unsavedUnfinished(ctx, w, "HEAD", false)
		}
		return reason, err
	}
	if doing := unfinished(w); doing != "" {
		return doing + " is in progress", nil
	}
	// git removes the commits of a worktree's submodules together with the worktree.
	if entries, err := os.ReadDir(filepath.Join(w.Repo.GitDir, "modules")); len(entries) > 0 || (err != nil && !errors.Is(err, fs.ErrNotExist)) {
		return reasonSubmodules, nil
	}
	status, err := status(ctx, w)
	if err != nil {
		return "", err
	}
	if status.detached {
		if lost, err := isUnreachable(ctx, w, "HEAD", w.Repo.GitDir); err != nil || lost {
			return reasonDetached, err
		}
	}
	switch {
	case status.unmerged:
		return reasonUnmerged, nil
	case status.staged != "":
		return reasonStaged + status.staged, nil
	case !status.changed:
		return "", nil
	}
	same, reason, err := isSaved(ctx, w, savedTree)
	if err != nil || same {
		return "", err
	}
	return reason, nil
}

// isSaved reports whether the files are exactly those of the tree with the id savedTree. If savedTree is zero, or a
// capture would leave out a file, same is false. If same is false and err is nil, reason says in words why files would
// be lost.
func isSaved(ctx context.Context, w *jjbridge.Workspace, savedTree objstore.ID) (same bool, reason string, err error) {
	if savedTree.IsZero() {
		return false, reasonUncommitted, nil
	}
	captured, err := w.Capture(ctx, jjbridge.CaptureOptions{})
	if err != nil {
		return false, "", err
	}
	defer func() { err = errors.Join(err, captured.Close()) }()
	if left := captured.VCS.LeftOut; len(left) > 0 {
		return false, leftOutReason(left[0]), nil
	}
	return captured.VCS.Tree == savedTree, reasonUncommitted, nil
}

// Ignored returns the path, relative to the top, of the first ignored file or folder in the working copy that info
// describes. It returns "" if nothing is ignored, and leaves out .jj. It compares the files with a temporary index of
// the commit alone. So a file that only the user's index has counts as ignored if a pattern matches the file.
func Ignored(ctx context.Context, w *jjbridge.Workspace, info Info) (string, error) {
	opened, err := open(ctx, w, info)
	if err != nil {
		return "", err
	}
	commit := "HEAD"
	if w.Type == snapshot.VCSJJ {
		commit = info.CommitID
	}
	index := filepath.Join(opened.Repo.GitDir, ignoredIndex)
	defer os.Remove(index) //nolint:errcheck // the next call overwrites a leftover file
	if _, err := opened.RunGitOnIndex(ctx, index, "read-tree", commit); err != nil {
		return "", err
	}
	out, err := opened.RunGitOnIndex(ctx, index,
		"ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z", "--", ":(top,exclude).jj")
	first, _, _ := bytes.Cut(out, []byte{0})
	return string(first), err
}

// ignoredIndex is the name of the temporary index of Ignored, which has only the files of the commit.
const ignoredIndex = "smithers-ignored-index"

// isUnreachable reports whether the removal of the worktree would lose commit. This is so if no branch, tag or
// remote-tracking branch reaches commit, and the commit with which the worktree began does not reach it either. If
// commit is "", isUnreachable returns false. admin is git's administrative folder for the worktree.
func isUnreachable(ctx context.Context, w *jjbridge.Workspace, commit, admin string) (bool, error) {
	if commit == "" {
		return false, nil
	}
	args := []string{"rev-list", "--max-count=1", commit, "--not", "--branches", "--tags", "--remotes"}
	if first := firstCommit(ctx, w, admin); first != "" {
		args = append(args, first)
	}
	out, err := w.RunGit(ctx, args...)
	return len(out) > 0, err
}

// firstCommit returns the id of the commit with which a worktree began. It reads this id from the reflog of the
// worktree's HEAD. If the reflog lacks its first entry or cannot be read, firstCommit returns "". admin is git's
// administrative folder for the worktree.
func firstCommit(ctx context.Context, w *jjbridge.Workspace, admin string) string {
	if w.Repo.RefFormat != "files" {
		out, _ := w.RunGit(ctx, "--git-dir="+admin, "reflog", "--format=%H", "HEAD") // without an entry, git prints nothing
		ids := strings.Fields(string(out))
		before := "HEAD@{" + strconv.Itoa(len(ids)) + "}" // the value before the oldest entry, zeros if it is the first
		out, err := w.RunGit(ctx, "--git-dir="+admin, "rev-parse", "--verify", "--quiet", before)
		if len(ids) == 0 || err == nil && strings.Trim(string(out), "0\n") != "" {
			return ""
		}
		return ids[len(ids)-1]
	}
	data, err := os.ReadFile(filepath.Join(admin, "logs", "HEAD"))
	if err != nil {
		return ""
	}
	fields := strings.SplitN(string(data), " ", 3)
	if len(fields) < 3 || strings.Trim(fields[0], "0") != "" {
		return ""
	}
	return fields[1]
}

// unfinished returns, in words, the operation of git that is in progress in w, such as "a rebase", or "" if
// there is no such operation.
func unfinished(w *jjbridge.Workspace) string {
	for _, mark := range []struct{ file, doing string }{
		{"rebase-merge", "a rebase"},
		{"rebase-apply", "a rebase"},
		{"MERGE_HEAD", "a merge"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"},
		{"REVERT_HEAD", "a revert"},
		{"sequencer", "a cherry-pick or revert"},
		{"BISECT_LOG", "a bisect"},
	} {
		if there, err := w.HasOwn(mark.file); there || err != nil {
			return mark.doing
		}
	}
	return ""
}

// gitStatus is the result of git status.
type gitStatus struct {
	detached bool   // HEAD is detached
	changed  bool   // a tracked file has changed, or an untracked file is not ignored
	unmerged bool   // a file has conflicts of a merge
	staged   string // a path whose staged content is neither HEAD's nor the file's; "" without such a path
}

// status returns the result of git status about changes, conflicts, staged content and HEAD of w. If several paths have
// staged content that differs from HEAD and from the file, status returns the last such path. git also looks for
// changes in submodules.
func status(ctx context.Context, w *jjbridge.Workspace) (gitStatus, error) {
	var status gitStatus
	out, err := w.RunGit(ctx, "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=normal", "--ignore-submodules=none", "--no-renames")
	for line := range strings.SplitSeq(string(out), "\x00") {
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "#":
			status.detached = status.detached || rest == "branch.head (detached)"
		case "1": // XY sub mH mI mW hH hI path
			status.changed = true
			fields := strings.SplitN(rest, " ", 8)
			if xy := fields[0]; len(fields) == 8 && len(xy) == 2 && xy[0] != '.' && xy[1] != '.' {
				status.staged = fields[7]
			}
		case "u":
			status.changed, status.unmerged = true, true
		case "?":
			status.changed = true
		}
	}
	return status, err
}

// lostRevset is the revset of the commits that only this workspace names: @, and each ancestor of @ that no
// bookmark, tag, remote, other workspace or other head reaches.
const lostRevset = `::@ ~ ::(bookmarks() | remote_bookmarks() | tags() | (visible_heads() ~ @) | (working_copies() ~ @)) ~ root()`

// lostTemplate prints "@" for the workspace's own commit and "-" for another commit, followed by "work" if
// the commit has changes or a description.
const lostTemplate = `if(current_working_copy, "@", "-") ++ if(empty && !description, "", "work") ++ "\n"`

// unsavedJJ returns the result of unsaved for a jj workspace. It looks for files that a capture leaves out, and for
// changes or descriptions in the commits that only this workspace reaches. The commit @ counts only if its files are
// not exactly those of savedTree. After a removal, jj still shows commits with changes, but without the workspace's
// name.
func unsavedJJ(ctx context.Context, w *jjbridge.Workspace, savedTree objstore.ID) (string, error) {
	captured, err := w.Capture(ctx, jjbridge.CaptureOptions{})
	if err != nil {
		return "", err
	}
	vcs := captured.VCS
	if err := captured.Close(); err != nil {
		return "", err
	}
	if len(vcs.LeftOut) > 0 {
		return leftOutReason(vcs.LeftOut[0]), nil
	}
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--no-graph", "--revisions="+lostRevset, "--template="+lostTemplate)
	if err != nil {
		return "", err
	}
	for line := range strings.SplitSeq(string(out), "\n") {
		switch {
		// In a line of lostTemplate, "@" means the workspace's own commit, and "-" another commit.
		case line == "@work" && vcs.Tree != savedTree:
			return reasonUncommitted, nil
		case line == "-work":
			return reasonAnonymous, nil
		}
	}
	return "", nil
}

// leftOutReason returns the reason against the removal of a working copy with a file that a capture leaves out.
func leftOutReason(file snapshot.LeftOut) string {
	return "has files that no frame has captured: " + file.Path + " (" + file.Reason + ")"
}
