package worktrees

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// AsGit returns w as git sees it. In a jj repository, a worktree that [Add] makes for it is git's alone: jj is not told of it, so no operation and no
// change of jj comes from it.
func AsGit(w *jjbridge.Workspace) *jjbridge.Workspace {
	git := *w
	git.Type = snapshot.VCSGit
	return &git
}

// Discard removes git's linked worktree at path with all its files, whatever they are, and git's record of it. Whoever calls Discard has made the
// worktree for himself. If something else has taken its place, and if git knows no worktree there, what is there stays.
func Discard(ctx context.Context, w *jjbridge.Workspace, path string) (err error) {
	unlock, err := lockWorktrees(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	list, err := gitWorktrees(ctx, w)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(i Info) bool { return i.Path == path && i.Name != "" })
	if at < 0 {
		return nil
	}
	info := list[at]
	if !info.Missing {
		data, err := os.ReadFile(filepath.Join(path, ".git"))
		if err != nil || filepath.Clean(gitFile(path, string(data))) != adminDir(w, info) {
			return &Error{Path: path, Reason: "another folder has replaced the worktree", Err: err}
		}
		if err := errors.Join(removeContent(path), os.Remove(path)); err != nil {
			return err
		}
	}
	_, err = w.RunGit(ctx, "worktree", "remove", "--force", "--force", "--", path)
	return err
}
