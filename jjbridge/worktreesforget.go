package jjbridge

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ForgetWorkspace removes a working copy that was added: its folder and the
// repository's record of it; a branch stays. With jj, the workspace's change is abandoned if it is exactly the tree saved
// and nobody has given it a description, a name or a child; `jj op revert` takes that back. Work in it that is neither committed nor
// exactly the tree saved (zero: none is) is an *UnsavedError, and so are commits that
// no branch, bookmark, tag or remote has, an operation that git is in the middle of, and
// git's lock; then nothing is touched. Ignored files are no work.
func (w *Workspace) ForgetWorkspace(ctx context.Context, info WorkspaceInfo, saved objstore.ID) (err error) {
	unlock, err := w.lockWorktrees(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if info, err = w.checkRemoval(ctx, info, saved); err != nil {
		return err
	}
	if w.Type == snapshot.VCSJJ {
		// While its name tells which change it is.
		if err := w.abandonSaved(ctx, info, saved); err != nil {
			return err
		}
	}
	if info.Missing || info.Path == "" {
		return w.forgetRecord(ctx, info)
	}
	if err := os.Rename(info.Path, removedPath(info.Path)); err != nil {
		return err
	}
	// From here on the folder is gone for everybody, and forgetRecord goes on where a
	// process that dies here stops.
	return w.forgetRecord(ctx, info)
}

// CheckRemoval is the error with which ForgetWorkspace would refuse; nil where it would
// remove the working copy. It changes nothing.
func (w *Workspace) CheckRemoval(ctx context.Context, info WorkspaceInfo, saved objstore.ID) error {
	defer w.shareWorktrees(ctx)()
	info, err := w.checkRemoval(ctx, info, saved)
	if err == nil && info.Missing && w.Type != snapshot.VCSJJ {
		err = w.checkMissing(ctx, info)
	}
	return err
}

// checkRemoval checks that a working copy may be removed, and returns what the list says
// of it now.
func (w *Workspace) checkRemoval(ctx context.Context, info WorkspaceInfo, saved objstore.ID) (WorkspaceInfo, error) {
	list, err := w.list(ctx)
	if err != nil {
		return info, err
	}
	info, err = w.removable(info, list)
	if err != nil || info.Missing || info.Path == "" {
		return info, err
	}
	opened, err := w.open(ctx, info)
	if err != nil {
		return info, err
	}
	reason, err := opened.unsaved(ctx, saved)
	if err == nil && reason != "" {
		err = &UnsavedError{Path: info.Path, Reason: reason}
	}
	return info, err
}

// removable finds the working copy in the list, as it is now. It is neither the main one
// nor the one in use, and no other is inside it.
func (w *Workspace) removable(want WorkspaceInfo, list []WorkspaceInfo) (WorkspaceInfo, error) {
	found := false
	var info WorkspaceInfo
	for _, known := range list {
		if known.Name == want.Name && (known.Path == want.Path || known.Path == "" || want.Path == "") {
			info, found = known, true
		}
	}
	refuse := func(reason string) (WorkspaceInfo, error) {
		return WorkspaceInfo{}, &WorktreeError{Path: want.Path, Reason: reason}
	}
	switch {
	case !found:
		return refuse("is no working copy of this repository")
	case info.Path == w.main || info.Name == "" || (w.jjRepo != "" && info.Path != "" && isWithin(w.jjRepo, info.Path)):
		return refuse("is the main working copy")
	case info.Name == w.Name || (info.Path != "" && isWithin(w.Root, info.Path)):
		return refuse("is the working copy in use")
	}
	for _, other := range list {
		if info.Path != "" && !other.Missing && other.Path != info.Path && other.Path != "" && isWithin(other.Path, info.Path) {
			return WorkspaceInfo{}, &UnsavedError{Path: info.Path, Reason: "another working copy is inside it: " + other.Path}
		}
	}
	return info, nil
}

// open is the working copy in its folder, if it is still that, and no link leads there.
func (w *Workspace) open(ctx context.Context, info WorkspaceInfo) (*Workspace, error) {
	opened, err := Locate(ctx, info.Path, gitexec.PlumbingEnv(w.env))
	if err != nil {
		return nil, err
	}
	if opened.Root != info.Path || opened.Name != info.Name || opened.Type != w.Type || opened.Repo.CommonDir != w.Repo.CommonDir {
		return nil, &WorktreeError{Path: info.Path, Reason: "something else is in its place now"}
	}
	return opened, nil
}

// forgetRecord removes the record of a working copy whose folder is gone, and what may
// be left of the folder. The record goes last, so that it can be done again.
func (w *Workspace) forgetRecord(ctx context.Context, info WorkspaceInfo) error {
	if info.Path != "" && w.isRemoved(info) {
		if err := removeContent(removedPath(info.Path)); err != nil {
			return err
		}
		if err := os.Remove(removedPath(info.Path)); err != nil {
			return err
		}
	}
	if err := w.removeIndexOf(info.Name); err != nil {
		return err
	}
	if w.Type != snapshot.VCSJJ {
		return w.forgetMissing(ctx, info)
	}
	_, _, err := w.jj(ctx, "workspace", "forget", "--", info.Name)
	return err
}

// removedPath is what the folder of a working copy is renamed to while it is removed.
func removedPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".removed")
}

// isRemoved tells whether what is at removedPath was that working copy.
func (w *Workspace) isRemoved(info WorkspaceInfo) bool {
	dir := removedPath(info.Path)
	if stat, err := os.Lstat(dir); err != nil || !stat.IsDir() {
		return false
	}
	if w.Type == snapshot.VCSJJ {
		return w.hasWorkspaceAt(dir, info.Name)
	}
	data, err := os.ReadFile(filepath.Join(dir, ".git"))
	return err == nil && filepath.Clean(gitFile(dir, string(data))) == w.adminDir(info)
}

// gitFile is where the .git file of a worktree at dir points.
func gitFile(dir, content string) string {
	path := filepath.FromSlash(strings.TrimRight(strings.TrimPrefix(content, "gitdir: "), "\r\n"))
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}

// removeContent removes what is in a folder, the marks of a working copy last. It
// follows no symbolic links.
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

// removeAll is os.RemoveAll, also of read-only folders, such as Go's module cache has.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && err == nil {
			_ = os.Chmod(path, 0o700) // RemoveAll tells what could not be removed
		}
		return nil
	})
	return os.RemoveAll(path)
}
