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

// checkPath checks that a working copy can be made at path, and returns the path without symbolic
// links.
//
// Inside another working copy the new one would be among the untracked files, and a git add there
// would take it for an embedded repository. So the path must be ignored there.
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
		return "", &Error{Path: path, Reason: "is there already, and is not an empty folder"}
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
		err = &Error{Path: path, Reason: "is inside the working copy " + around + " and not ignored there: add it to .gitignore, or put it elsewhere"}
	}
	return path, err
}

// around returns the innermost known working copy that path is in, or "".
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

// ignores reports whether the folder path, which may be missing, is ignored in the working copy at
// top.
func ignores(ctx context.Context, w *jjbridge.Workspace, top, path string) (bool, error) {
	rel, err := filepath.Rel(top, path)
	if err != nil {
		return false, err
	}
	at, err := jjbridge.Locate(ctx, top, gitexec.PlumbingEnv(w.Environ()))
	if err != nil {
		return false, err
	}
	// A pattern for folders alone matches what is below the folder.
	_, err = at.RunGit(ctx, "check-ignore", "--quiet", "--no-index", "--", filepath.ToSlash(rel)+"/x")
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status == 1 {
		return false, nil
	}
	return err == nil, err
}

// resolveNew resolves the symbolic links above path, which may be missing. It does not resolve path
// itself.
func resolveNew(path string) (string, error) {
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		parent, err = resolveNew(filepath.Dir(path))
	}
	return filepath.Join(parent, filepath.Base(path)), err
}

func isEmptyFolder(path string) bool {
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 0
}

// newFolder is the folder of a working copy that is being made.
type newFolder struct {
	path string
	made []string // the folders that were made, innermost first; none if path was an empty folder
}

// makeFolder makes the folder path, which may exist, and the folders above it.
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

// putBack removes the folders again that are empty.
func (p newFolder) putBack() {
	if len(p.made) == 0 {
		_ = os.Mkdir(p.path, 0o777) // git may have removed it; otherwise it exists
	}
	for _, dir := range p.made {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}
