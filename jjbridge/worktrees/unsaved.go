package worktrees

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The reasons why a working copy is not removed.
const (
	reasonDetached    = "has commits that no branch, tag or remote has"
	reasonAnonymous   = "has commits that no bookmark, tag or remote has"
	reasonUncommitted = "has uncommitted changes"
	reasonStaged      = "has staged content that its file has no more: "
	reasonUnmerged    = "has unmerged files"
	reasonSubmodules  = "has submodules that are checked out"
)

// unsaved returns what would be lost with this working copy, in words, or "" for nothing.
func unsaved(ctx context.Context, w *jjbridge.Workspace, saved objstore.ID) (string, error) {
	if w.Type == snapshot.VCSJJ {
		return unsavedJJ(ctx, w, saved)
	}
	return unsavedGit(ctx, w, saved)
}

// unsavedGit is unsaved for git's worktrees.
func unsavedGit(ctx context.Context, w *jjbridge.Workspace, saved objstore.ID) (string, error) {
	if reason, err := lockReason(w.Repo.GitDir); err != nil || reason != "" {
		if reason == unfinishedLock && err == nil {
			return unsavedUnfinished(ctx, w)
		}
		return reason, err
	}
	if doing := unfinished(w); doing != "" {
		return doing + " is in progress", nil
	}
	// The commits of a worktree's submodules are kept with the worktree.
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
	same, reason, err := isSaved(ctx, w, saved)
	if err != nil || same {
		return "", err
	}
	return reason, nil
}

// isSaved reports whether the files are exactly the tree saved, and returns in words why not.
func isSaved(ctx context.Context, w *jjbridge.Workspace, saved objstore.ID) (same bool, reason string, err error) {
	if saved.IsZero() {
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
	return captured.VCS.Tree == saved, reasonUncommitted, nil
}

// unsavedUnfinished is unsavedGit for a worktree that git did not finish making: it may have only
// files of its commit. Its index is missing or incomplete.
func unsavedUnfinished(ctx context.Context, w *jjbridge.Workspace) (string, error) {
	index := filepath.Join(w.Repo.GitDir, "smithers-index")
	for _, args := range [][]string{
		{"read-tree", "HEAD"},
		{"update-index", "-q", "--refresh"}, // fails, because files are missing
		{"diff-files", "--name-only", "--diff-filter=d", "-z"},
		{"ls-files", "--others", "--exclude-standard", "-z"},
	} {
		out, err := w.RunGitOnIndex(ctx, index, args...)
		if err != nil && args[0] != "update-index" {
			return "", err
		}
		if len(out) > 0 && args[0] != "update-index" {
			return reasonUncommitted, nil
		}
	}
	return "", nil
}

// Ignored returns an ignored file or folder of a working copy, relative to its top, or "" if there
// is none. A working copy that was just made has none.
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
	defer os.Remove(index) //nolint:errcheck // the next one is written over it
	if _, err := opened.RunGitOnIndex(ctx, index, "read-tree", commit); err != nil {
		return "", err
	}
	out, err := opened.RunGitOnIndex(ctx, index,
		"ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z", "--", ":(top,exclude).jj")
	first, _, _ := bytes.Cut(out, []byte{0})
	return string(first), err
}

// ignoredIndex is an index for Ignored that has only the files of the commit.
const ignoredIndex = "smithers-ignored-index"

// isUnreachable reports whether no branch, tag or remote-tracking branch has a commit, and it is
// not the commit that the worktree began with. It returns false for "". admin is git's folder for
// the worktree.
func isUnreachable(ctx context.Context, w *jjbridge.Workspace, commit, admin string) (bool, error) {
	if commit == "" {
		return false, nil
	}
	args := []string{"rev-list", "--max-count=1", commit, "--not", "--branches", "--tags", "--remotes"}
	if first := firstCommit(admin); first != "" {
		args = append(args, first)
	}
	out, err := w.RunGit(ctx, args...)
	return len(out) > 0, err
}

// firstCommit returns the commit that a worktree began with, by the reflog of its HEAD, or "" if
// the reflog does not go back that far.
func firstCommit(admin string) string {
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

// unfinished returns the operation that git is in the middle of, or "".
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
		if !isGone(filepath.Join(w.Repo.GitDir, mark.file)) {
			return mark.doing
		}
	}
	return ""
}

// gitStatus is the output of git status.
type gitStatus struct {
	detached bool
	changed  bool   // tracked files, or untracked and not ignored ones
	unmerged bool   // merged with conflicts
	staged   string // a file whose staged content is neither HEAD's nor the file's; "" for none
}

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

// lostRevset is the commits for which jj would no longer keep a name without this workspace: @ and
// those ancestors that no bookmark, tag, remote or other head has.
const lostRevset = `::@ ~ ::(bookmarks() | remote_bookmarks() | tags() | (visible_heads() ~ @) | (working_copies() ~ @)) ~ root()`

// lostTemplate prints "@" for the workspace's own commit and "-" for another, followed by "work" if
// the commit has changes or a description.
const lostTemplate = `if(current_working_copy, "@", "-") ++ if(empty && !description, "", "work") ++ "\n"`

// unsavedJJ is unsaved for jj's workspaces. jj still shows commits that have changes, so a
// removal loses only the workspace's name for them.
func unsavedJJ(ctx context.Context, w *jjbridge.Workspace, saved objstore.ID) (string, error) {
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
		case line == "@work" && vcs.Tree != saved:
			return reasonUncommitted, nil
		case line == "-work":
			return reasonAnonymous, nil
		}
	}
	return "", nil
}

// leftOutReason returns the reason why a file that a capture leaves out would be lost.
func leftOutReason(left snapshot.LeftOut) string {
	return "has files that no frame has: " + left.Path + " (" + left.Reason + ")"
}
