package worktrees

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Rebase fetches from the remote, if there is one, and rebases the working copy's commits on the present commit of
// base. base is a name as in AddRequest.Base. If origin's branch is ahead of the local branch, Rebase uses origin's
// branch. If there is no base, or the commits are based on it already, Rebase only fetches. It runs jj git fetch and jj
// rebase -d, or git fetch and git rebase, and keeps uncommitted work.
//
// If the rebase fails, would overwrite uncommitted work or would cause conflicts, Rebase undoes the rebase and returns
// an *Error. If only the fetch fails, the rebase is done and the error is a *FetchError. Without a working copy, the
// error is jjbridge.ErrNoWorkingCopy. Rebase never prompts, and does not sign commits in git, because signing may ask
// for a passphrase.
func Rebase(ctx context.Context, w *jjbridge.Workspace, base string) error {
	if w.Type == "" {
		return jjbridge.ErrNoWorkingCopy
	}
	w = unattended(w)
	if w.Type == snapshot.VCSJJ {
		fetched := fetchJJ(ctx, w)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return errors.Join(rebaseJJ(ctx, w, base), fetched)
	}
	fetched := fetchGit(ctx, w)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errors.Join(rebaseGit(ctx, w, base), fetched)
}

// unattended returns a copy of w in whose environment git, jj, ssh and editors do not prompt. Each request for a
// password fails, and each editor keeps the text as it is.
func unattended(w *jjbridge.Workspace) *jjbridge.Workspace {
	return w.WithEnv(
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=force", "GCM_INTERACTIVE=never",
		"GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "JJ_EDITOR=:",
	)
}

// fetchGit fetches the branches of origin, if origin has a URL. The refspec is fixed, because a user's mirror
// refspec would overwrite branches and the history of runs. The error is a *FetchError.
func fetchGit(ctx context.Context, w *jjbridge.Workspace) error {
	if _, ok := w.Repo.Config.Get("remote.origin.url"); !ok {
		return nil
	}
	_, err := w.RunGit(ctx, "fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules",
		"--refmap=", "origin", "+refs/heads/*:refs/remotes/origin/*")
	if err != nil {
		return &FetchError{Err: err}
	}
	return nil
}

// rebaseGit rebases the worktree's commits on base. If there is no base, or the commits are based on it already, it
// does nothing. The commits are rebased in a separate worktree, so conflicts never touch the user's files. Then git
// checkout switches the user's files, and keeps uncommitted changes or refuses the switch because of them. If the
// rebase is not possible, the error is an *Error.
func rebaseGit(ctx context.Context, w *jjbridge.Workspace, base string) (err error) {
	unlock, err := lockWorktrees(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if doing := unfinished(w); doing != "" {
		return &Error{Path: w.Root, Reason: doing + " is in progress"}
	}
	head, branch, err := w.Head(ctx)
	if err != nil {
		return err
	}
	if head == "" {
		return &Error{Path: w.Root, Reason: "the repository has no commit yet to rebase"}
	}
	onto, err := currentBase(ctx, w, base)
	if err != nil || onto == "" {
		return err
	}
	if done, err := isAncestor(ctx, w, onto, head); err != nil || done {
		return err
	}
	next := onto // the new head if the base already has all commits of the worktree
	if behind, err := isAncestor(ctx, w, head, onto); err != nil {
		return err
	} else if !behind {
		if next, err = rebaseAside(ctx, w, head, onto); err != nil {
			return err
		}
	}
	return switchTo(ctx, w, branch, next)
}

// switchTo changes the files to those of the given commit and moves the branch to the commit. If branch is "", it moves
// the detached HEAD instead. If the switch would overwrite uncommitted work, switchTo changes nothing and returns an
// *Error.
func switchTo(ctx context.Context, w *jjbridge.Workspace, branch, commit string) error {
	// A user cannot restore an ignored file from a commit, so git must not overwrite ignored files.
	args := []string{"checkout", "--quiet", "--no-overwrite-ignore", "--detach", commit, "--"}
	if branch != "" {
		args = []string{"checkout", "--quiet", "--no-overwrite-ignore", "-B", branch, commit, "--"}
	}
	if _, err := w.RunGit(ctx, args...); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return &Error{Path: w.Root, Reason: "not rebased, because git would overwrite uncommitted work", Err: err}
	}
	return nil
}

// currentBase returns the present commit of the branch base. It uses the local branch or, if the local branch is
// missing or behind, origin's branch. If both branches are missing, currentBase looks for main in the same way. If main
// is missing, too, the result is "".
func currentBase(ctx context.Context, w *jjbridge.Workspace, base string) (string, error) {
	for _, name := range bases(base) {
		here, err := w.CommitOf(ctx, name)
		if err != nil {
			return "", err
		}
		there, err := w.CommitOf(ctx, "origin/"+name)
		if err != nil {
			return "", err
		}
		switch {
		case here == "" && there == "":
			continue
		case here == "" || there == "":
			return cmp.Or(here, there), nil
		}
		ahead, err := isAncestor(ctx, w, here, there)
		if ahead {
			here = there
		}
		return here, err
	}
	return "", nil
}

// isAncestor reports whether descendant is equal to commit or descends from commit. Both are commit ids.
func isAncestor(ctx context.Context, w *jjbridge.Workspace, commit, descendant string) (bool, error) {
	_, err := w.RunGit(ctx, "merge-base", "--is-ancestor", commit, descendant)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status == 1 {
		return false, nil
	}
	return err == nil, err
}

// rebaseFolder is the folder, below the common directory, in which commits are rebased. It exists only during a rebase,
// or if a process died during a rebase.
const rebaseFolder = "smithers/rebase"

// rebaseAside rebases the commits of head on the commit baseID, and returns the new head. It works in a separate
// worktree, moves no ref, and then removes the worktree. The caller holds the lock of lockWorktrees.
func rebaseAside(ctx context.Context, w *jjbridge.Workspace, head, baseID string) (string, error) {
	dir := filepath.Join(w.Repo.CommonDir, filepath.FromSlash(rebaseFolder))
	commit, err := rebaseIn(ctx, w, dir, head, baseID)
	return commit, errors.Join(err, clearRebase(context.WithoutCancel(ctx), w, dir))
}

// rebaseIn rebases the commits of head on the commit baseID in a new worktree at dir, and returns the new head.
// The worktree stays. If git cannot rebase the commits, the error is an *Error.
func rebaseIn(ctx context.Context, w *jjbridge.Workspace, dir, head, baseID string) (string, error) {
	if err := clearRebase(ctx, w, dir); err != nil {
		return "", err
	}
	if _, err := w.RunGit(ctx, "worktree", "add", "--quiet", "--detach", "--", dir, head); err != nil {
		return "", err
	}
	aside, err := jjbridge.Locate(ctx, dir, gitexec.PlumbingEnv(w.Environ()))
	if err != nil {
		return "", err
	}
	// The settings keep git from moving branches at the rebased commits, because such branches belong to other work.
	_, err = aside.RunGit(ctx, "-c", "rebase.updateRefs=false", "-c", "rebase.autoSquash=false", "rebase", baseID)
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return "", whyNotRebased(ctx, aside, w.Root, err)
	}
	commit, _, err := aside.Head(ctx)
	return commit, err
}

// whyNotRebased returns an *Error that lists the files in conflict in w, the worktree of the rebase. If there is no
// conflict, the error wraps cause. root is the path of the user's working copy, for the error.
func whyNotRebased(ctx context.Context, w *jjbridge.Workspace, root string, cause error) error {
	out, err := w.RunGit(ctx, "diff", "--name-only", "--diff-filter=U", "-z")
	if paths := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err == nil && paths[0] != "" {
		return &Error{Path: root, Reason: "not rebased, because of conflicts in " + strings.Join(paths, ", ")}
	}
	return &Error{Path: root, Reason: "not rebased", Err: cause}
}

// clearRebase removes the worktree at dir and git's record of the worktree. If both are missing, it returns
// nil.
func clearRebase(ctx context.Context, w *jjbridge.Workspace, dir string) error {
	err := removeAll(dir)
	if err != nil {
		return err
	}
	names, err := worktreeNames(w.Repo.CommonDir)
	if err != nil || names[dir] == "" {
		return err
	}
	if _, err = w.RunGit(ctx, "worktree", "remove", "--force", "--force", "--", dir); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
