package worktrees

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// reasonOnlyBranch is why a branch or bookmark stays.
const reasonOnlyBranch = "has commits that no other branch and no tag has"

// BranchCommit returns the commit of a branch or, with jj, of a bookmark; "" if there is none.
func BranchCommit(ctx context.Context, w *jjbridge.Workspace, name string) (string, error) {
	if w.Type != snapshot.VCSJJ {
		return w.CommitOf(ctx, "refs/heads/"+name)
	}
	return jjCommit(ctx, w, bookmark(name))
}

// DropBranch deletes the branch or bookmark of a worktree that was removed from path. If the branch is checked out elsewhere, or has
// commits that no other branch, bookmark, tag or remote has, it stays, and DropBranch returns the reason. With jj, a change that has
// exactly the files of the tree saved, which a frame has, and nothing else that a user gave it, goes with its bookmark. With dryRun,
// DropBranch deletes nothing, and the worktree may still be there.
func DropBranch(ctx context.Context, w *jjbridge.Workspace, name, path string, saved objstore.ID, dryRun bool) (reason string, err error) {
	commit, err := BranchCommit(ctx, w, name)
	if err != nil || commit == "" {
		return "", err
	}
	if w.Type == snapshot.VCSJJ {
		return dropBookmark(ctx, w, name, saved, dryRun)
	}
	list, err := List(ctx, w)
	if err != nil {
		return "", err
	}
	if at := slices.IndexFunc(list, func(i Info) bool { return i.Branch == name && i.Path != path }); at >= 0 {
		return "is checked out at " + list[at].Path, nil
	}
	out, err := w.RunGit(ctx, "rev-list", "--max-count=1", commit, "--not", "--exclude="+name, "--branches", "--tags", "--remotes")
	if err != nil || len(out) > 0 {
		return reasonOnlyBranch, err
	}
	if !dryRun {
		_, err = w.RunGit(ctx, "update-ref", "-d", "refs/heads/"+name, commit)
	}
	return "", err
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
