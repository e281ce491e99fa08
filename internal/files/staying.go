package files

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

// Trail returns the paths of the symbolic links that lead to the file at path, and then the path of the file
// itself, which may be missing. path is absolute, and so are the returned paths. No folder of a returned path is a
// symbolic link. If there are maxLinks links or more, Trail returns the first maxLinks links alone. It returns nil
// if path is "".
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
		// Continue with the link's target, and then with the rest of the path.
		rest = append(strings.Split(strings.TrimPrefix(filepath.ToSlash(target), "/"), "/"), rest...)
	}
	return append(out, at)
}

// leaveStaying changes r.Want so that the restore leaves the paths of r.stays as they are, and the untracked files with
// secrets, which are in no frame. It replaces the files of r.Want at these paths by the files of r.have, which lack the
// secrets. It sets r.paths to the paths of r.stays, relative to the top of the working copy. It adds the paths at which
// r.Want changed to r.Out.Stayed or to r.Out.Secrets. It ignores paths outside of the working copy.
func (r *RestoreJob) leaveStaying() error {
	secrets := leftSecrets(r.have.VCS.LeftOut)
	if len(r.stays)+len(secrets) == 0 {
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
	for _, path := range r.stays {
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
	for _, left := range secrets {
		next, err := s.tree(tree, r.have.VCS.Tree, root, strings.Split(left.Path, "/"))
		if err != nil {
			return err
		}
		if next != tree {
			r.Out.Secrets = append(r.Out.Secrets, left.Path)
		}
		tree = next
	}
	want := *r.Want
	want.Tree, want.LeftOut = tree, withSecrets(want.LeftOut, secrets)
	r.Want = &want
	return nil
}

// staying makes trees that take the entries of some paths from other trees.
type staying struct {
	objects *objstore.Batch
	add     func(tree []byte) // called with the content of each new tree
}

// tree copies one path from a tree into another tree. It returns the id of a copy of the tree wantID, in which the
// entry at path is the entry of the tree haveID. If the tree haveID has no entry at path, the copy has none. A zero id
// means that the folder is missing in the tree. dir is the folder on disk that both trees belong to, and path has the
// names of the path, relative to dir.
func (s *staying) tree(wantID, haveID objstore.ID, dir string, path []string) (objstore.ID, error) {
	wanted, err := s.entries(wantID)
	if err != nil {
		return wantID, err
	}
	there, err := s.entries(haveID)
	if err != nil {
		return wantID, err
	}
	name := spelled(dir, path[0], wanted, there)
	next, has := there[name]
	// If the tree haveID has a file at path[0], this file is the entry to take. Otherwise, continue in the folder.
	if len(path) > 1 && (!has || next.Mode == objstore.ModeTree) {
		if next, has, err = s.folder(wanted[name], next, filepath.Join(dir, name), path[1:]); err != nil {
			return wantID, err
		}
	}
	switch before, had := wanted[name]; {
	case had == has && before == next:
		return wantID, nil
	case has:
		wanted[name] = next
	default:
		delete(wanted, name)
	}
	data := objstore.EncodeTree(slices.Collect(maps.Values(wanted)))
	s.add(data)
	return s.objects.Add(objstore.Tree, data), nil
}

// folder copies one path from a folder in a tree to the same folder in another tree. It returns a copy of the entry
// wantEntry, in which the entry at path is the entry below haveEntry. Both entries belong to the folder dir, and path
// has the names of the path, relative to dir. If nothing changes, folder returns wantEntry unchanged, and false if
// wantEntry is zero. If the resulting folder has no files and so must have no entry, folder returns false.
func (s *staying) folder(wantEntry, haveEntry objstore.TreeEntry, dir string, path []string) (objstore.TreeEntry, bool, error) {
	var from objstore.ID
	if wantEntry.Mode == objstore.ModeTree {
		from = wantEntry.ID
	}
	tree, err := s.tree(from, haveEntry.ID, dir, path)
	switch {
	case err != nil || tree == from:
		return wantEntry, wantEntry.Mode != 0, err
	case tree.IsEmptyTree():
		return objstore.TreeEntry{}, false, nil
	}
	return objstore.TreeEntry{Name: filepath.Base(dir), Mode: objstore.ModeTree, ID: tree}, true, nil
}

// entries returns the entries of a tree by name. The tree may be one that git wrote. The zero id has no entries.
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

// spelled returns the name of a file as the trees spell it, since a file system may ignore the case of letters.
// dir is the file's folder on disk. If no tree has the file, spelled returns name unchanged.
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
