package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// asideFolder is the folder in the private folder to which repositories are moved that commands have made.
const asideFolder = "aside"

// absent returns the paths that would make a folder a repository for git or jj, and at which there is nothing: those of the command's folder and
// of the folders above that are in roots, where both look from the command's folder. A bare repository counts by its HEAD.
func (at *Place) absent(roots []string) []string {
	var paths []string
	for dir := at.Dir; slices.ContainsFunc(roots, func(root string) bool { return within(root, dir) }); dir = filepath.Dir(dir) {
		for _, name := range []string{".git", ".jj"} {
			if path := filepath.Join(dir, name); !exists(path) {
				paths = append(paths, path)
			}
		}
		if !isBare(dir) && slices.Contains(paths, filepath.Join(dir, ".git")) {
			paths = append(paths, filepath.Join(dir, "HEAD"))
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return paths
}

// isBare reports whether git takes dir for a bare repository.
func isBare(dir string) bool {
	has := func(name string) string { return filepath.Join(dir, name) }
	return exists(has("HEAD")) && (exists(has("commondir")) || isFolder(has("objects")) && isFolder(has("refs")))
}

// SetAside moves away what has appeared since New where git or jj would obey it: a repository in the command's folder or above. It returns an *Error that names
// what it moved, or nil. The caller calls it when no process of the command is left. A Spec that writes the repository may make another one.
func (c *Command) SetAside() error {
	var moved []string
	for _, path := range c.absent {
		name := filepath.Base(path)
		if !exists(path) || name == "HEAD" && !isBare(filepath.Dir(path)) {
			continue
		}
		switch to, err := c.moveAside(path); {
		case err == nil:
			moved = append(moved, name+", which is now "+to)
		case !exists(path): // another command that ended has moved it
			moved = append(moved, name)
		default:
			moved = append(moved, name+", which could not be moved away: remove it")
		}
	}
	if len(moved) == 0 {
		return nil
	}
	return cannot("the command made a repository in its folder, which programs outside of the sandbox would obey: %s", strings.Join(moved, "; "))
}

// moveAside moves a path into the private folder, or to another name if that is on another file system. It returns the new place for people.
func (c *Command) moveAside(path string) (string, error) {
	name := strings.TrimPrefix(filepath.Base(path), ".")
	if c.private != "" {
		folder := filepath.Join(c.private, asideFolder)
		if err := os.MkdirAll(folder, 0o777); err == nil { //nolint:gosec // the umask decides
			if to, err := rename(path, filepath.Join(folder, name)); err == nil {
				return filepath.Join(filepath.Base(c.private), asideFolder, filepath.Base(to)) + " in the git directory", nil
			}
		}
	}
	to, err := rename(path, filepath.Join(filepath.Dir(path), "made-in-a-sandbox."+name))
	return filepath.Base(to), err
}

// rename moves a path to another one, with a number if something is there.
func rename(path, to string) (string, error) {
	for n := 1; ; n++ {
		free := fmt.Sprintf("%s-%d", to, n)
		if _, err := os.Lstat(free); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return "", err
			}
			continue
		}
		return free, os.Rename(path, free)
	}
}
