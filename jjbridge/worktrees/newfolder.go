package worktrees

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// checkPath checks whether a working copy can be created at path, and returns path without symbolic links in the
// folders above it. list has the present working copies. The error is an *Error if path is not absolute, is a file or a
// folder with files, or is inside the repository's own folder. It is also an *Error if path is inside another working
// copy that does not ignore path.
//
// Inside another working copy, the new files would be untracked files, and a git add would add the new working
// copy as an embedded repository.
func checkPath(ctx context.Context, w *jjbridge.Workspace, path string, list []Info) (string, error) {
	if !filepath.IsAbs(path) {
		return "", &Error{Path: path, Reason: "not an absolute path"}
	}
	path, err := resolveNew(filepath.Clean(path))
	if err != nil {
		return "", err
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	case !info.IsDir() || !isEmptyFolder(path):
		return "", &Error{Path: path, Reason: "already exists, and is not an empty folder"}
	}
	if isWithin(path, w.Repo.CommonDir) || (w.JJRepo() != "" && isWithin(path, filepath.Dir(w.JJRepo()))) {
		return "", &Error{Path: path, Reason: "is inside the repository's own folder"}
	}
	around := around(w, path, list)
	if around == "" {
		return path, nil
	}
	ignored, err := ignores(ctx, w, around, path)
	if err == nil && !ignored {
		err = &Error{Path: path, Reason: "is inside the working copy " + around + ", which does not ignore this path: add the path to .gitignore, or choose another path"}
	}
	return path, err
}

// around returns the top of the innermost known working copy that contains path, or "" if no known working copy
// contains path. list has the known working copies besides w and the main working copy.
func around(w *jjbridge.Workspace, path string, list []Info) string {
	tops := []string{w.Root, w.Main()}
	for _, info := range list {
		tops = append(tops, info.Path)
	}
	found := ""
	for _, top := range tops {
		if top != "" && top != path && isWithin(path, top) && len(top) > len(found) {
			found = top
		}
	}
	return found
}

// ignores reports whether the working copy at top ignores a folder. path is the path of the folder, which may
// be missing.
func ignores(ctx context.Context, w *jjbridge.Workspace, top, path string) (bool, error) {
	rel, err := filepath.Rel(top, path)
	if err != nil {
		return false, err
	}
	at, err := jjbridge.Locate(ctx, top, gitexec.PlumbingEnv(w.Environ()))
	if err != nil {
		return false, err
	}
	// A pattern with a final slash does not match a missing folder, but it matches paths below the folder.
	_, err = at.RunGit(ctx, "check-ignore", "--quiet", "--no-index", "--", filepath.ToSlash(rel)+"/x")
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status == 1 {
		return false, nil
	}
	return err == nil, err
}

// resolveNew returns path without symbolic links in the folders above path, which may be missing. It does not resolve
// the last part of path.
func resolveNew(path string) (string, error) {
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		parent, err = resolveNew(filepath.Dir(path))
	}
	return filepath.Join(parent, filepath.Base(path)), err
}

// isEmptyFolder reports whether path is a readable folder without entries.
func isEmptyFolder(path string) bool {
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 0
}

// newFolder is the folder of a working copy that is being added.
type newFolder struct {
	path string
	made []string // the folders that makeFolder created, innermost first; nil if path was an empty folder
}

// makeFolder creates the folder path and the missing folders above it. If makeFolder fails, it removes the new folders
// again. If path exists, makeFolder creates nothing.
func makeFolder(path string) (newFolder, error) {
	p := newFolder{path: path}
	for dir := path; isGone(dir) && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		p.made = append(p.made, dir)
	}
	for _, dir := range slices.Backward(p.made) {
		if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			p.putBack()
			return newFolder{}, err
		}
	}
	return p, nil
}

// putBack restores the folders as makeFolder found them. If makeFolder created no folder, putBack creates p.path again
// if p.path is missing. Otherwise putBack removes the created folders, the innermost first, and stops at a folder that
// is not empty. It ignores errors, because the caller already returns an error.
func (p newFolder) putBack() {
	if len(p.made) == 0 {
		_ = os.Mkdir(p.path, 0o777) // git may have removed the folder; otherwise Mkdir fails and changes nothing
	}
	for _, dir := range p.made {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}
