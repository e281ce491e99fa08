package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// grant is a file or folder that a command gets beside its own.
type grant struct{ named, path, real string } // as the Spec names it, the absolute path, and the path without links

// within reports whether path is folder or lies in it.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// namesInternals reports whether a path of Write is the repository itself: then the command may write all of it.
func (at *Place) namesInternals(path string) bool {
	return filepath.Clean(path) == InternalsName || slices.Contains(at.Internals, filepath.Clean(path))
}

// writable returns what the command may write beside its folder, and readable what it may read beside this and the system. A path must not lead
// out of where it is named, and must have nothing in common with the repository's own files.
func (s *Spec) writable(at Place) ([]grant, error) { return at.grants(s.Write, true) }

func (s *Spec) readable(at Place) ([]grant, error) { return at.grants(s.Read, false) }

// grants returns what paths of Write are, without the repository itself, or those of Read.
func (at *Place) grants(names []string, write bool) ([]grant, error) {
	var all []grant
	for _, named := range names {
		if write && at.namesInternals(named) {
			continue
		}
		g, err := at.grant(named)
		if err == nil && at.leadsOut(g) {
			err = cannot("%s leads out to %s: name that path instead", named, g.real)
		}
		if err == nil && (write || g.real != g.path) { // what hides the private folder does not lie over another path
			err = at.apart(g)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// leadsOut reports whether a link in a path leads out of the command's folder, or elsewhere out of the folder where the link is: what a command in
// a sandbox may write, it may have made a link.
func (at *Place) leadsOut(g grant) bool {
	if within(at.Dir, g.path) {
		return !within(at.Dir, g.real)
	}
	path := g.path
	for range maxLinks {
		link, target := firstLink(path)
		if link == "" {
			return filepath.Clean(path) != g.real
		}
		if !within(filepath.Dir(link), target) {
			return true
		}
		path = target
	}
	return true
}

// apart returns an error if a grant contains a file or folder of the repository's own, or lies in one.
func (at *Place) apart(g grant) error {
	for _, own := range slices.Concat(at.Internals, at.Hidden) {
		if resolved, err := filepath.EvalSymlinks(own); err == nil {
			own = resolved
		}
		if within(g.real, own) || within(own, g.real) {
			return cannot("%s is %s, which has or lies in the repository's own files: only `.git` by its name opens them", g.named, g.real)
		}
	}
	return nil
}

// grant returns what a path of a Spec is. A path that begins with ~/ is in the home folder, a relative one in the command's folder. What does
// not exist cannot be given.
func (at *Place) grant(named string) (grant, error) {
	path := named
	switch rest, home := strings.CutPrefix(named, "~/"); {
	case named == "~" && at.Home != "":
		path = at.Home
	case home && at.Home == "":
		return grant{}, cannot("%s: there is no home folder", named)
	case home:
		path = filepath.Join(at.Home, rest)
	case !filepath.IsAbs(named):
		path = filepath.Join(at.Dir, named)
	}
	path = filepath.Clean(path)
	_, err := os.Lstat(path)
	var resolved string
	if err == nil {
		resolved, err = filepath.EvalSymlinks(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return grant{}, cannot("%s does not exist", named)
	case err != nil:
		return grant{}, cannot("%s cannot be read", named)
	}
	return grant{named, path, resolved}, nil
}

// mounts returns the arguments of bubblewrap for grants. A link leads to what it leads to outside.
func mounts(option string, grants []grant, at Place) []string {
	var args []string
	for _, g := range grants {
		args = append(args, option, g.real, g.real)
		seen := slices.ContainsFunc(systemFolders, func(folder string) bool { return within(folder, g.path) })
		if g.real != g.path && !seen && !within(at.Dir, g.path) {
			args = append(args, "--symlink", g.real, g.path)
		}
	}
	return args
}
