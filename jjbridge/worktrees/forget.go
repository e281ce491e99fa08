package worktrees

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Forget removes the folder of an added working copy, its ignored files and the repository's record of it. If the
// folder is missing, Forget removes the record. The branch stays. saved is zero, or the id of a tree whose files a
// frame has. With jj, Forget also abandons the workspace's change if the change's files are exactly those of this tree,
// and the change has no description, name or child; `jj op revert` undoes this.
//
// If work would be lost, Forget keeps the folder and the record and returns an *UnsavedError. Such work is a commit
// that no branch, bookmark, tag or remote has, an unfinished operation of git, a checked-out submodule, another working
// copy inside the folder, or uncommitted files other than those of the tree. A lock of git on the worktree also
// prevents the removal. If the working copy is the main working copy, is w, or is unknown, the error is an *Error.
func Forget(ctx context.Context, w *jjbridge.Workspace, info Info, saved objstore.ID) (err error) {
	unlock, err := lockWorktrees(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if info, err = checkRemoval(ctx, w, info, saved); err != nil {
		return err
	}
	if w.Type == snapshot.VCSJJ {
		// jj finds the change by the workspace's name, so the change is abandoned before the workspace is removed.
		if err := abandonSaved(ctx, w, info, saved); err != nil {
			return err
		}
	}
	if info.Missing || info.Path == "" {
		return forgetRecord(ctx, w, info)
	}
	if err := os.Rename(info.Path, removedPath(info.Path)); err != nil {
		return err
	}
	// The folder has another name now. If this process dies, the next Forget continues with forgetRecord.
	return forgetRecord(ctx, w, info)
}

// CheckRemoval returns the error with which Forget would refuse to remove the working copy, or nil if Forget would
// remove it. CheckRemoval removes nothing. The parameters are those of Forget.
func CheckRemoval(ctx context.Context, w *jjbridge.Workspace, info Info, saved objstore.ID) error {
	// If ctx has ended, CheckRemoval continues without the lock, and the commands below return the error.
	defer shareWorktrees(ctx, w)()
	info, err := checkRemoval(ctx, w, info, saved)
	if err == nil && info.Missing && w.Type != snapshot.VCSJJ {
		err = checkMissing(ctx, w, info)
	}
	return err
}

// checkRemoval returns the current Info of the working copy that info describes, if Forget may remove the working copy.
// Otherwise the error is Forget's refusal. saved is as for Forget.
func checkRemoval(ctx context.Context, w *jjbridge.Workspace, info Info, saved objstore.ID) (Info, error) {
	list, err := list(ctx, w)
	if err != nil {
		return info, err
	}
	info, err = removable(w, info, list)
	if err != nil || info.Missing || info.Path == "" {
		return info, err
	}
	opened, err := open(ctx, w, info)
	if err != nil {
		return info, err
	}
	reason, err := unsaved(ctx, opened, saved)
	if err == nil && reason != "" {
		err = &UnsavedError{Path: info.Path, Reason: reason}
	}
	return info, err
}

// removable finds the working copy target in list, and returns its current Info. The names must be equal and, if both
// paths are known, the paths, too. The error is an *Error if list does not have target, if target is the main working
// copy, or if target contains the folder of w. The error is an *UnsavedError if another working copy is inside the
// folder of target.
func removable(w *jjbridge.Workspace, target Info, list []Info) (Info, error) {
	found := false
	var info Info
	for _, known := range list {
		if known.Name == target.Name && (known.Path == target.Path || known.Path == "" || target.Path == "") {
			info, found = known, true
		}
	}
	refuse := func(reason string) (Info, error) {
		return Info{}, &Error{Path: target.Path, Reason: reason}
	}
	switch {
	case !found:
		return refuse("is not a working copy of this repository")
	case info.Path == w.Main() || info.Name == "" || (w.JJRepo() != "" && info.Path != "" && isWithin(w.JJRepo(), info.Path)):
		return refuse("is the main working copy")
	case info.Name == w.Name || (info.Path != "" && isWithin(w.Root, info.Path)):
		return refuse("is the working copy in which this command runs")
	}
	for _, other := range list {
		if info.Path != "" && !other.Missing && other.Path != info.Path && other.Path != "" && isWithin(other.Path, info.Path) {
			return Info{}, &UnsavedError{Path: info.Path, Reason: "contains another working copy: " + other.Path}
		}
	}
	return info, nil
}

// open returns the working copy that info describes. If info.Path has another folder or a link, the error is an *Error.
func open(ctx context.Context, w *jjbridge.Workspace, info Info) (*jjbridge.Workspace, error) {
	opened, err := jjbridge.Locate(ctx, info.Path, gitexec.PlumbingEnv(w.Environ()))
	if err != nil {
		return nil, err
	}
	if opened.Root != info.Path || opened.Name != info.Name || opened.Type != w.Type || opened.Repo.CommonDir != w.Repo.CommonDir {
		return nil, &Error{Path: info.Path, Reason: "another folder has replaced the working copy"}
	}
	return opened, nil
}

// forgetRecord removes the rest of a working copy: the renamed folder, if it exists, the private index, and then the
// repository's record. It removes the record last, so that an interrupted removal can be repeated. If git's record must
// stay, the error is that of checkMissing.
func forgetRecord(ctx context.Context, w *jjbridge.Workspace, info Info) error {
	if info.Path != "" && isRemoved(w, info) {
		if err := removeContent(removedPath(info.Path)); err != nil {
			return err
		}
		if err := os.Remove(removedPath(info.Path)); err != nil {
			return err
		}
	}
	if err := w.RemoveIndexOf(info.Name); err != nil {
		return err
	}
	if w.Type != snapshot.VCSJJ {
		return forgetMissing(ctx, w, info)
	}
	return forgetJJ(ctx, w, info)
}

// forgetJJ removes jj's record of a workspace, and git's record if the folder is missing: jj 0.46 makes each workspace a worktree of git, too,
// and forgets git's record only of a folder that is there.
func forgetJJ(ctx context.Context, w *jjbridge.Workspace, info Info) error {
	if _, _, err := w.RunJJ(ctx, "workspace", "forget", "--", info.Name); err != nil || info.Path == "" {
		return err
	}
	list, err := gitWorktrees(ctx, w)
	if err == nil && slices.ContainsFunc(list, func(i Info) bool { return i.Path == info.Path && i.Missing }) {
		_, err = w.RunGit(ctx, "worktree", "remove", "--force", "--", info.Path)
	}
	return err
}

// removedPath returns the path to which Forget renames the folder at path before it removes the folder.
func removedPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".removed")
}

// isRemoved reports whether the folder at removedPath is the folder of the working copy that info describes.
func isRemoved(w *jjbridge.Workspace, info Info) bool {
	dir := removedPath(info.Path)
	if stat, err := os.Lstat(dir); err != nil || !stat.IsDir() {
		return false
	}
	if w.Type == snapshot.VCSJJ {
		return w.HasWorkspaceAt(dir, info.Name)
	}
	data, err := os.ReadFile(filepath.Join(dir, ".git"))
	return err == nil && filepath.Clean(gitFile(dir, string(data))) == adminDir(w, info)
}

// gitFile returns the absolute path in content, the content of the .git file of a worktree at dir.
func gitFile(dir, content string) string {
	path := filepath.FromSlash(strings.TrimRight(strings.TrimPrefix(content, "gitdir: "), "\r\n"))
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}

// removeContent removes everything in the folder dir. It removes .git and .jj, which mark a working copy, last. It
// follows no symbolic link. If dir is missing, removeContent returns nil.
func removeContent(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var marks []string
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if entry.Name() == ".git" || entry.Name() == ".jj" {
			marks = append(marks, path)
			continue
		}
		if err := removeAll(path); err != nil {
			return err
		}
	}
	for _, path := range marks {
		if err := removeAll(path); err != nil {
			return err
		}
	}
	return nil
}

// removeAll removes path as os.RemoveAll does. If a permission is missing, removeAll makes the folders at and
// below path writable and tries again. Go's module cache, for example, has read-only folders.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && err == nil {
			_ = os.Chmod(path, 0o700) // the second RemoveAll returns an error if this fails
		}
		return nil
	})
	return os.RemoveAll(path)
}
