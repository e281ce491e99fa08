package code

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// maxLinks is the largest number of symbolic links that Trail follows. Operating systems have similar limits.
const maxLinks = 255

// Trail returns the absolute paths of the symbolic links that lead to a file, and the path of the file itself,
// which may be missing. Trail resolves folders, so no folder of a returned path is a symbolic link. After
// maxLinks links, Trail returns the links alone. It returns nil for "".
func Trail(path string) []string {
	if path == "" {
		return nil
	}
	const separator = string(filepath.Separator)
	top := filepath.VolumeName(path) + separator
	var out []string
	at, rest := top, strings.Split(strings.TrimPrefix(path, top), separator)
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, name) // at has no links, so ".." is its parent
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if out = append(out, next); len(out) == maxLinks {
			return out
		}
		if filepath.IsAbs(target) {
			at = top
		}
		rest = append(strings.Split(strings.TrimPrefix(filepath.ToSlash(target), "/"), "/"), rest...)
	}
	return append(out, at)
}

// leaveStaying changes r.Want so that the restore leaves the paths of r.Stays as they are: at these paths, Want
// gets the files of the working copy. leaveStaying sets r.paths, and sets r.Out.Stayed to the paths whose files
// differ in Want. It ignores paths outside of the working copy.
func (r *RestoreJob) leaveStaying() error {
	if len(r.Stays) == 0 {
		return nil
	}
	root, err := filepath.EvalSymlinks(r.Copy.Root())
	if err != nil {
		return err
	}
	s := &staying{objects: r.Store.Objects().Begin(), add: r.have.AddTree} // the batch is never committed
	if err := r.have.Objects(s.objects); err != nil {
		return err
	}
	tree := r.Want.Tree
	for _, path := range r.Stays {
		rel, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(rel) || rel == "." {
			continue
		}
		next, err := s.tree(tree, r.have.VCS.Tree, root, strings.Split(filepath.ToSlash(rel), "/"))
		if err != nil {
			return err
		}
		r.paths = append(r.paths, filepath.ToSlash(rel))
		if next != tree {
			r.Out.Stayed = append(r.Out.Stayed, filepath.ToSlash(rel))
		}
		tree = next
	}
	want := *r.Want
	want.Tree = tree
	r.Want = &want
	return nil
}

// staying makes trees that take the entries of some paths from other trees.
type staying struct {
	objects *objstore.Batch
	add     func(tree []byte) // called with the content of each new tree
}

// tree returns the id of a tree like want, except that path has the entry of have: if have has no entry at
// path, the result has none, either. want and have are trees of the folder dir on disk, and a zero id means
// that the folder is missing. path has the names of the path, relative to dir.
func (s *staying) tree(want, have objstore.ID, dir string, path []string) (objstore.ID, error) {
	wanted, err := s.entries(want)
	if err != nil {
		return want, err
	}
	there, err := s.entries(have)
	if err != nil {
		return want, err
	}
	name := spelled(dir, path[0], wanted, there)
	next, has := there[name]
	if len(path) > 1 && (!has || next.Mode == objstore.ModeTree) {
		if next, has, err = s.folder(wanted[name], next, filepath.Join(dir, name), path[1:]); err != nil {
			return want, err
		}
	}
	switch before, had := wanted[name]; {
	case had == has && before == next:
		return want, nil
	case has:
		wanted[name] = next
	default:
		delete(wanted, name)
	}
	data := objstore.EncodeTree(slices.Collect(maps.Values(wanted)))
	s.add(data)
	return s.objects.Add(objstore.Tree, data), nil
}

// folder returns the tree entry of the folder dir: want, except that path, relative to dir, has the entry of
// have. want and have are the folder's entries in the two trees. The bool reports whether the returned entry
// exists: a folder without files does not exist. If have has no entry at path and want is not a folder, folder
// returns want.
func (s *staying) folder(want, have objstore.TreeEntry, dir string, path []string) (objstore.TreeEntry, bool, error) {
	var from objstore.ID
	if want.Mode == objstore.ModeTree {
		from = want.ID
	}
	tree, err := s.tree(from, have.ID, dir, path)
	switch {
	case err != nil || tree == from:
		return want, want.Mode != 0, err
	case tree == objstore.EmptyTree:
		return objstore.TreeEntry{}, false, nil
	}
	return objstore.TreeEntry{Name: filepath.Base(dir), Mode: objstore.ModeTree, ID: tree}, true, nil
}

// entries returns the entries of a tree by name. git may have written the tree. The zero id has no entries.
func (s *staying) entries(tree objstore.ID) (map[string]objstore.TreeEntry, error) {
	out := make(map[string]objstore.TreeEntry)
	if tree.IsZero() {
		return out, nil
	}
	list, err := objstore.ReadForeignTree(s.objects, tree)
	for _, e := range list {
		out[e.Name] = e
	}
	return out, err
}

// spelled returns the name of a file as the trees spell the name, since a file system may fold case. dir is the
// file's folder on disk. If no tree has the file, spelled returns name.
func spelled(dir, name string, trees ...map[string]objstore.TreeEntry) string {
	for _, tree := range trees {
		if _, ok := tree[name]; ok {
			return name
		}
	}
	named, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return name
	}
	for _, tree := range trees {
		for other := range tree {
			if info, err := os.Lstat(filepath.Join(dir, other)); err == nil && os.SameFile(named, info) {
				return other
			}
		}
	}
	return name
}
