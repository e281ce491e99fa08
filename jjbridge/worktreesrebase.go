package jjbridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Rebase fetches, where there is a remote, and puts the working copy's commits on top of
// the base as it is now: AddRequest.Base, or what origin has of it where that is ahead.
// jj git fetch and jj rebase -d, or git fetch and git rebase. Uncommitted work is carried
// along. A rebase that fails is aborted, which leaves everything as it was, and is an
// error; so is one where uncommitted work is in the way, or that makes conflicts in jj. A
// fetch that fails is a *FetchError when the rebase is done. It asks nobody anything, and
// does not sign commits in git, which may ask for a passphrase.
func (w *Workspace) Rebase(ctx context.Context, base string) error {
	if w.Type == "" {
		return ErrNoWorkingCopy
	}
	w = w.unattended()
	if w.Type == snapshot.VCSJJ {
		fetched := w.fetchJJ(ctx)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return errors.Join(w.rebaseJJ(ctx, base), fetched)
	}
	fetched := w.fetchGit(ctx)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errors.Join(w.rebaseGit(ctx, base), fetched)
}

// unattended is the working copy in an environment where git, jj, ssh and editors ask
// nothing. A program that says no answers for the user.
func (w *Workspace) unattended() *Workspace {
	return w.withEnv(
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=force", "GCM_INTERACTIVE=never",
		"GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "JJ_EDITOR=:",
	)
}

// fetchGit fetches the branches of origin. The refspec is our own: the user's may be a
// mirror's, which overwrites branches and the history of runs.
func (w *Workspace) fetchGit(ctx context.Context) error {
	if _, ok := w.Repo.Config.Get("remote.origin.url"); !ok {
		return nil
	}
	_, err := w.git(ctx, "fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules",
		"--refmap=", "origin", "+refs/heads/*:refs/remotes/origin/*")
	if err != nil {
		return &FetchError{Err: err}
	}
	return nil
}

// rebaseGit rebases the worktree. The commits are rebased in a worktree of their own, so
// that conflicts never touch the files here. Then the files are switched, as git checkout
// switches them: what is changed and not committed stays, or stands in the way.
func (w *Workspace) rebaseGit(ctx context.Context, base string) (err error) {
	unlock, err := w.lockWorktrees(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if doing := w.unfinished(); doing != "" {
		return &WorktreeError{Path: w.Root, Reason: doing + " is in progress"}
	}
	head, branch, err := w.head(ctx)
	if err != nil {
		return err
	}
	if head == "" {
		return &WorktreeError{Path: w.Root, Reason: "there is no commit yet to rebase"}
	}
	onto, err := w.currentBase(ctx, base)
	if err != nil || onto == "" {
		return err
	}
	if done, err := w.isAncestor(ctx, onto, head); err != nil || done {
		return err
	}
	next := onto
	if behind, err := w.isAncestor(ctx, head, onto); err != nil {
		return err
	} else if !behind {
		if next, err = w.rebaseAside(ctx, head, onto); err != nil {
			return err
		}
	}
	return w.switchTo(ctx, branch, next)
}

// switchTo puts the branch, or a detached HEAD where that is "", and the files at a commit.
func (w *Workspace) switchTo(ctx context.Context, branch, next string) error {
	// An ignored file is not overwritten: no commit has it.
	args := []string{"checkout", "--quiet", "--no-overwrite-ignore", "--detach", next, "--"}
	if branch != "" {
		args = []string{"checkout", "--quiet", "--no-overwrite-ignore", "-B", branch, next, "--"}
	}
	if _, err := w.git(ctx, args...); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return &WorktreeError{Path: w.Root, Reason: "not rebased, uncommitted work is in the way", Err: err}
	}
	return nil
}

// currentBase is the commit of the base as it is now: that of its branch here or of
// origin's, whichever is ahead, and the one here where neither is. "" where there is none.
func (w *Workspace) currentBase(ctx context.Context, base string) (string, error) {
	for _, name := range bases(base) {
		here, err := w.commitOf(ctx, name)
		if err != nil {
			return "", err
		}
		there, err := w.commitOf(ctx, "origin/"+name)
		if err != nil {
			return "", err
		}
		switch {
		case here == "" && there == "":
			continue
		case here == "" || there == "":
			return cmp.Or(here, there), nil
		}
		ahead, err := w.isAncestor(ctx, here, there)
		if ahead {
			here = there
		}
		return here, err
	}
	return "", nil
}

// isAncestor tells whether a commit is another one or its ancestor.
func (w *Workspace) isAncestor(ctx context.Context, commit, of string) (bool, error) {
	_, err := w.git(ctx, "merge-base", "--is-ancestor", commit, of)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status == 1 {
		return false, nil
	}
	return err == nil, err
}

// rebaseFolder is where commits are rebased, under the common directory. It is there only
// while that goes on, or after a process died there.
const rebaseFolder = "smithers/rebase"

// rebaseAside rebases the commits of head and returns the new head. It moves no ref. The
// caller has the lock.
func (w *Workspace) rebaseAside(ctx context.Context, head, onto string) (string, error) {
	dir := filepath.Join(w.Repo.CommonDir, filepath.FromSlash(rebaseFolder))
	commit, err := w.rebaseIn(ctx, dir, head, onto)
	return commit, errors.Join(err, w.clearRebase(context.WithoutCancel(ctx), dir))
}

// rebaseIn rebases in a worktree at dir, which is its own.
func (w *Workspace) rebaseIn(ctx context.Context, dir, head, onto string) (string, error) {
	if err := w.clearRebase(ctx, dir); err != nil {
		return "", err
	}
	if _, err := w.git(ctx, "worktree", "add", "--quiet", "--detach", "--", dir, head); err != nil {
		return "", err
	}
	aside, err := Locate(ctx, dir, gitexec.PlumbingEnv(w.env))
	if err != nil {
		return "", err
	}
	// Branches that stand in between belong to other work.
	_, err = aside.git(ctx, "-c", "rebase.updateRefs=false", "-c", "rebase.autoSquash=false", "rebase", onto)
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return "", aside.whyNotRebased(ctx, w.Root, err)
	}
	commit, _, err := aside.head(ctx)
	return commit, err
}

// whyNotRebased names the files that are in conflict.
func (w *Workspace) whyNotRebased(ctx context.Context, root string, cause error) error {
	out, err := w.git(ctx, "diff", "--name-only", "--diff-filter=U", "-z")
	if paths := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err == nil && paths[0] != "" {
		return &WorktreeError{Path: root, Reason: "not rebased, conflicts in " + strings.Join(paths, ", ")}
	}
	return &WorktreeError{Path: root, Reason: "not rebased", Err: cause}
}

// clearRebase removes the worktree at dir and git's record of it, if they are there.
func (w *Workspace) clearRebase(ctx context.Context, dir string) error {
	err := removeAll(dir)
	if err != nil {
		return err
	}
	names, err := worktreeNames(w.Repo.CommonDir)
	if err != nil || names[dir] == "" {
		return err
	}
	if _, err = w.git(ctx, "worktree", "remove", "--force", "--force", "--", dir); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
