package worktrees

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// reasonOnlyBranch is why a branch or bookmark stays.
const reasonOnlyBranch = "it has commits that no other branch and no tag has"

// BranchCommit returns the commit of a branch or, with jj, of a bookmark; "" if there is none.
func BranchCommit(ctx context.Context, w *jjbridge.Workspace, name string) (string, error) {
	if w.Type != snapshot.VCSJJ {
		return w.CommitOf(ctx, "refs/heads/"+name)
	}
	return jjCommit(ctx, w, bookmark(name))
}

// Removed are the worktrees and, in git, the branches that were removed so far or, with a dry run, would be.
type Removed struct{ Paths, Branches []string }

// DropBranch deletes the branch or bookmark of a removed worktree, and adds a branch to removed. If it is checked out, rebased or bisected
// elsewhere, is or has a symbolic ref, or has commits that no other branch, bookmark, tag or remote has, it stays, and DropBranch returns the
// reason. With jj, a change that has exactly the files of the tree saved, which a frame has, and nothing else that a user gave it, goes with
// its bookmark. With dryRun, DropBranch deletes nothing, and what is removed may still be there.
func DropBranch(ctx context.Context, w *jjbridge.Workspace, name string, removed *Removed, saved objstore.ID, dryRun bool) (reason string, err error) {
	commit, err := BranchCommit(ctx, w, name)
	if err != nil || commit == "" {
		return "", err
	}
	if w.Type == snapshot.VCSJJ {
		return dropBookmark(ctx, w, name, saved, dryRun)
	}
	if reason, err = branchNeeded(ctx, w, name, commit, removed); err != nil || reason != "" {
		return reason, err
	}
	removed.Branches = append(removed.Branches, name)
	if !dryRun {
		_, err = w.RunGit(ctx, "update-ref", "--no-deref", "-d", "refs/heads/"+name, commit)
	}
	return "", err
}

// branchNeeded returns the reason why a branch at commit must stay, or "".
func branchNeeded(ctx context.Context, w *jjbridge.Workspace, name, commit string, removed *Removed) (string, error) {
	list, err := List(ctx, w)
	if err != nil {
		return "", err
	}
	for _, at := range list {
		switch {
		case slices.Contains(removed.Paths, at.Path):
		case at.Branch == name:
			return "it is checked out at " + at.Path, nil
		case isReturnedTo(w, at, name):
			return "it is being rebased or bisected at " + at.Path, nil
		}
	}
	symbolic, err := w.RunGit(ctx, "for-each-ref", "--format=%(refname) %(symref)", "refs/heads/", "refs/remotes/", "refs/tags/")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(symbolic)) {
		if from, to, _ := strings.Cut(strings.TrimSpace(line), " "); to != "" && slices.Contains([]string{from, to}, "refs/heads/"+name) {
			return from + " is a symbolic ref to " + to, nil
		}
	}
	args := []string{"rev-list", "--max-count=1", commit, "--not"}
	for _, gone := range append([]string{name}, removed.Branches...) {
		args = append(args, "--exclude="+gone)
	}
	if out, err := w.RunGit(ctx, append(args, "--branches", "--tags", "--remotes")...); err != nil || len(out) > 0 {
		return reasonOnlyBranch, err
	}
	return "", nil
}

// isReturnedTo reports whether a rebase or bisect in a worktree ends at a branch, or moves it.
func isReturnedTo(w *jjbridge.Workspace, at Info, branch string) bool {
	admin := w.Repo.CommonDir
	if at.Name != "" {
		admin = adminDir(w, at)
	}
	return slices.ContainsFunc([]string{"rebase-merge/head-name", "rebase-merge/update-refs", "rebase-apply/head-name", "BISECT_START"}, func(file string) bool {
		data, _ := os.ReadFile(filepath.Join(admin, filepath.FromSlash(file))) // missing if there is none
		names := strings.Fields(string(data))
		return slices.Contains(names, branch) || slices.Contains(names, "refs/heads/"+branch)
	})
}

// bookmark returns the revset of a bookmark's commits.
func bookmark(name string) string { return "bookmarks(exact:" + quote(name) + ")" }

// dropBookmark is DropBranch with jj. `jj op revert` undoes it.
func dropBookmark(ctx context.Context, w *jjbridge.Workspace, name string, saved objstore.ID, dryRun bool) (reason string, err error) {
	own := bookmark(name)
	others := "(bookmarks() ~ " + own + ")"
	change, err := savedChange(ctx, w, own, others, saved)
	if err != nil || change != "" && dryRun {
		return "", err
	}
	if change != "" {
		if _, _, err := w.RunJJ(ctx, "abandon", "--ignore-working-copy", "--quiet", "--", change); err != nil {
			return "", err
		}
	}
	only, err := jjCommit(ctx, w, own+` ~ (empty() & description(exact:"")) ~ ::(`+others+" | remote_bookmarks() | tags())")
	if err != nil || only != "" {
		return reasonOnlyBranch, err
	}
	if left, err := jjCommit(ctx, w, own); err != nil || left == "" || dryRun {
		return "", err
	}
	_, _, err = w.RunJJ(ctx, "bookmark", "delete", "--ignore-working-copy", "--quiet", "--", name)
	return "", err
}

// jjCommit returns the ids of the commits of a revset, one after the other.
func jjCommit(ctx context.Context, w *jjbridge.Workspace, revset string) (string, error) {
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--no-graph", "--template=commit_id", "--revisions="+revset)
	return string(out), err
}
