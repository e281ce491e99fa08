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

// discardMark is a file in git's administrative folder of a worktree that [Discard] may remove. It has the text given to [MarkDiscardable].
const discardMark = "smithers-scratch"

// ErrReplaced means that something else has taken the place of a worktree.
var ErrReplaced = errors.New("something else has taken the place of the worktree")

// MarkDiscardable lets [Discard] remove the linked worktree w, which [Add] has made, for whoever knows text. text must be unique.
func MarkDiscardable(w *jjbridge.Workspace, text string) error {
	return os.WriteFile(filepath.Join(w.Repo.GitDir, discardMark), []byte(text), 0o666) //nolint:gosec // the umask decides who may read the repository
}

// Discard removes git's linked worktree at path with all its files, whatever they are, and git's record of it. text is that of MarkDiscardable: without it, and
// if another folder or a symbolic link has taken the place of the worktree, Discard removes nothing, and the error wraps ErrReplaced. If git knows no worktree
// there, what is there stays.
func Discard(ctx context.Context, w *jjbridge.Workspace, path, text string) (err error) {
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
	replaced := &Error{Path: path, Reason: "was left as it is", Err: ErrReplaced}
	if mark, err := os.ReadFile(filepath.Join(adminDir(w, info), discardMark)); err != nil || string(mark) != text {
		return replaced
	}
	if !info.Missing {
		folder, err := os.Lstat(path)
		if err != nil || !folder.IsDir() {
			return replaced
		}
		data, err := os.ReadFile(filepath.Join(path, ".git"))
		if err != nil || filepath.Clean(gitFile(path, string(data))) != adminDir(w, info) {
			return replaced
		}
		if err := errors.Join(removeContent(path), os.Remove(path)); err != nil {
			return err
		}
	}
	_, err = w.RunGit(ctx, "worktree", "remove", "--force", "--force", "--", path)
	return err
}
